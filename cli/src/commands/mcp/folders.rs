//! The folders that agents may search.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result, name_of};

/// Folders, and all that is in them.
pub(in crate::commands) struct Folders(Vec<PathBuf>);

impl Folders {
    pub(in crate::commands) fn new(folders: &[PathBuf]) -> Result<Self> {
        let present = [PathBuf::from(".")];
        let folders = if folders.is_empty() { &present } else { folders };
        let found = folders.iter().map(|folder| {
            let path = folder.canonicalize();
            let path = path.map_err(|error| Error::reading(name_of(folder), &error))?;
            if path.is_dir() {
                Ok(path)
            } else {
                Err(Error::usage("is no folder").at(name_of(folder)))
            }
        });
        found.collect::<Result<_>>().map(Self)
    }

    /// All of them.
    pub(in crate::commands) fn all(&self) -> &[PathBuf] {
        &self.0
    }

    /// A file or folder in one of them; a relative path is looked for in each.
    pub(super) fn find(&self, path: &str) -> Result<PathBuf> {
        let path = Path::new(path);
        let mut there = self.0.iter().filter_map(|folder| folder.join(path).canonicalize().ok());
        let is_within = |path: &PathBuf| self.0.iter().any(|folder| path.starts_with(folder));
        there.find(is_within).ok_or_else(|| {
            let names: Vec<String> = self.0.iter().map(|folder| name_of(folder)).collect();
            Error::not_found(format!("there is no such file or folder in {}", names.join(", ")))
                .at(name_of(path))
        })
    }
}
