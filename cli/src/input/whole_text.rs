//! The whole text of a file.

use std::path::Path;

use nanoembed::ErrorKind;
use nanoembed::files::BYTE_ORDER_MARK;

use super::read;
use crate::error::{Error, Result, name_of};

/// More than any model reads.
const MOST_BYTES: u64 = 64 << 20;

/// The text of a file, or of stdin (`-`), without a byte order mark and the line break at its end.
pub(crate) fn whole_text(path: &Path) -> Result<String> {
    let name = name_of(path);
    let bytes = read(path, MOST_BYTES)?;
    let refuse = |kind, message: String| Error::input(kind, message).at(name.clone());
    if bytes.len() as u64 > MOST_BYTES {
        return Err(refuse(ErrorKind::OverLimit, format!("a text has at most {MOST_BYTES} bytes")));
    }
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    let text = str::from_utf8(bytes).map_err(|error| {
        let message = "the text is not UTF-8".to_owned();
        refuse(ErrorKind::InvalidUtf8, message).at_byte(error.valid_up_to() as u64)
    })?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}
