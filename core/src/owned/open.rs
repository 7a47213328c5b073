//! Models and their vocabularies out of files of each format.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::added_words::{ADDED_TOKENS, AddedWord, parse_added_words};
#[cfg(feature = "gguf")]
use super::gguf::gguf_vocabulary;
use super::prompt::default_prompt;
use super::vocabulary::FoundVocabulary;
use crate::error::{Error, ErrorKind, Result};
#[cfg(any(feature = "amb", feature = "embd"))]
use crate::event::SpecialRole;
#[cfg(feature = "amb")]
use crate::format::amb::Amb;
#[cfg(feature = "embd")]
use crate::format::embd::Embd;
use crate::limit::filled;
#[cfg(feature = "amb")]
use crate::model::amb_config_value;
use crate::model::requantize::COLUMN_SCALES;
use crate::model::{Bert, BertConfig, Layer, Matrix, ModelSource, SliceWeights, Weights as _};
use crate::tensor::TensorHeader;
#[cfg(feature = "amb")]
use crate::text::json::unescape;
use crate::token::LengthPrefix;

/// What is found of a model by the names of its tensors.
pub(super) struct Model {
    pub(super) bert: Bert<Vec<Layer>>,
    /// See [`COLUMN_SCALES`].
    pub(super) column_scales: Option<Matrix>,
}

/// Knows a file's tensors by name. One type for all formats: a type for each would have the code
/// of each.
type Find<'f, 'h> = &'f dyn Fn(&str) -> Option<TensorHeader<'h>>;

/// The model whose tensors `find` knows.
fn open_model(bytes: &[u8], config: BertConfig, find: Find<'_, '_>) -> Result<Model> {
    let weights = SliceWeights::new(bytes, find);
    let column_scales = weights.matrix(COLUMN_SCALES)?;
    if let Some(scales) = column_scales
        && (scales.rows, scales.cols) != (1, config.scaled_columns())
    {
        return Err(Error::new(scales.offset, ErrorKind::WrongShape));
    }
    let bert = Bert::open(&weights, config, filled(config.layers, Layer::EMPTY)?)?;
    Ok(Model { bert, column_scales })
}

/// The encoder in a file, and its vocabulary.
pub(super) fn open<'f>(
    bytes: &'f [u8],
    source: &ModelSource<'f>,
) -> Result<(Model, FoundVocabulary<'f>)> {
    let config = source.encoder_config()?;
    let model = open_model(bytes, config, &|name| source.encoder_tensor(name))?;
    let found = match source {
        #[cfg(feature = "amb")]
        ModelSource::Amb(amb) => amb_vocabulary(amb)?,
        #[cfg(feature = "embd")]
        ModelSource::Embd(embd) => embd_vocabulary(embd)?,
        #[cfg(feature = "gguf")]
        ModelSource::Gguf(gguf) => gguf_vocabulary(gguf, &config)?,
    };
    Ok((model, found))
}

const MISSING: Error = Error::without_offset(ErrorKind::MissingVocabulary);

#[cfg(feature = "embd")]
fn embd_vocabulary<'f>(embd: &Embd<'f>) -> Result<FoundVocabulary<'f>> {
    let entries = embd.token_entries().ok_or(MISSING)?;
    Ok(FoundVocabulary {
        bytes: Cow::Borrowed(entries.bytes),
        offset: entries.offset,
        count: entries.count,
        prefix: if entries.length_bytes == 2 { LengthPrefix::U16 } else { LengthPrefix::U32 },
        added: added_words(embd.metadata_value(ADDED_TOKENS))?,
        default_prompt: default_prompt(|key| Ok(embd.metadata_value(key).map(String::from))),
        special: embd.special().map(|special| SpecialRole::ALL.map(|role| Some(special.id(role)))),
    })
}

#[cfg(feature = "amb")]
fn amb_vocabulary<'f>(amb: &Amb<'f>) -> Result<FoundVocabulary<'f>> {
    let tokenizer = amb.tokenizer().ok_or(MISSING)?;
    let entries = tokenizer.token_entries().ok_or(MISSING)?;
    Ok(FoundVocabulary {
        bytes: Cow::Borrowed(entries.bytes),
        offset: entries.offset,
        count: entries.count,
        prefix: LengthPrefix::U16,
        added: added_words(amb_config_value(amb, ADDED_TOKENS))?,
        default_prompt: default_prompt(|key| amb_text(amb, key)),
        special: Some(SpecialRole::ALL.map(|role| tokenizer.special(role))),
    })
}

/// A member of an `.amb` file's configuration as a text, escapes resolved.
#[cfg(feature = "amb")]
fn amb_text(amb: &Amb<'_>, key: &str) -> Result<Option<String>> {
    let Some(spelling) = amb_config_value(amb, key) else { return Ok(None) };
    let mut room = filled(spelling.len(), 0)?;
    let text = unescape(spelling, &mut room);
    text.map(|text| Some(text.into())).ok_or(Error::without_offset(ErrorKind::BadMetadata))
}

/// The added tokens that a file's metadata has.
pub(super) fn added_words(value: Option<&str>) -> Result<Vec<AddedWord>> {
    value.map_or(Ok(Vec::new()), parse_added_words)
}
