//! Models and their vocabularies out of files of each format.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::added_words::{ADDED_TOKENS, AddedWord, parse_added_words};
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
#[cfg(feature = "embd")]
use crate::model::embd_is_decoder;
use crate::model::requantize::COLUMN_SCALES;
use crate::model::{Bert, BertConfig, Layer, Matrix, SliceWeights, Weights as _};
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

pub(super) const OTHER_MODEL: Error = Error::without_offset(ErrorKind::OtherModel);

/// Knows a file's tensors by name. One type for all formats: a type for each would have the code
/// of each.
pub(super) type Find<'f, 'h> = &'f dyn Fn(&str) -> Option<TensorHeader<'h>>;

/// The model whose tensors `find` knows.
pub(super) fn open_model(bytes: &[u8], config: BertConfig, find: Find<'_, '_>) -> Result<Model> {
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

#[cfg(feature = "embd")]
pub(super) fn open_embd<'f>(
    bytes: &'f [u8],
    embd: &Embd<'f>,
) -> Result<(Model, FoundVocabulary<'f>)> {
    if embd_is_decoder(embd) {
        return Err(OTHER_MODEL);
    }
    let config = BertConfig::from_metadata(|key| embd.metadata_value(key))?;
    let find = |name: &str| embd.tensor(name).map(|tensor| *tensor.header());
    let model = open_model(bytes, config, &find)?;
    let entries = embd.token_entries();
    let entries = entries.ok_or(Error::without_offset(ErrorKind::MissingVocabulary))?;
    let found = FoundVocabulary {
        bytes: Cow::Borrowed(entries.bytes),
        offset: entries.offset,
        count: entries.count,
        prefix: if entries.length_bytes == 2 { LengthPrefix::U16 } else { LengthPrefix::U32 },
        added: added_words(embd.metadata_value(ADDED_TOKENS))?,
        default_prompt: default_prompt(|key| Ok(embd.metadata_value(key).map(String::from))),
        special: embd.special().map(|special| SpecialRole::ALL.map(|role| Some(special.id(role)))),
    };
    Ok((model, found))
}

#[cfg(feature = "amb")]
pub(super) fn open_amb<'f>(bytes: &'f [u8], amb: &Amb<'f>) -> Result<(Model, FoundVocabulary<'f>)> {
    let config = BertConfig::from_metadata(|key| amb_config_value(amb, key));
    let config = config.map_err(|error| match amb_config_value(amb, "architecture") {
        None | Some("custom" | "bert") => error,
        Some(_) => OTHER_MODEL,
    })?;
    let find = |name: &str| amb.tensor(name).map(|tensor| *tensor.header());
    let model = open_model(bytes, config, &find)?;
    let missing = Error::without_offset(ErrorKind::MissingVocabulary);
    let tokenizer = amb.tokenizer().ok_or(missing)?;
    let entries = tokenizer.token_entries().ok_or(missing)?;
    let found = FoundVocabulary {
        bytes: Cow::Borrowed(entries.bytes),
        offset: entries.offset,
        count: entries.count,
        prefix: LengthPrefix::U16,
        added: added_words(amb_config_value(amb, ADDED_TOKENS))?,
        default_prompt: default_prompt(|key| amb_text(amb, key)),
        special: Some(SpecialRole::ALL.map(|role| tokenizer.special(role))),
    };
    Ok((model, found))
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
