//! JSON files as trees of values.

use std::fmt::Display;
use std::path::Path;

use nanoembed_core::ErrorKind;
use serde_json::Value;

use crate::error::{Error, Result, name_of};
use crate::files::whole_file;

/// A JSON file; `None` if there is none.
pub(crate) fn read_json(path: &Path) -> Result<Option<Value>> {
    Ok(read_json_text(path)?.map(|(value, _)| value))
}

/// A JSON file and its text; `None` if there is none.
pub(crate) fn read_json_text(path: &Path) -> Result<Option<(Value, String)>> {
    let bytes = match whole_file::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::reading(name_of(path), &error)),
    };
    let bad = |error: &dyn Display| {
        let message = format!("not valid JSON: {error}");
        Error::input(ErrorKind::BadMetadata, message).at(path.display())
    };
    let value = serde_json::from_slice(&bytes).map_err(|error| bad(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| bad(&error))?;
    Ok(Some((value, text)))
}
