//! A GGUF file of a decoder: its sizes, and its tensors under the names of
//! Hugging Face.

use std::path::{Path, PathBuf};

use nanoembed_core::describe::gguf::{
    GgufArchitecture, Key, gguf_architecture, gguf_llama_config, gguf_model, gguf_pools_last_token,
};
use nanoembed_core::event::{Mode, Value};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::model::gguf_names::DECODER;
use nanoembed_core::model::llama::rope::Yarn;
use nanoembed_core::model::llama::{LlamaConfig, Rope, RopePairs};
use nanoembed_core::model::{DecoderFamily, Names, decoder_names};
use nanoembed_core::quant;
use nanoembed_core::source::{ModelSource, POOLING, POOLS_LAST_TOKEN};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::config;
use super::divisors::DIVISORS;
use super::tokenizer::{Tokenizer, amb_config};
use crate::checkpoint::tensor::{OwnedTensor, le_bytes, sizes};
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;
use crate::layer_names::llama::{order_of, translated};
use crate::pairs::Pairs;
use crate::stored::{diagnosis, gguf_parts};

/// An open file.
pub struct GgufFile {
    path: PathBuf,
    bytes: MappedFile,
}

impl GgufFile {
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = gguf_parts::whole(path, MappedFile::open(path)?)?;
        let file = Self { path: path.to_owned(), bytes };
        gguf_model(&file.parse()?).map_err(|error| file.failure(error))?;
        Ok(file)
    }

    fn parse(&self) -> Result<Gguf<'_>> {
        Gguf::parse(&self.bytes, Mode::Lenient).map_err(|error| self.failure(error))
    }

    fn failure(&self, error: CoreError) -> Error {
        diagnosis::failure(&name_of(&self.path), &self.bytes, error)
    }

    fn text(&self, key: &str) -> Result<Option<String>> {
        match self.parse()?.value(key) {
            Some(Value::Text(text)) => {
                limit::copied(text).map(Some).map_err(|error| self.failure(error))
            }
            _ => Ok(None),
        }
    }

    pub fn model_name(&self) -> Result<Option<String>> {
        self.text(Key::Name.name())
    }

    /// Words about the model's origin.
    pub fn metadata(&self) -> Result<Pairs> {
        let named = [
            ("family", Key::Architecture.name()),
            ("creator", "general.organization"),
            ("description", "general.description"),
            ("license", Key::License.name()),
            ("version", "general.version"),
        ];
        let mut metadata = Pairs::new();
        for (name, key) in named {
            if let Some(text) = self.text(key)? {
                let pair = (name.to_owned(), text);
                limit::push(&mut metadata, pair).map_err(|error| self.failure(error))?;
            }
        }
        Ok(metadata)
    }

    pub fn tokenizer(&self) -> Result<Tokenizer<'_>> {
        Tokenizer::from_source(&self.bytes, &ModelSource::Gguf(self.parse()?))
            .map_err(|error| self.failure(error))
    }

    /// The members of an AMB configuration.
    pub fn config(&self, tokenizer: &Tokenizer<'_>) -> Result<serde_json::Value> {
        let file = self.parse()?;
        let config = gguf_llama_config(&file).map_err(|error| self.failure(error))?;
        let family = architecture(&file).and_then(GgufArchitecture::decoder_family);
        let architecture = family.map_or("llama", DecoderFamily::architecture);
        let has_long_factors = file.tensor("rope_factors_long.weight").is_some();
        let members = config::members(&config, architecture, has_long_factors);
        let mut members = members.map_err(|kind| self.failure(CoreError::without_offset(kind)))?;
        members.extend(amb_config(tokenizer)?);
        if gguf_pools_last_token(&file) {
            members.insert(POOLING.to_owned(), POOLS_LAST_TOKEN.into());
        }
        Ok(serde_json::Value::Object(members))
    }

    /// The rotary embedding.
    fn rope(&self, config: &LlamaConfig) -> Result<Rope> {
        let missing = || self.failure(CoreError::without_offset(ErrorKind::MissingMetadata));
        config.rotary.map(|rotary| rotary.global).ok_or_else(missing)
    }

    /// All tensors in f32, under the names and in the order of Hugging Face.
    pub fn tensors(&self) -> Result<Vec<OwnedTensor>> {
        let file = self.parse()?;
        let config = gguf_llama_config(&file).map_err(|error| self.failure(error))?;
        let rope = self.rope(&config)?;
        let names = decoder_names(order_of(architecture(&file)));
        let mut tensors = Vec::new();
        for view in file.tensors() {
            let header = view.header();
            let fail = |kind| self.failure(CoreError::new(header.offset, kind));
            let failed = |error: CoreError| fail(error.kind());
            let Some(name) = renamed(header.name, names).map_err(failed)? else { continue };
            let shape = sizes(&header.shape).map_err(fail)?;
            let mut values = limit::filled(shape.iter().product(), 0.0_f32).map_err(failed)?;
            quant::dequantize(header.dtype, view.data(), 0, &mut values).map_err(failed)?;
            let cols = shape.last().copied().unwrap_or(1);
            if rope.pairs == RopePairs::Neighbours {
                // Those of a bias are rows of one element.
                let cols = if shape.len() == 1 { 1 } else { cols };
                let heads = if name.contains("self_attn.q_proj.") {
                    Some(config.heads.query)
                } else if name.contains("self_attn.k_proj.") {
                    Some(config.heads.key_value)
                } else {
                    None
                };
                if let Some(heads) = heads {
                    values = in_halves(&values, heads, config.head(), cols).map_err(failed)?;
                }
            }
            let data = le_bytes(&values).map_err(failed)?;
            limit::push(&mut tensors, OwnedTensor { name, shape, data }).map_err(failed)?;
        }
        if let Some(yarn) = rope.yarn {
            put_yarn(&mut tensors, &yarn, rope.dimensions / 2)
                .map_err(|error| self.failure(error))?;
        }
        Ok(tensors)
    }
}

