//! A JSON file of a folder, whose settings core reads.

use std::path::Path;

use nanoembed_core::owned::folder::FolderFault;
use nanoembed_core::text::json::{Fault, Value};

use super::texts::explained;
use crate::error::{Error, Result, name_of};
use crate::files::whole_file;

/// The text of a file, and the name that messages give to it.
pub(crate) struct JsonText {
    name: String,
    text: String,
}

impl JsonText {
    /// Reads the file at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let name = name_of(path);
        match whole_file::read_text(path) {
            Ok(text) => Ok(Self { name, text }),
            Err(error) => Err(Error::reading(name, &error)),
        }
    }

    /// The value that the text spells.
    pub(crate) fn value(&self) -> Result<Value<'_>> {
        Value::parse(&self.text, 0).map_err(|error| self.failure(Fault::from_error(error)))
    }

    /// An error with the setting and its value.
    pub(crate) fn failure(&self, fault: Fault<'_>) -> Error {
        explained(&FolderFault::new(&self.name, fault), &self.text, &self.name)
    }
}
