//! A decoder in a Hugging Face folder: sizes in `config.json`, tensors, tokenizer.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nanoembed_core::model::llama::{Biases, LlamaConfig, is_decoder_tensor_of};
use nanoembed_core::model::{DecoderFamily, read_decoder_config};
use nanoembed_core::owned::folder::{
    CONFIG, FolderFault, FolderResult, MODULES, Texts, refuse_adapter,
};
use nanoembed_core::text::json::{self, Fault};
use nanoembed_core::{ErrorKind, limit};
use serde_json::Value;

use super::config;
use super::divisors::{self, Divisors, LONG};
use super::ends::FolderEnds;
use super::folder_tokenizer;
use super::tokenizer::{Tokenizer, amb_config};
use crate::checkpoint::hugging_face::Folder;
use crate::checkpoint::tensor::{Elements, Tensor};
use crate::error::{Error, Result};
use crate::folder::json_file::read_json;
use crate::folder::texts::{Allowed, FolderTexts};
use crate::hashed;

/// The settings of a decoder in a folder.
pub struct DecoderSettings {
    folder: PathBuf,
    path: PathBuf,
    config: Value,
    sizes: LlamaConfig,
    family: DecoderFamily,
    is_tied: bool,
    biases: Biases,
    /// The vectors of divisors of the rotary frequencies, as f32.
    divisors: Divisors,
    /// Unknown settings that are passed over.
    allowed: Arc<Allowed>,
}

/// What is taken from a `config.json`.
struct Read {
    sizes: LlamaConfig,
    is_tied: bool,
    biases: Biases,
    divisors: Divisors,
}

impl DecoderSettings {
    /// The decoder of `folder` by its `config.json` or another; `None` if it is none.
    pub fn from_folder(folder: &Path, config: Option<&Path>) -> Result<Option<Self>> {
        Self::allowing(folder, config, &Arc::default())
    }

    /// The same, but some unknown settings are passed over.
    pub(crate) fn allowing(
        folder: &Path,
        config: Option<&Path>,
        allowed: &Arc<Allowed>,
    ) -> Result<Option<Self>> {
        let path = config.map_or_else(|| folder.join("config.json"), Path::to_owned);
        let Some(config) = read_json(&path)? else { return Ok(None) };
        let kind = config.get("model_type").and_then(Value::as_str).unwrap_or_default();
        let Some(family) = DecoderFamily::from_model_type(kind) else { return Ok(None) };
        if family.has_encoders() && is_encoder(folder, &config) {
            return Ok(None);
        }
        FolderTexts::new(folder).read(|texts| refuse_adapter(texts, ""))?;
        let texts = FolderTexts::with_config(folder, Some(&path)).allowing(allowed);
        let Read { sizes, is_tied, biases, divisors } = texts.read(Read::from_texts)?;
        let (folder, allowed) = (folder.to_owned(), Arc::clone(allowed));
        Ok(Some(Self { folder, path, config, sizes, family, is_tied, biases, divisors, allowed }))
    }

