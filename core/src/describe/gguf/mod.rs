//! Models in GGUF files: the interpretation of their keys and tensors.
//!
//! | file | role |
//! |---|---|
//! | `architecture` | the table of architectures |
//! | `key` | the table of keys: which are used, known to have no effect, or rejected by name |
//! | `keys` | a file's keys, read in one pass by that table |
//! | `decoder`, `decoder_family`, `tokenizer`, `pieces` | decoders and their tokenizers |
//! | `encoder` | BERT with WordPiece |
//! | `description`, `encoder_family`, `recipe` | encoders of all families, and the modules after their transformer |
//! | `tensors` | the tensors of encoders |
//! | `written_keys` | the keys of a transformer's configuration, to write them |

mod architecture;
mod decoder;
mod decoder_family;
mod description;
mod encoder;
mod encoder_family;
mod fault;
mod key;
mod keys;
mod pieces;
mod recipe;
mod refusal;
mod scaling;

mod tensors;
mod tokenizer;
mod value;
mod windows;
mod written_keys;

pub use architecture::GgufArchitecture;
pub use decoder::{gguf_llama_config, gguf_names_pooling, gguf_pools_last_token, gguf_refusal};
pub(crate) use description::{describe, describe_without_tokenizer, encoder_keys};
pub use description::{gguf_description, gguf_has_described_encoder};
pub use encoder::{GgufSetting, gguf_bert_config, gguf_bert_setting_at_fault};
pub use encoder_family::T5_DISTANCE;
pub use fault::GgufFault;
pub use key::Key;
pub(crate) use keys::Keys;
pub use pieces::GgufPieces;
pub(crate) use recipe::gguf_tensor_name;
pub use recipe::{GgufDense, gguf_module_tensor, gguf_pooling_type};
pub use refusal::GgufRefusal;
pub(crate) use refusal::Outcome;
use tensors::check as check_tensors;
pub use tensors::{gguf_bert_tensor, gguf_bert_tensor_at_fault};
pub use tokenizer::{gguf_pre_tokenizer, gguf_text_ends};
pub(crate) use value::{token_type, unsigned};
pub use written_keys::{
    ByLayer, GgufValue, PutKey, gguf_decoder_keys, gguf_encoder_keys, window_pattern,
};

use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;

/// The longest key that is assembled.
const MAX_KEY_BYTES: usize = 128;

/// The value of a key of the model, in a file of this architecture.
fn value_of<'a>(file: &Gguf<'a>, architecture: &str, key: Key) -> Option<Value<'a>> {
    // A key that does not fit is not found.
    let mut name = heapless::String::<MAX_KEY_BYTES>::new();
    for part in [architecture, ".", key.name()] {
        name.push_str(part).ok()?;
    }
    file.value(&name)
}

/// The name of the file's architecture, `llama` or `bert` for example.
pub fn gguf_architecture<'a>(file: &Gguf<'a>) -> Option<&'a str> {
    match file.value(Key::Architecture.name())? {
        Value::Text(name) => Some(name),
        _ => None,
    }
}

/// The file's architecture, if it is known.
pub(crate) fn known_architecture(file: &Gguf<'_>) -> Option<GgufArchitecture> {
    gguf_architecture(file).and_then(GgufArchitecture::from_name)
}

/// Returns true if the architecture of the file is that of an encoder.
#[must_use]
pub fn gguf_is_encoder(file: &Gguf<'_>) -> bool {
    gguf_is_known_encoder(file)
        || known_architecture(file).is_some_and(GgufArchitecture::is_other_encoder)
}

/// Returns true if the architecture of the file is that of a supported encoder.
#[must_use]
pub fn gguf_is_known_encoder(file: &Gguf<'_>) -> bool {
    let Some(architecture) = known_architecture(file) else { return false };
    architecture.is_encoder() || architecture.may_embed() && gguf_names_pooling(file)
}

/// The kind of model in a GGUF file.
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
/// [`ErrorKind::MissingMetadata`] if the file states no architecture,
/// [`ErrorKind::UnsupportedArchitecture`] if it states an unknown one, [`ErrorKind::SplitFile`] if
/// the model is split over several files.
pub fn gguf_model(file: &Gguf<'_>) -> Result<GgufModel> {
    if file.split().is_some() {
        return Err(Error::without_offset(ErrorKind::SplitFile));
    }
    let name = gguf_architecture(file).ok_or(Error::without_offset(ErrorKind::MissingMetadata))?;
    match GgufArchitecture::from_name(name) {
        Some(GgufArchitecture::Bert) => Ok(GgufModel::Encoder),
        Some(architecture) if architecture.is_decoder() => Ok(GgufModel::Decoder),
        _ => Err(Error::without_offset(ErrorKind::UnsupportedArchitecture)),
    }
}

/// The id under a key of the tokenizer.
pub(crate) fn gguf_id(file: &Gguf<'_>, key: Key) -> Option<u32> {
    file.value(key.name()).and_then(unsigned)
}
