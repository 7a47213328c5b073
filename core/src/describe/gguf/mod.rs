//! Models in GGUF files: their sizes in the words of GGUF's metadata, and what their tensors are
//! called there.

mod decoder;
mod decoder_family;
mod encoder;
mod encoder_tensors;
mod pieces;
mod scaling;
mod settings;
mod tokenizer;
mod windows;

pub use decoder::{gguf_llama_config, gguf_pools_last_token, gguf_refusal};
pub(crate) use encoder::FURTHER;
pub use encoder::{GgufSetting, gguf_bert_config, gguf_bert_setting_at_fault};
pub use encoder_tensors::{gguf_bert_tensor, gguf_bert_tensor_at_fault};
pub use pieces::GgufPieces;
pub(crate) use scaling::position_divisor;
pub use settings::GgufRefusal;
pub use tokenizer::{gguf_pre_tokenizer, gguf_text_ends};
pub(crate) use windows::{LISTED, listed_window};

use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::token::sentencepiece::PieceKind;

/// The architecture of encoders.
const ENCODER: &str = "bert";

/// The architectures of encoders beside BERT.
const ENCODERS: [&str; 5] =
    ["eurobert", "gemma-embedding", "jina-bert-v3", "modern-bert", "nomic-bert"];

/// Those of encoders that are not run here.
const OTHER_ENCODERS: [&str; 4] = ["jina-bert-v2", "neo-bert", "nomic-bert-moe", "t5encoder"];

/// The architectures of decoders that embed texts where their file says how states are pooled.
const EMBEDDERS: [&str; 1] = ["qwen3"];

/// The architectures of decoders.
const DECODERS: [&str; 6] = ["llama", "mistral", "qwen2", "qwen3", "phi3", "gemma3"];

/// The longest key that is put together.
const MAX_KEY_BYTES: usize = 128;

/// What the file says of its architecture under `key`, which stands behind the architecture's name
/// and a point.
fn value_of<'a>(file: &Gguf<'a>, architecture: &str, key: &str) -> Option<Value<'a>> {
    // What does not fit is not found.
    let mut name = heapless::String::<MAX_KEY_BYTES>::new();
    for part in [architecture, ".", key] {
        name.push_str(part).ok()?;
    }
    file.value(&name)
}

/// The name of the file's architecture, `llama` or `bert` for example.
pub fn gguf_architecture<'a>(file: &Gguf<'a>) -> Option<&'a str> {
    match file.value("general.architecture")? {
        Value::Text(name) => Some(name),
        _ => None,
    }
}

/// Whether the model in the file embeds texts, by what its architecture is: it does not continue
/// them.
#[must_use]
pub fn gguf_is_encoder(file: &Gguf<'_>) -> bool {
    gguf_is_known_encoder(file)
        || gguf_architecture(file).is_some_and(|name| OTHER_ENCODERS.contains(&name))
}

/// The same of architectures that are run here.
#[must_use]
pub fn gguf_is_known_encoder(file: &Gguf<'_>) -> bool {
    let Some(architecture) = gguf_architecture(file) else { return false };
    let pooling = || value_of(file, architecture, "pooling_type");
    architecture == ENCODER
        || ENCODERS.contains(&architecture)
        || EMBEDDERS.contains(&architecture)
            && !matches!(pooling(), None | Some(Value::Unsigned(0)))
}

/// What kind of model a GGUF file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GgufModel {
    /// A BERT encoder.
    Encoder,
    /// A decoder of the Llama family.
    Decoder,
}

/// The kind of the model in a GGUF file, by its architecture.
///
/// # Errors
///
/// [`ErrorKind::MissingMetadata`] if the file names no architecture,
/// [`ErrorKind::UnsupportedArchitecture`] if it names one that is not known here,
/// [`ErrorKind::SplitFile`] if the file is one of several that hold the model.
pub fn gguf_model(file: &Gguf<'_>) -> Result<GgufModel> {
    if file.split().is_some() {
        return Err(Error::without_offset(ErrorKind::SplitFile));
    }
    match gguf_architecture(file) {
        None => Err(Error::without_offset(ErrorKind::MissingMetadata)),
        Some(ENCODER) => Ok(GgufModel::Encoder),
        Some(name) if DECODERS.contains(&name) => Ok(GgufModel::Decoder),
        Some(_) => Err(Error::without_offset(ErrorKind::UnsupportedArchitecture)),
    }
}

/// The id under a key.
pub(crate) fn gguf_id(file: &Gguf<'_>, key: &str) -> Option<u32> {
    file.value(key).and_then(unsigned)
}

/// An integer that is not negative.
pub(crate) fn unsigned(value: Value<'_>) -> Option<u32> {
    match value {
        Value::Unsigned(number) => u32::try_from(number).ok(),
        Value::Signed(number) => u32::try_from(number).ok(),
        _ => None,
    }
}

/// The type of a token by its number, which is the one that SentencePiece has for it.
pub(crate) fn token_type(value: Value<'_>) -> Option<PieceKind> {
    unsigned(value).map(u64::from).and_then(PieceKind::from_code)
}
