//! What a folder holds: settings, modules, weights.

use std::path::{Path, PathBuf};

use nanoembed_core::model::FamilyModel;
use nanoembed_core::owned::Pipeline;
use nanoembed_core::owned::folder::{
    Base, EncoderSettings, FolderFault, Modules, TableSettings, TokenLimit,
};
use nanoembed_core::text::json::{Fault, Value};
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::asked::Asked;
use super::texts::FolderTexts;
use super::tokenizer;
use crate::causal::weights::ModelWeights;
use crate::error::{Error, Kind, Result, name_of};
use crate::open::prompts::Prompts;
use crate::stored::{ModelFiles, Values};

const CONFIG: &str = "config.json";

/// A folder with a model that embeds texts or compares them.
pub(crate) struct EncoderFolder {
    /// Where `modules.json` is, or would be.
    root: FolderTexts,
    /// Where the encoder itself is.
    own: FolderTexts,
    own_folder: PathBuf,
    modules: Option<Modules>,
    files: ModelFiles,
    model: FolderKind,
}

/// What the folder's model is.
pub(crate) enum FolderKind {
    Transformer(Box<FamilyModel>),
    Table(TableSettings),
}

impl EncoderFolder {
    /// The model that `path` names: a folder, one of its safetensors files, or its UQFF file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let folder = if path.is_dir() { path.to_owned() } else { folder_of(path) };
        let root = FolderTexts::of(&folder);
        let modules = root.read(|texts| Modules::read(texts))?;
        let inner = modules.as_ref().map(|modules| modules.folder.as_str()).unwrap_or_default();
        let own_folder = if inner.is_empty() { folder } else { folder.join(inner) };
        let own = FolderTexts::of(&own_folder);
        let model = kind(&own, modules.as_ref())?;
        let files = ModelFiles::open(if path.is_dir() { &own_folder } else { path });
        let files = files.map_err(|failure| without_weights(failure, &own_folder))?;
        Ok(Self { root, own, own_folder, modules, files, model })
    }

    /// The name that messages give to the model.
    pub(crate) fn name(&self) -> String {
        self.files.name()
    }

    pub(crate) const fn model(&self) -> &FolderKind {
        &self.model
    }

    /// Whether the model compares two texts and embeds none.
    pub(crate) const fn compares(&self) -> bool {
        match &self.model {
            FolderKind::Transformer(model) => model.classifier.is_some() && self.modules.is_none(),
            FolderKind::Table(_) => false,
        }
    }

    pub(crate) const fn modules(&self) -> Option<&Modules> {
        self.modules.as_ref()
    }

    /// The prompts that the folder has.
    pub(crate) fn prompts(&self) -> Result<Prompts> {
        let mut prompts = Prompts::default();
        prompts.read_folder(self.root.path())?;
        let pooling = self.modules.as_ref().and_then(|modules| modules.pooling.as_ref());
        prompts.are_pooled = !pooling.is_some_and(|pooling| pooling.leaves_out_prompt);
        Ok(prompts)
    }

    /// The settings of the encoder's module, which lies beside its weights.
    pub(crate) fn encoder_settings(&self) -> Result<EncoderSettings> {
        self.own.read(|texts| EncoderSettings::read(texts, ""))
    }

    /// How many tokens of a text are used, of a model with so many positions.
    pub(crate) fn max_tokens(&self, positions: usize) -> Result<usize> {
        let tokenizer = self.own.read(|texts| TokenLimit::of_tokenizer(texts))?;
        Ok(TokenLimit::of(&self.encoder_settings()?, tokenizer, positions))
    }

    /// The tokenizer.
    pub(crate) fn tokenizer(&self) -> Result<Pipeline> {
        let family = match &self.model {
            FolderKind::Transformer(model) => model.family,
            FolderKind::Table(_) => "",
        };
        tokenizer::read(&self.own, &self.own_folder, family)
    }

    /// Names of classes, by their numbers.
    pub(crate) fn labels(&self, count: usize) -> Result<Vec<String>> {
        let config = self.own.needed(CONFIG)?;
        let config = Value::parse(&config, 0).ok();
        let names = config.and_then(|config| config.member("id2label"));
        let named = |id: usize| {
            let name = names?.member(&id.to_string())?;
            Some(nanoembed_core::text::json::chars(name.as_text()?).collect())
        };
        Ok((0..count).map(|id| named(id).unwrap_or_else(|| format!("LABEL_{id}"))).collect())
    }

    /// All weights of the model itself.
    pub(crate) fn weights(&self) -> Result<ModelWeights<'_>> {
        weights_of(&self.files, &self.own_folder)
    }

    /// What `read` makes of the weights of the module in `folder`.
    pub(crate) fn module<R>(
        &self,
        folder: &str,
        read: impl FnOnce(&Asked<'_, '_>) -> Result<R, CoreError>,
    ) -> Result<R> {
        let folder = self.root.path().join(folder);
        let files = ModelFiles::open(&folder.join("model.safetensors"))?;
        let weights = weights_of(&files, &folder)?;
        let asked = Asked::of(&weights);
        read(&asked).map_err(|error| asked.failure(&files.name(), error))
    }

    /// What the core says is wrong with the model's weights.
    pub(crate) fn failure(&self, error: CoreError) -> Error {
        Error::in_file(self.name(), error)
    }
}

