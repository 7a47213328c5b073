//! Prompts: texts that a model wants before others, such as `query: `.

use std::path::Path;

use nanoembed_core::model::ModelSource;
use nanoembed_core::owned::folder::{self, FolderModel, NoPrompt};
use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::error::{Error, Result};
use crate::open::folder::texts::FolderTexts;

pub use nanoembed_core::owned::folder::{Prefix, Similarity};

/// The prompts of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompts(folder::Prompts);

impl Prompts {
    /// Those of the folder of a model that continues texts.
    pub(crate) fn of_decoder(folder: &Path) -> Result<Self> {
        FolderTexts::of(folder).read(|texts| folder::Prompts::read(texts)).map(Self)
    }

    /// Those of the folder of the model of texts that `model` describes.
    pub(crate) fn of_folder(texts: &FolderTexts, model: &FolderModel) -> Result<Self> {
        texts.read(|texts| model.prompts(texts)).map(Self)
    }

    /// These.
    pub(crate) const fn of(prompts: folder::Prompts) -> Self {
        Self(prompts)
    }

    /// The same without words for what is missing.
    pub(crate) fn into_core(self) -> folder::Prompts {
        self.0
    }

    /// Whether a prompt's tokens count for the mean.
    pub const fn are_pooled(&self) -> bool {
        self.0.are_pooled
    }

    /// How vectors are compared.
    pub const fn similarity(&self) -> Similarity {
        self.0.similarity
    }

    /// Takes one of a file's keys and its value; answers whether it is about prompts.
    pub fn take(&mut self, key: &str, value: &str) -> std::result::Result<bool, CoreError> {
        self.0.take(key, value)
    }

    /// Those of a model's file.
    pub(crate) fn of_model(model: &ModelSource<'_>) -> std::result::Result<Self, CoreError> {
        folder::Prompts::of_source(model).map(Self)
    }

    /// The keys and values for a file's metadata.
    pub fn metadata(&self) -> Vec<(String, String)> {
        self.0.metadata()
    }

    /// The text that is to stand before others.
    pub fn choose(&self, wanted: &Prefix) -> Result<String> {
        let chosen = self.0.choose(wanted);
        chosen.map(str::to_owned).map_err(|missing| self.refuse(missing))
    }

    /// That the tokens of a prompt are to be left out of the mean where that is not done.
    pub(crate) fn refuse_left_out(&self) -> Error {
        let message = "the model leaves the tokens of a prompt out of the mean (`include_prompt` is false), which is not done for this kind of model";
        Error::input(ErrorKind::UnsupportedSetting, message)
            .with_hint("`--prompt \"\"` embeds texts without one")
    }

    /// The same as [`choose`](Self::choose), but where nothing is asked for, the prompt for `role`,
    /// and none if the model has none for it.
    pub fn choose_for(&self, role: &Prefix, wanted: &Prefix) -> Result<String> {
        let chosen = self.0.choose_for(role, wanted);
        chosen.map(str::to_owned).map_err(|missing| self.refuse(missing))
    }

    fn refuse(&self, missing: NoPrompt<'_>) -> Error {
        let known: Vec<&str> = self.0.by_name.keys().map(String::as_str).collect();
        let failure = Error::not_found(format!("the model has {missing}"));
        match known.as_slice() {
            [] => failure
                .with_hint("it has no prompts; `--prompt TEXT` puts any text before every text"),
            known => failure.with_hint(format!("its prompts are {}", known.join(", "))),
        }
    }
}
