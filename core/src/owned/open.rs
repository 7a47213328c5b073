//! Models and their prompts out of files of each format.

use alloc::string::String;
use alloc::vec::Vec;

use super::prompt::default_prompt;
use crate::describe::BertConfig;
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "gguf")]
use crate::event::Value;
#[cfg(feature = "amb")]
use crate::format::amb::Amb;
#[cfg(feature = "gguf")]
use crate::format::gguf::Gguf;
use crate::limit::{copied, filled, joined};
#[cfg(feature = "amb")]
use crate::model::amb_config_value;
use crate::model::requantize::COLUMN_SCALES;
use crate::model::{Encoder, Layer, Matrix, ModelSource, SliceWeights, Weights as _};
use crate::tensor::TensorHeader;
#[cfg(feature = "amb")]
use crate::text::json::unescape;

/// What is found of a model by the names of its tensors.
pub(super) struct Model {
    pub(super) encoder: Encoder<Vec<Layer>>,
    /// See [`COLUMN_SCALES`].
    pub(super) column_scales: Option<Matrix>,
}

/// Knows a file's tensors by name. One type for all formats: a type for each would have the code
/// of each.
type Find<'f, 'h> = &'f dyn Fn(&str) -> Option<TensorHeader<'h>>;

/// The model whose tensors `find` knows.
fn open_model(bytes: &[u8], config: &BertConfig, find: Find<'_, '_>) -> Result<Model> {
    let weights = SliceWeights::new(bytes, find);
    let column_scales = weights.matrix(COLUMN_SCALES)?;
    if let Some(scales) = column_scales
        && (scales.rows, scales.cols) != (1, config.scaled_columns())
    {
        return Err(Error::new(scales.offset, ErrorKind::WrongShape));
    }
    let layers = filled(config.layers, Layer::EMPTY)?;
    let encoder = Encoder::open(&weights, config.transformer, config.embedding(), layers)?;
    Ok(Model { encoder, column_scales })
}

/// The encoder in a file.
pub(super) fn open(bytes: &[u8], source: &ModelSource<'_>, config: &BertConfig) -> Result<Model> {
    open_model(bytes, config, &|name| source.encoder_tensor(name))
}

/// What stands before every text, or why that cannot be done.
pub(super) fn prompt(source: &ModelSource<'_>) -> Result<String> {
    default_prompt(|key| match source {
        #[cfg(feature = "amb")]
        ModelSource::Amb(amb) => amb_text(amb, key),
        #[cfg(feature = "embd")]
        ModelSource::Embd(embd) => embd.metadata_value(key).map(copied).transpose(),
        #[cfg(feature = "gguf")]
        ModelSource::Gguf(gguf) => gguf_text(gguf, key),
    })
}

/// A member of an `.amb` file's configuration as a text, escapes resolved.
#[cfg(feature = "amb")]
pub(super) fn amb_text(amb: &Amb<'_>, key: &str) -> Result<Option<String>> {
    let Some(spelling) = amb_config_value(amb, key) else { return Ok(None) };
    let mut room = filled(spelling.len(), 0)?;
    let text = unescape(spelling, &mut room);
    let text = text.ok_or(Error::without_offset(ErrorKind::BadMetadata))?;
    copied(text).map(Some)
}

/// What a GGUF file says under a key of this project's own, as a text.
#[cfg(feature = "gguf")]
fn gguf_text(gguf: &Gguf<'_>, key: &str) -> Result<Option<String>> {
    match gguf.value(&joined(&["nanoembed.", key])?) {
        None => Ok(None),
        Some(Value::Text(text)) => copied(text).map(Some),
        Some(Value::Bool(truth)) => copied(if truth { "true" } else { "false" }).map(Some),
        Some(_) => Err(Error::without_offset(ErrorKind::BadMetadata)),
    }
}