    /// The `config.json`.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The vectors of divisors of the rotary frequencies, as f32.
    pub(super) fn divisors(&self) -> &[(&'static str, Vec<u8>)] {
        &self.divisors
    }

    /// True if the output layer is the table of embeddings.
    pub(super) const fn is_tied(&self) -> bool {
        self.is_tied
    }

    /// The sizes and settings of the transformer.
    pub(super) const fn sizes(&self) -> &LlamaConfig {
        &self.sizes
    }

    /// The members of an AMB configuration.
    pub fn config(&self, tokenizer: &Tokenizer<'_>) -> Result<Value> {
        let has_long_factors = self.divisors.iter().any(|(name, _)| *name == LONG);
        let members = config::members(&self.sizes, self.family.architecture(), has_long_factors);
        let mut members = members.map_err(|kind| self.refuse(kind, kind.message().to_owned()))?;
        members.extend(amb_config(tokenizer)?);
        Ok(Value::Object(members))
    }

    /// Refuses tensors that the model would not use: with them another one is meant.
    pub(super) fn check_tensors<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<()> {
        let is_foreign = |name: &&str| !is_decoder_tensor_of(name, &self.sizes, self.biases);
        match names.into_iter().find(is_foreign) {
            Some("embed_tokens.weight") => {
                let message = format!(
                    "the tensors have no `model.` before their names, as those of a model that embeds texts, and there is no `{MODULES}` that says how"
                );
                let failure = self.refuse(ErrorKind::UnsupportedSetting, message);
                Err(failure.with_hint(format!(
                    "take the model's `{MODULES}` and the folders that it names, too"
                )))
            }
            Some(name) => {
                let message = format!("no model that is known here uses the tensor `{name}`");
                Err(self.refuse(ErrorKind::UnsupportedSetting, message))
            }
            None => Ok(()),
        }
    }

    /// Refuses a model without the biases that its settings say it has.
    pub(super) fn check_biases(&self, has: impl Fn(&str) -> bool) -> Result<()> {
        match self.bias_names().find(|name| !has(name)) {
            Some(name) => {
                let message = format!("there is no tensor `{name}`, which such a model has");
                Err(self.refuse(ErrorKind::MissingTensor, message))
            }
            None => Ok(()),
        }
    }

    /// The biases that the model has.
    fn bias_names(&self) -> impl Iterator<Item = String> {
        let Biases { query_key_value, attention_output, feed_forward } = self.biases;
        let of: [(bool, &'static [&'static str]); 3] = [
            (query_key_value, &["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
            (attention_output, &["self_attn.o_proj"]),
            (feed_forward, &["mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]),
        ];
        let parts = of.into_iter().filter(|(has, _)| *has).flat_map(|(_, parts)| parts);
        (0..self.sizes.layers).flat_map(move |layer| {
            parts.clone().map(move |part| format!("model.layers.{layer}.{part}.bias"))
        })
    }

    fn refuse(&self, kind: ErrorKind, message: String) -> Error {
        Error::input(kind, message).at(self.path.display())
    }

    /// The model's tensors in its folder; a tied output and tables of angles are left out.
    pub fn tensors<'a>(&'a self, folder: &'a Folder) -> Result<Vec<Tensor<'a>>> {
        let mut tensors = folder.all_tensors()?;
        tensors.retain(|tensor| {
            let is_copy = self.is_tied() && tensor.name == "lm_head.weight";
            !is_copy && !tensor.name.ends_with("rotary_emb.inv_freq")
        });
        let names = || tensors.iter().map(|tensor| tensor.name.as_str());
        self.check_tensors(names())?;
        let failed = |error| Error::in_file(self.path.display(), error);
        let names: HashSet<&str> = hashed::set(names()).map_err(failed)?;
        self.check_biases(|name| names.contains(name))?;
        for (name, divisors) in &self.divisors {
            let tensor = Tensor {
                name: (*name).into(),
                shape: vec![divisors.len() / 4],
                elements: Elements::F32,
                data: divisors,
                scales: &[],
                columns: &[],
                zeros: &[],
                transposed: false,
            };
            limit::push(&mut tensors, tensor).map_err(failed)?;
        }
        Ok(tensors)
    }

    /// The tokenizer of the folder.
    pub fn tokenizer(&self) -> Result<Tokenizer<'static>> {
        let said = (&self.config, self.family);
        let ends = FolderEnds::from_folder(&self.folder, &self.path, said, &self.allowed)?;
        folder_tokenizer::read(&self.folder, ends, self.sizes.vocabulary)
    }
}

impl Read {
    fn from_texts(texts: Texts<'_, '_>) -> FolderResult<Self> {
        let failed = |fault| FolderFault::new(CONFIG, fault);
        let text =
            texts(CONFIG).map_err(|error| failed(Fault::from_error(error)))?.unwrap_or_default();
        let value =
            json::Value::parse(&text, 0).map_err(|error| failed(Fault::from_error(error)))?;
        let read = read_decoder_config(value).map_err(failed)?;
        let (sizes, is_tied, biases) = (read.config, read.is_tied, read.biases);
        let divisors = divisors::stored(&read.rotary);
        let divisors = divisors.map_err(|error| failed(Fault::from_error(error)))?;
        Ok(Self { sizes, is_tied, biases, divisors })
    }
}

/// True if a folder holds an encoder or a classifier, for families that have encoders and decoders.
fn is_encoder(folder: &Path, config: &Value) -> bool {
    let architectures = config.get("architectures").and_then(Value::as_array);
    let mut names = architectures.into_iter().flatten().filter_map(Value::as_str);
    if names.any(|name| name.ends_with("ForSequenceClassification")) {
        return true;
    }
    let sees_all = config.get("use_bidirectional_attention") == Some(&Value::Bool(true));
    sees_all || folder.join(MODULES).exists()
}