/// Puts YaRN's divisors where other files have them, or multiplies those that are there.
fn put_yarn(tensors: &mut Vec<OwnedTensor>, yarn: &Yarn, pairs: usize) -> Result<(), CoreError> {
    let found = tensors.iter().position(|tensor| tensor.name == DIVISORS);
    let stored = found.map(|place| tensors.swap_remove(place));
    let stored = stored.as_ref().map(|it| it.data.as_chunks::<4>().0).unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, reason = "models are not this precise")]
    let divisor = |pair: usize| {
        let other = stored.get(pair).map_or(1.0, |bytes| f32::from_le_bytes(*bytes));
        (yarn.divisor(pair) * f64::from(other)) as f32
    };
    let data = le_bytes(&limit::exactly((0..pairs).map(divisor))?)?;
    limit::push(tensors, OwnedTensor { name: DIVISORS.into(), shape: vec![pairs], data })
}

/// The architecture of a file.
fn architecture(file: &Gguf<'_>) -> Option<GgufArchitecture> {
    gguf_architecture(file).and_then(GgufArchitecture::from_name)
}

/// The Hugging Face name of a tensor; `None` for those that are not part of the model.
fn renamed(name: &str, names: &Names) -> Result<Option<String>, CoreError> {
    translated(name, &DECODER, names)
}

/// Rows of queries or keys, of which neighbours are turned together, in the order in which halves
/// are.
fn in_halves(
    values: &[f32],
    heads: usize,
    head: usize,
    cols: usize,
) -> Result<Vec<f32>, CoreError> {
    let mut halves = limit::reserved(values.len())?;
    let order = (0..head).map(|i| i % (head / 2) * 2 + i / (head / 2));
    for index in (0..heads).flat_map(|h| order.clone().map(move |i| h * head + i)) {
        let row = values.get(index * cols..(index + 1) * cols).unwrap_or_default();
        limit::append(&mut halves, row)?;
    }
    Ok(halves)
}
