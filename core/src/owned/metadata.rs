//! Texts that files keep under keys of their metadata.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::error::Result;
use crate::error::{Error, ErrorKind};
use crate::event::Value;
use crate::format::amb::Amb;
use crate::limit::joined;
use crate::limit::{copied, filled};
use crate::source::ModelSource;
use crate::source::amb_config_value;
use crate::text::json::unescape;

/// The text under a key: of a `.weights` file's metadata, an `.amb` file's configuration, or, with
/// `nanoembed.` before it, of a GGUF file.
///
/// # Errors
///
/// [`BadMetadata`](crate::ErrorKind::BadMetadata) if it is no text;
/// [`NoMemory`](crate::ErrorKind::NoMemory).
pub(super) fn text<'f>(source: &ModelSource<'f>, key: &str) -> Result<Option<Cow<'f, str>>> {
    match source {
        ModelSource::Embd(embd) => Ok(embd.metadata_value(key).map(Cow::Borrowed)),
        ModelSource::Amb(amb) => Ok(amb_text(amb, key)?.map(Cow::Owned)),
        ModelSource::Gguf(gguf) => match gguf.value(&joined(&["nanoembed.", key])?) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(Cow::Borrowed(text))),
            Some(Value::Bool(truth)) => Ok(Some(if truth { "true" } else { "false" }.into())),
            Some(_) => Err(Error::without_offset(ErrorKind::BadMetadata)),
        },
    }
}

/// A member of an `.amb` file's configuration as a text, escapes resolved.
fn amb_text(amb: &Amb<'_>, key: &str) -> Result<Option<String>> {
    let Some(spelling) = amb_config_value(amb, key) else { return Ok(None) };
    let mut room = filled(spelling.len(), 0)?;
    let text = unescape(spelling, &mut room);
    let text = text.ok_or(Error::without_offset(ErrorKind::BadMetadata))?;
    copied(text).map(Some)
}