/// What the model is, by its `config.json`.
fn kind(own: &FolderTexts, modules: Option<&Modules>) -> Result<FolderKind> {
    let is_table = modules.is_some_and(|modules| modules.base == Base::Table);
    let Some(config) = own.get(CONFIG)? else {
        if is_table {
            return Ok(FolderKind::Table(TableSettings::default()));
        }
        return Err(own
            .needed(CONFIG)
            .map(drop)
            .err()
            .unwrap_or_else(|| missing(own))
            .with_hint("a model's folder has a `config.json` with its sizes beside the weights"));
    };
    let fault = |fault: Fault<'_>| own.explained(&FolderFault::new(CONFIG, fault));
    let value = Value::parse(&config, 0).map_err(|error| fault(Fault::of(error)))?;
    if is_table || TableSettings::are_in(value) {
        return TableSettings::read(value).map(FolderKind::Table).map_err(fault);
    }
    let model = nanoembed_core::model::read_config(value).map_err(fault)?;
    Ok(FolderKind::Transformer(Box::new(model)))
}

/// Why there are no weights, where that can be said better.
fn without_weights(failure: Error, folder: &Path) -> Error {
    if failure.kind() != Kind::NotFound || !folder.join("pytorch_model.bin").exists() {
        return failure;
    }
    let message = "the folder has its weights only as `pytorch_model.bin`, a pickle";
    Error::input(ErrorKind::UnknownFormat, message).at(name_of(folder)).with_hint(
        "save the model with `safe_serialization=True`, or download its `model.safetensors`",
    )
}

fn missing(own: &FolderTexts) -> Error {
    Error::not_found("there is no model in this folder").at(name_of(own.path()))
}

/// The weights in all of `files`, which lie in `folder`.
fn weights_of<'f>(files: &'f ModelFiles, folder: &Path) -> Result<ModelWeights<'f>> {
    let mut weights = ModelWeights::default();
    for (files, contents) in files.contents(&folder.join(CONFIG))? {
        let starts: Vec<u64> = files.iter().map(|(_, bytes)| weights.add_file(bytes)).collect();
        for tensor in &contents.tensors {
            if let (Some(start), Values::Weight(weight)) = (starts.get(tensor.file), &tensor.values)
            {
                weights.add_weight(&tensor.name, (*start, tensor.offset), weight);
            }
        }
    }
    Ok(weights)
}

/// The folder that a file, or the first of several joined by `;`, lies in.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    let first = path.to_str().and_then(|joined| joined.split(';').next()).map(Path::new);
    let parent = first.unwrap_or(path).parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}
