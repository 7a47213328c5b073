//! A decoder in several files: a folder as on Hugging Face or of mistral.rs, whose weights are
//! safetensors or UQFF.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nanoembed_core::event::Format;
use nanoembed_core::owned::folder::{MODULES, TokenizerConfig};
use nanoembed_core::{ErrorKind, limit};

use super::chat_template::ChatTemplate;
use super::generation_settings::GenerationSettings;
use super::hugging_face::DecoderSettings;
use super::model::{CausalModel, Found, Purpose};
use super::tokenizer::Tokenizer;
use super::weights::ModelWeights;
use crate::checkpoint::model_files::ModelFiles;
use crate::error::{Error, Result, name_of};
use crate::folder::prompts::Prompts;
use crate::folder::texts::{Allowed, FolderTexts};
use crate::stored::Values;
use crate::stored::file_names::{folder_of, is_safetensors, is_uqff_name};

/// The output layer.
const OUTPUT: &str = "lm_head.weight";

/// The open files of a decoder.
pub struct Bundle {
    folder: PathBuf,
    settings: DecoderSettings,
    files: ModelFiles,
}

impl Bundle {
    /// The decoder that `path` names: a folder, one of its safetensors files, or its UQFF file (the
    /// first shard). `None` for other files, and for folders of another kind of model.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        Self::open_allowing(path, &Arc::default())
    }

    /// The same, but some unknown settings are passed over.
    pub(crate) fn open_allowing(path: &Path, allowed: &Arc<Allowed>) -> Result<Option<Self>> {
        let is_uqff = is_uqff_name(path);
        if !path.is_dir() && !is_safetensors(path) && !is_uqff {
            return Ok(None);
        }
        let folder = folder_of(path);
        let Some(settings) = DecoderSettings::allowing(&folder, None, allowed)? else {
            if is_uqff && !folder.join("config.json").exists() {
                return Err(missing_config(path));
            }
            return Ok(None);
        };
        if !allowed.is_empty() {
            // So that all that is passed over is known.
            settings.tokenizer()?;
        }
        Ok(Some(Self { folder, settings, files: ModelFiles::open(path)? }))
    }

    /// The name that messages give to the model.
    pub fn name(&self) -> String {
        self.files.name()
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The weights.
    pub(crate) const fn files(&self) -> &ModelFiles {
        &self.files
    }

    /// The bytes of the files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.bytes()
    }

    /// The prompts that the folder has.
    pub fn prompts(&self) -> Result<Prompts> {
        Prompts::from_decoder_folder(&self.folder)
    }

    /// Refuses to embed as the folder's `modules.json` says, and to cut texts elsewhere than at
    /// their ends: that is done for encoders alone.
    pub(crate) fn check_embeds(&self) -> Result<()> {
        if !self.folder.join(MODULES).exists() {
            let texts = FolderTexts::new(&self.folder);
            return texts.read(|texts| TokenizerConfig::read(texts, "")?.check_truncation());
        }
        let message = "how this model embeds is not done here for decoders: modules, pooling and the most tokens";
        Err(Error::input(ErrorKind::UnsupportedSetting, message)
            .at(self.folder.join(MODULES).display())
            .with_hint("`nanoembed generate` runs it; folders of Qwen and Gemma embed by theirs"))
    }

    /// Refuses to continue texts without an output layer, which the table of embeddings is only if
    /// the settings say so.
    pub(crate) fn check_output(&self, model: &CausalModel) -> Result<()> {
        if self.settings.is_tied() || model.weights().has(OUTPUT) {
            return Ok(());
        }
        let message = format!(
            "there is no tensor `{OUTPUT}`, and `tie_word_embeddings` does not say that the table of embeddings is the output layer"
        );
        Err(Error::input(ErrorKind::MissingTensor, message).at(self.settings.path().display()))
    }

    /// The sampling that the folder asks for.
    pub(crate) fn generation_settings(&self) -> Result<GenerationSettings> {
        GenerationSettings::from_folder(&self.folder)
    }

    /// The usual place of missing tensors.
    pub(crate) fn where_from(&self) -> &'static str {
        if self.files.lacks_residual() {
            "norms and other tensors that are not quantised are in `residual.safetensors`: put it beside the UQFF file"
        } else {
            "does the model's config.json describe these weights?"
        }
    }

    /// The tokenizer beside the weights.
    pub(crate) fn tokenizer(&self) -> Result<Tokenizer<'static>> {
        self.settings.tokenizer()
    }

    /// The decoder as its files describe it.
    pub(crate) fn found(&self) -> Result<Found> {
        let tokenizer = self.tokenizer()?;
        let config = *self.settings.sizes();
        let (pools_last_token, purpose) = (false, Purpose::Continue);
        let (weights, chat_template) = (self.tensors()?, ChatTemplate::from_folder(&self.folder)?);
        Ok(Found { config, weights, tokenizer, pools_last_token, purpose, chat_template })
    }

    fn tensors(&self) -> Result<ModelWeights> {
        let mut weights = ModelWeights::default();
        for (files, contents) in self.files.contents(self.settings.path())? {
            let starts = limit::gathered(files.shared().map(|bytes| weights.add_file(bytes)));
            let starts = starts.map_err(|error| Error::in_file(files.name(), error))?;
            // The output of a tied model that stands in its file all the same is not used; what
            // UQFF has quantised is.
            self.settings
                .check_tensors(contents.tensors.iter().map(|tensor| tensor.name.as_str()))?;
            let skips_output = self.settings.is_tied() && contents.format == Format::Safetensors;
            for tensor in &contents.tensors {
                let is_copy = skips_output && tensor.name == OUTPUT;
                let start = starts.get(tensor.file).filter(|_| !is_copy);
                if let (Some(start), Values::Weight(weight)) = (start, &tensor.values) {
                    let added = weights.add_weight(&tensor.name, (*start, tensor.offset), weight);
                    added.map_err(|error| Error::in_file(&tensor.name, error))?;
                }
            }
        }
        self.settings.check_biases(|name| weights.has(name))?;
        for (name, divisors) in self.settings.divisors() {
            let added = weights.add_vector(name, divisors);
            added.map_err(|error| Error::in_file(name, error))?;
        }
        Ok(weights)
    }
}

fn missing_config(path: &Path) -> Error {
    let message = "there is no `config.json` beside this file, which says the model's sizes";
    Error::input(ErrorKind::MissingMetadata, message).at(name_of(path)).with_hint(
        "put `config.json`, `tokenizer.json` and `residual.safetensors` of the model there, as mistral.rs has them",
    )
}
