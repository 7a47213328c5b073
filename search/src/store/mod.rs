//! Indices of folders in files: a segment that is replaced as a whole, and a journal of the vectors
//! that are made for the next one.
//!
//! `NAME.index` is mapped, and replaced rather than changed. `NAME.journal` is locked by the process that
//! makes the next index. It has the vectors made so far, and is empty when the index is complete.

mod folder;
mod journal;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nanoembed::digest::digest;
use nanoembed::files::mapped_file::MappedFile;
use nanoembed::files::new_file::NewFile;
use nanoembed::files::user_folders::create_private;
use nanoembed::{Error, Observer, Result, Silent};

use crate::segment::{Identity, Segment};
pub use folder::cache_folder;
pub(crate) use journal::Journal;

/// The place of a folder's index.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// The indexed folder, as an absolute path without links.
    pub(crate) root: PathBuf,
    identity: Identity,
    index: PathBuf,
    journal: PathBuf,
}

impl Stored {
    /// The index in `store` for the files of `folder`: that of the nearest folder that has one among
    /// itself and those that contain it, or else its own, which is yet to be made.
    pub(crate) fn in_folder(
        store: &Path,
        folder: &Path,
        fingerprint: u128,
        dimensions: usize,
    ) -> Result<Self> {
        let root = folder.canonicalize();
        let root = root.map_err(|error| Error::reading(folder.display(), &error))?;
        let all = root.ancestors().map(|root| Self::at(store, root, fingerprint, dimensions));
        let existing = all.into_iter().find(|stored| stored.index.is_file());
        Ok(existing.unwrap_or_else(|| Self::at(store, &root, fingerprint, dimensions)))
    }

    fn at(store: &Path, root: &Path, fingerprint: u128, dimensions: usize) -> Self {
        let identity = Identity {
            fingerprint,
            root: digest(root.as_os_str().as_encoded_bytes()),
            dimensions: u32::try_from(dimensions).unwrap_or(u32::MAX),
        };
        let of = [fingerprint.to_le_bytes(), identity.root.to_le_bytes()].concat();
        let name = format!("{:032x}", digest(&of));
        let path = |ending| store.join(format!("{name}.{ending}"));
        let (index, journal) = (path("index"), path("journal"));
        Self { root: root.to_owned(), identity, index, journal }
    }

    pub(crate) const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The index; `None` if there is none, or a damaged one.
    pub(crate) fn open(&self) -> Option<Segment> {
        // A link could lead to a file that others change.
        let is_file = fs::symlink_metadata(&self.index).is_ok_and(|there| there.is_file());
        let bytes = is_file.then(|| MappedFile::open(&self.index).ok()).flatten()?;
        Segment::parse(bytes.into(), &self.identity)
    }

    /// Replaces the index.
    pub(crate) fn replace(&self, bytes: &[u8]) -> Result<()> {
        let mut file = NewFile::create(&self.index, true)?;
        let written = file.write_all(bytes);
        written.map_err(|error| Error::writing(self.index.display(), &error))?;
        file.commit()
    }

    /// Locks the journal, after another process that has locked it. `observer` may end the wait.
    pub(crate) fn lock(&self, observer: &dyn Observer) -> Result<Journal> {
        let failed = |error| Error::writing(self.journal.display(), &error);
        if let Some(folder) = self.journal.parent() {
            // Indices hold the texts of files.
            create_private(folder).map_err(failed)?;
        }
        Journal::open(&self.journal, &self.identity, observer).map_err(failed)
    }

    /// The bytes of the index and the time when it was written; `None` if there is none.
    pub(crate) fn written(&self) -> Option<(u64, SystemTime)> {
        let there = self.index.metadata().ok()?;
        Some((there.len(), there.modified().ok()?))
    }

    /// Removes the index and empties the journal; returns false if there was no index.
    pub(crate) fn remove(&self) -> Result<bool> {
        let there = self.index.exists();
        if there || self.journal.exists() {
            let mut journal = self.lock(&Silent)?;
            let failed = |error| Error::writing(self.index.display(), &error);
            if there {
                fs::remove_file(&self.index).map_err(failed)?;
            }
            journal.clear().map_err(failed)?;
        }
        Ok(there)
    }
}
