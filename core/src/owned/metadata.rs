//! Texts that files keep under keys of their metadata.

use alloc::borrow::Cow;
#[cfg(feature = "amb")]
use alloc::string::String;

use crate::error::Result;
#[cfg(any(feature = "amb", feature = "gguf"))]
use crate::error::{Error, ErrorKind};
#[cfg(feature = "gguf")]
use crate::event::Value;
#[cfg(feature = "amb")]
use crate::format::amb::Amb;
#[cfg(feature = "gguf")]
use crate::limit::joined;
#[cfg(feature = "amb")]
use crate::limit::{copied, filled};
use crate::model::ModelSource;
#[cfg(feature = "amb")]
use crate::model::amb_config_value;
#[cfg(feature = "amb")]
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
        #[cfg(feature = "embd")]
        ModelSource::Embd(embd) => Ok(embd.metadata_value(key).map(Cow::Borrowed)),
        #[cfg(feature = "amb")]
        ModelSource::Amb(amb) => Ok(amb_text(amb, key)?.map(Cow::Owned)),
        #[cfg(feature = "gguf")]
        ModelSource::Gguf(gguf) => match gguf.value(&joined(&["nanoembed.", key])?) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(Cow::Borrowed(text))),
            Some(Value::Bool(truth)) => Ok(Some(if truth { "true" } else { "false" }.into())),
            Some(_) => Err(Error::without_offset(ErrorKind::BadMetadata)),
        },
    }
}

/// A member of an `.amb` file's configuration as a text, escapes resolved.
#[cfg(feature = "amb")]
fn amb_text(amb: &Amb<'_>, key: &str) -> Result<Option<String>> {
    let Some(spelling) = amb_config_value(amb, key) else { return Ok(None) };
    let mut room = filled(spelling.len(), 0)?;
    let text = unescape(spelling, &mut room);
    let text = text.ok_or(Error::without_offset(ErrorKind::BadMetadata))?;
    copied(text).map(Some)
}
