//! What a Hugging Face folder says of a decoder of the Llama family: its sizes by `config.json`,
//! its tokenizer by `tokenizer.model` (SentencePiece) or `tokenizer.json` (byte-level BPE).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nanoembed_core::ErrorKind;
use nanoembed_core::model::llama::{LlamaConfig, RopePairs, is_decoder_tensor_of};
use nanoembed_core::token::TextEnds;
use serde_json::Value;

use super::config::Sizes;
use super::ends::FolderEnds;
use super::tokenizer::{AddedTokens, Tokenizer};
use super::tokenizer_json::TokenizerJson;
use crate::convert::checkpoint::hugging_face::Folder;
use crate::convert::checkpoint::settings::read_json;
use crate::convert::checkpoint::tensor::{Elements, Tensor};
use crate::error::{Error, Result, name_of};
use crate::open::settings_rule::Members;

/// What a folder says of a decoder.
pub struct DecoderSettings {
    folder: PathBuf,
    path: PathBuf,
    config: Value,
    /// Sizes and habits as the members of an AMB configuration.
    members: serde_json::Map<String, Value>,
    is_tied: bool,
    /// The vectors of divisors of the rotary frequencies, as f32.
    divisors: Vec<(&'static str, Vec<u8>)>,
}

/// Models whose tensors and computation are those of Llama or Phi-3.
const TYPES: [&str; 3] = ["llama", "mistral", "phi3"];

impl DecoderSettings {
    /// The decoder of `folder` by its `config.json` or another; `None` if it is none of this
    /// family.
    pub fn of(folder: &Path, config: Option<&Path>) -> Result<Option<Self>> {
        let path = config.map_or_else(|| folder.join("config.json"), Path::to_owned);
        let Some(config) = read_json(&path)? else { return Ok(None) };
        let kind = config.get("model_type").and_then(Value::as_str).unwrap_or_default();
        if !TYPES.contains(&kind) {
            return Ok(None);
        }
        let read = Sizes::of(&Members::new(&config, path.display().to_string())?)?;
        let divisors = read.rotary.divisors().into_iter().map(|(name, values)| {
            (name, values.iter().flat_map(|value| value.to_le_bytes()).collect())
        });
        Ok(Some(Self {
            folder: folder.to_owned(),
            members: read.members(),
            is_tied: read.is_tied,
            divisors: divisors.collect(),
            path,
            config,
        }))
    }

    /// The `config.json`.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The vectors of divisors of the rotary frequencies, as f32.
    pub(super) fn divisors(&self) -> &[(&'static str, Vec<u8>)] {
        &self.divisors
    }

    /// Whether the output layer is the table of embeddings.
    pub(super) const fn is_tied(&self) -> bool {
        self.is_tied
    }

    /// How many layers there are.
    pub(super) fn layers(&self) -> usize {
        let layers = self.members.get("n_layers").and_then(Value::as_u64);
        layers.and_then(|layers| usize::try_from(layers).ok()).unwrap_or(0)
    }

    /// The sizes as the core takes them.
    pub(super) fn sizes(&self, tokenizer: &Tokenizer<'_>) -> Result<LlamaConfig> {
        let config = self.config(tokenizer)?;
        let number = |member: &str| config.get(member).and_then(Value::as_f64);
        LlamaConfig::read(number, RopePairs::Halves)
            .map_err(|error| self.refuse(error.kind(), error.kind().message().to_owned()))
    }

    /// The members of an AMB configuration.
    pub fn config(&self, tokenizer: &Tokenizer<'_>) -> Result<Value> {
        let mut members = self.members.clone();
        members.extend(tokenizer.config());
        Ok(Value::Object(members))
    }

    /// Refuses tensors that the model would not use: with them another one is meant.
    pub(super) fn check_tensors<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<()> {
        let layers = self.layers();
        match names.into_iter().find(|name| !is_decoder_tensor_of(name, layers)) {
            Some(name) => {
                let message = format!("no model that is known here uses the tensor `{name}`");
                Err(self.refuse(ErrorKind::UnsupportedSetting, message))
            }
            None => Ok(()),
        }
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
        self.check_tensors(tensors.iter().map(|tensor| tensor.name.as_str()))?;
        for (name, divisors) in &self.divisors {
            tensors.push(Tensor {
                name: (*name).into(),
                shape: vec![divisors.len() / 4],
                elements: Elements::F32,
                data: divisors,
                scales: &[],
                columns: &[],
                zeros: &[],
                transposed: false,
            });
        }
        Ok(tensors)
    }

    /// The tokenizer by `tokenizer.model`, with the tokens that `tokenizer_config.json` adds, or by
    /// `tokenizer.json`.
    pub fn tokenizer(&self) -> Result<Tokenizer<'static>> {
        let path = self.folder.join("tokenizer.model");
        let by_json = self.folder.join("tokenizer.json");
        let ends = FolderEnds::of(&self.folder, &self.path, &self.config)?;
        if !path.exists() && by_json.exists() {
            let json = TokenizerJson::new(&by_json, read_json(&by_json)?.unwrap_or_default());
            return json.tokenizer(&ends);
        }
        let model = crate::files::whole_file::read(&path).map_err(|error| {
            Error::reading(path.display(), &error).with_hint(
                "a decoder's folder has its tokenizer in `tokenizer.model` or `tokenizer.json`: put one there, as the model was published with it",
            )
        })?;
        let settings = read_json(&self.folder.join("tokenizer_config.json"))?;
        let settings = settings.unwrap_or_default();
        let mut tokens = BTreeMap::new();
        let added = settings.get("added_tokens_decoder").and_then(Value::as_object);
        for (id, token) in added.into_iter().flatten() {
            let content = token.get("content").and_then(Value::as_str);
            if let (Ok(id), Some(content)) = (id.parse::<u32>(), content) {
                tokens.insert(id, content.to_owned());
            }
        }
        // As the tokenizer of Llama does.
        let (adds_begin, adds_end) = (ends.adds_begin != Some(false), ends.adds_end == Some(true));
        let around = TextEnds {
            begin: ends.begin.filter(|_| adds_begin),
            append: ends.end.first().filter(|_| adds_end),
            end: ends.end,
        };
        let added = AddedTokens { tokens, begin: ends.begin, ends: around };
        Tokenizer::of_hugging_face(model, added)
            .map_err(|error| Error::in_file(name_of(&path), error))
    }
}
