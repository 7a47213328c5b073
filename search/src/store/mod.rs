//! Indices of folders in files: a segment that is replaced as a whole, and a journal of the vectors
//! that are made for the next one.
//!
//! `NAME.index` is mapped, and replaced rather than changed. `NAME.journal` is locked by the process that
//! makes the next index. It has the vectors made so far, and is empty when the index is complete.
//!
//! | file | role |
//! |---|---|
//! | `folder` | the folder of a user's indices |
//! | `own_folder` | the folder in which a folder of texts keeps its own |
//! | `journal` | vectors of the next index |

mod folder;
mod journal;
mod own_folder;

use std::fs;
use std::io::{self, Write as _};
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
pub(crate) use own_folder::OWN_FOLDER;

/// The indices that a user keeps for a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Store<'s> {
    /// The folder of those that are not in the folders of their texts.
    pub(crate) folder: &'s Path,
    pub(crate) fingerprint: u128,
    pub(crate) dimensions: usize,
}

/// The place of a folder's index.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// The indexed folder, as an absolute path without links.
    pub(crate) root: PathBuf,
    identity: Identity,
    /// The file of the index.
    pub(crate) index: PathBuf,
    journal: PathBuf,
    /// True if it is in the indexed folder.
    is_in_root: bool,
    /// The place where the folder may have had its index before.
    earlier: Option<Box<Self>>,
}

impl Store<'_> {
    /// The index for the files of `folder`: that of the nearest folder that has one among itself and
    /// those that contain it, or else its own, which is yet to be made.
    pub(crate) fn nearest(&self, folder: &Path) -> Result<Stored> {
        let root = without_links(folder)?;
        for root in root.ancestors() {
            let in_root = own_folder::existing(root).and_then(|_| own_folder::key(self.folder));
            let in_root = in_root.map(|key| self.in_root(root, key));
            let mut all = in_root.into_iter().chain([self.in_store(root)]);
            if let Some(stored) = all.find(Stored::exists) {
                return Ok(stored);
            }
        }
        Ok(self.in_store(&root))
    }

    /// The index of `folder` that is kept in the folder itself, or is yet to be made there.
    pub(crate) fn in_folder(&self, folder: &Path) -> Result<Stored> {
        let root = without_links(folder)?;
        let key = own_folder::made_key(self.folder);
        let key = key.map_err(|error| Error::writing(self.folder.display(), &error))?;
        let earlier = Some(Box::new(self.in_store(&root)));
        Ok(Stored { earlier, ..self.in_root(&root, key) })
    }

    /// The index of the folder `root` in the user's folder of indices.
    fn in_store(&self, root: &Path) -> Stored {
        let of = digest(root.as_os_str().as_encoded_bytes());
        self.stored(root, of, self.folder, false)
    }

    /// The index of the folder `root` in that folder.
    fn in_root(&self, root: &Path, key: [u8; 16]) -> Stored {
        let of = digest(&[root.as_os_str().as_encoded_bytes(), &key].concat());
        self.stored(root, of, &root.join(OWN_FOLDER), true)
    }

    fn stored(&self, root: &Path, of: u128, folder: &Path, is_in_root: bool) -> Stored {
        let identity = Identity {
            fingerprint: self.fingerprint,
            root: of,
            dimensions: u32::try_from(self.dimensions).unwrap_or(u32::MAX),
        };
        let of = [self.fingerprint.to_le_bytes(), identity.root.to_le_bytes()].concat();
        let name = format!("{:032x}", digest(&of));
        let path = |ending| folder.join(format!("{name}.{ending}"));
        let (index, journal) = (path("index"), path("journal"));
        Stored { root: root.to_owned(), identity, index, journal, is_in_root, earlier: None }
    }
}

impl Stored {
    pub(crate) const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// True if there is an index, which may be a damaged one. A link could lead to a file that others
    /// change: it is none.
    fn exists(&self) -> bool {
        self.index.symlink_metadata().is_ok_and(|there| there.is_file())
    }

    /// The index; `None` if there is none, or a damaged one.
    pub(crate) fn open(&self) -> Option<Segment> {
        let bytes = self.exists().then(|| MappedFile::open(&self.index).ok()).flatten()?;
        Segment::parse(bytes.into(), &self.identity)
    }

    /// The index that the folder had in another place.
    pub(crate) fn open_earlier(&self) -> Option<Segment> {
        self.earlier.as_ref()?.open()
    }

    /// Removes the index that the folder had in another place. If that fails, nobody looks for it.
    pub(crate) fn remove_earlier(&self) {
        let _ = self.earlier.as_ref().map(|earlier| earlier.remove());
    }

    /// Replaces the index.
    pub(crate) fn replace(&self, bytes: &[u8]) -> Result<()> {
        let failed = |error| Error::writing(self.index.display(), &error);
        remove_link(&self.index).map_err(failed)?;
        let mut file = NewFile::create(&self.index, true)?;
        let written = file.write_all(bytes);
        written.map_err(failed)?;
        file.commit()
    }

    /// Locks the journal, after another process that has locked it. `observer` may end the wait.
    pub(crate) fn lock(&self, observer: &dyn Observer) -> Result<Journal> {
        let failed = |error| Error::writing(self.journal.display(), &error);
        self.create_folder().map_err(failed)?;
        remove_link(&self.journal).map_err(failed)?;
        Journal::open(&self.journal, &self.identity, observer).map_err(failed)
    }

    /// Creates the folder of the index. Only its owner may open it, as indices hold the texts of files.
    fn create_folder(&self) -> io::Result<()> {
        match self.journal.parent() {
            _ if self.is_in_root => own_folder::create(&self.root),
            Some(folder) => create_private(folder),
            None => Ok(()),
        }
    }

    /// The bytes of the index and the time when it was written; `None` if there is none.
    pub(crate) fn written(&self) -> Option<(u64, SystemTime)> {
        let there = self.index.metadata().ok()?;
        Some((there.len(), there.modified().ok()?))
    }

    /// Removes the index and empties the journal; returns false if there was no index.
    pub(crate) fn remove(&self) -> Result<bool> {
        let there = self.exists();
        if there || self.journal.exists() {
            let mut journal = self.lock(&Silent)?;
            let failed = |error| Error::writing(self.index.display(), &error);
            if there {
                fs::remove_file(&self.index).map_err(failed)?;
            }
            journal.clear().map_err(failed)?;
            if self.is_in_root {
                drop(journal);
                // A process that waits for it may use it all the same.
                let _ = fs::remove_file(&self.journal);
                own_folder::remove_empty(&self.root.join(OWN_FOLDER));
            }
        }
        Ok(there)
    }
}

/// A folder as an absolute path without links.
fn without_links(folder: &Path) -> Result<PathBuf> {
    folder.canonicalize().map_err(|error| Error::reading(folder.display(), &error))
}

/// Removes what is at `path` if it is a link: nothing is written to the file that it leads to.
fn remove_link(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(there) if there.is_symlink() => fs::remove_file(path),
        _ => Ok(()),
    }
}
