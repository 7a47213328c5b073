//! The folder `.nanoembed`, in which a folder of texts keeps its own index, and the key of its user.
//!
//! Such a folder may have come with the texts, out of a repository or an archive, and with it an index
//! that somebody has forged. So indices in it have names that contain a key, which is in the user's
//! folder of all other indices and in no other place. One that was made without the key is never opened.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use nanoembed::files::user_folders::create_private;

/// The name of the folder.
pub(crate) const OWN_FOLDER: &str = ".nanoembed";

/// The file in it that keeps it out of repositories.
const IGNORE: &str = ".gitignore";

/// The bytes of a key.
const KEY: usize = 16;

/// The folder of `root`'s own indices; `None` if it has none, or a link in that place.
pub(super) fn existing(root: &Path) -> Option<PathBuf> {
    let folder = root.join(OWN_FOLDER);
    folder.symlink_metadata().is_ok_and(|there| there.is_dir()).then_some(folder)
}

/// Creates the folder of `root`'s own indices, if it is not there.
pub(super) fn create(root: &Path) -> io::Result<()> {
    let folder = root.join(OWN_FOLDER);
    if folder.symlink_metadata().is_ok_and(|there| !there.is_dir()) {
        let message = format!("{} is a link or a file: remove it", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
    }
    create_private(&folder)?;
    match File::create_new(folder.join(IGNORE)) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes the folder if there is nothing of anybody in it. If that fails, it stays.
pub(super) fn remove_empty(folder: &Path) {
    let Ok(entries) = folder.read_dir() else { return };
    if entries.flatten().all(|entry| entry.file_name() == IGNORE) {
        let _ = fs::remove_file(folder.join(IGNORE));
        let _ = fs::remove_dir(folder);
    }
}

/// The key of the user whose indices are in `store`; `None` if there is none.
pub(super) fn key(store: &Path) -> Option<[u8; KEY]> {
    read(&mut File::open(path(store)).ok()?).ok()?
}

/// The key of the user whose indices are in `store`, which is made if there is none.
pub(super) fn made_key(store: &Path) -> io::Result<[u8; KEY]> {
    create_private(store)?;
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path(store))?;
    // Of two processes at once, one makes it.
    match file.lock() {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
        _ => {}
    }
    if let Some(key) = read(&mut file)? {
        return Ok(key);
    }
    let random = [0, 1].map(|at| RandomState::new().hash_one(at).to_le_bytes());
    let mut key = [0; KEY];
    key.copy_from_slice(random.as_flattened());
    file.set_len(0)?;
    file.write_all(&key)?;
    Ok(key)
}

fn path(store: &Path) -> PathBuf {
    store.join("key")
}

/// The key in a file; `None` if there is none, as when its process was killed.
fn read(file: &mut File) -> io::Result<Option<[u8; KEY]>> {
    let mut bytes = Vec::new();
    file.take(KEY as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes.try_into().ok())
}
