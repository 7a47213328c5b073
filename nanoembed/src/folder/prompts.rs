//! Prompts: texts that a model wants before others, such as `query: `.

use std::path::Path;

use nanoembed_core::owned::folder::{self, FolderModel, NoPrompt};
use nanoembed_core::source::ModelSource;
use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::error::{Error, Result};
use crate::folder::texts::FolderTexts;

pub use nanoembed_core::owned::folder::{Prefix, Similarity};

/// The prompts of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompts(folder::Prompts);

impl Prompts {
    /// Those of the folder of a model that continues texts.
    pub(crate) fn from_decoder_folder(folder: &Path) -> Result<Self> {
        FolderTexts::new(folder).read(|texts| folder::Prompts::read(texts)).map(Self)
    }

    /// Those of the folder of the model of texts that `model` describes.
    pub(crate) fn from_folder(texts: &FolderTexts, model: &FolderModel) -> Result<Self> {
        texts.read(|texts| model.prompts(texts)).map(Self)
    }

    /// These.
    pub(crate) const fn from_core(prompts: folder::Prompts) -> Self {
        Self(prompts)
    }

    /// The core's prompts, whose errors have no words.
    pub(crate) fn into_core(self) -> folder::Prompts {
        self.0
    }

    /// True if a prompt's tokens count for the mean.
    pub const fn are_pooled(&self) -> bool {
        self.0.are_pooled
    }

    /// The measure that vectors are compared by.
    pub const fn similarity(&self) -> Similarity {
        self.0.similarity
    }

    /// Takes one of a file's keys and its value; answers whether it is about prompts.
    pub fn take(&mut self, key: &str, value: &str) -> std::result::Result<bool, CoreError> {
        self.0.take(key, value)
    }

    /// Those of a model's file.
    pub(crate) fn from_source(model: &ModelSource<'_>) -> std::result::Result<Self, CoreError> {
        folder::Prompts::from_source(model).map(Self)
    }

    /// The keys and values for a file's metadata.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn metadata(&self) -> std::result::Result<Vec<(String, String)>, CoreError> {
        self.0.metadata()
    }

    /// The text that is to stand before others.
    pub fn choose(&self, wanted: &Prefix) -> Result<String> {
        let chosen = self.0.choose(wanted);
        chosen.map(str::to_owned).map_err(|missing| self.refuse(missing))
    }

    /// The error for a prompt whose tokens are to be left out of the mean where that is not done.
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
