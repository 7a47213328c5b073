//! A file of settings in JSON, of which one entry is ours.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;

use nanoembed::files::new_file::NewFile;
use nanoembed::files::whole_file;
use serde_json::{Map, Value};

use crate::error::{Error, Result, name_of};

/// The settings in a file.
pub(super) struct Settings {
    path: PathBuf,
    is_file: bool,
    root: Map<String, Value>,
}

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Added,
    Replaced,
    Removed,
    None,
}

impl Settings {
    /// Reads a file that need not be there.
    pub(super) fn read(path: PathBuf) -> Result<Self> {
        let text = match whole_file::read_text(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(Error::reading(name_of(&path), &error)),
        };
        let root = match text.as_deref().map(str::trim) {
            None | Some("") => Map::new(),
            Some(text) => serde_json::from_str(text).map_err(|error| {
                let message = format!("the settings are no JSON object: {error}");
                Error::bad_input(message).at(name_of(&path)).with_hint(
                    "nothing was changed; `nanoembed install AGENT --print` shows what to add by \
                     hand, to files with comments, too",
                )
            })?,
        };
        Ok(Self { path, is_file: text.is_some(), root })
    }

    /// Sets an entry of the object `member`, or removes it. Everything else stays, in its order.
    pub(super) fn set(
        &mut self,
        member: &'static str,
        name: &str,
        entry: Option<Value>,
    ) -> Result<Change> {
        let no_object = || {
            Error::bad_input(format!("`{member}` is no object: nothing was changed"))
                .at(name_of(&self.path))
        };
        let Some(entry) = entry else {
            let Some(entries) = self.root.get_mut(member) else { return Ok(Change::None) };
            let entries = entries.as_object_mut().ok_or_else(no_object)?;
            return Ok(match entries.shift_remove(name) {
                Some(_) => Change::Removed,
                None => Change::None,
            });
        };
        let entries = self.root.entry(member).or_insert_with(|| Map::new().into());
        let entries = entries.as_object_mut().ok_or_else(no_object)?;
        if entries.get(name) == Some(&entry) {
            return Ok(Change::None);
        }
        Ok(match entries.insert(name.to_owned(), entry) {
            Some(_) => Change::Replaced,
            None => Change::Added,
        })
    }

    /// Writes what has changed. Returns the copy of the file that was there.
    pub(super) fn write(self, change: Change) -> Result<Option<PathBuf>> {
        if change == Change::None {
            return Ok(None);
        }
        let failed = |error: io::Error| Error::writing(name_of(&self.path), &error);
        let saved = self.is_file.then(|| self.save()).transpose()?;
        let mut file = NewFile::create(&self.path, false)?;
        writeln!(file, "{:#}", Value::from(self.root)).map_err(failed)?;
        file.commit()?;
        Ok(saved)
    }

    /// Copies the file, with its permissions.
    fn save(&self) -> Result<PathBuf> {
        let mut name = OsString::from(&self.path);
        name.push(".bak");
        let path = PathBuf::from(name);
        fs::copy(&self.path, &path).map_err(|error| Error::writing(name_of(&path), &error))?;
        Ok(path)
    }
}
