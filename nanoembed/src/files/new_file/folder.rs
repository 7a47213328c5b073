//! An output folder that is either whole or not there.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Listed, abandoned_files, builder, folder_of, unfinished};
use crate::error::{Error, Result};

/// A folder being filled, which gets its name when it is complete.
pub struct NewFolder {
    folder: TempDir,
    /// Its lock, by which others see that somebody fills it, where folders have one.
    _lock: Option<File>,
    /// Ends after the folder.
    _listed: Listed,
    target: PathBuf,
}

impl NewFolder {
    /// Starts to fill what shall become `target`, which is not there yet, or empty.
    pub fn create(target: &Path) -> Result<Self> {
        check_absent(target)?;
        let failed = |error: io::Error| Error::writing(target.display(), &error);
        let mut unfinished = unfinished();
        let beside = folder_of(target);
        abandoned_files::remove(beside, &unfinished);
        let prefix = abandoned_files::prefix();
        let mut builder = builder(0o777);
        let builder = builder.prefix(&prefix).suffix(abandoned_files::SUFFIX);
        let folder = builder.tempdir_in(beside).map_err(failed)?;
        let lock = File::open(folder.path()).ok().filter(|folder| folder.try_lock().is_ok());
        unfinished.push(folder.path().to_owned());
        drop(unfinished);
        let listed = Listed(folder.path().to_owned());
        Ok(Self { folder, _lock: lock, _listed: listed, target: target.to_owned() })
    }

    /// Its path until it is complete.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives the folder its name.
    pub fn commit(self) -> Result<()> {
        let failed = |error: io::Error| Error::writing(self.target.display(), &error);
        let mut unfinished = unfinished();
        if self.target.is_dir() {
            std::fs::remove_dir(&self.target).map_err(failed)?;
        }
        std::fs::rename(self.folder.path(), &self.target).map_err(failed)?;
        unfinished.retain(|unfinished| unfinished != self.folder.path());
        let _ = self.folder.keep();
        Ok(())
    }
}

/// Refuses an existing target that is not an empty folder: nothing in it is replaced.
pub fn check_absent(target: &Path) -> Result<()> {
    let is_empty = |folder: &Path| folder.read_dir().is_ok_and(|mut it| it.next().is_none());
    match target.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::writing(target.display(), &error)),
        Ok(there) if there.is_dir() && is_empty(target) => Ok(()),
        Ok(_) => {
            let there = io::ErrorKind::AlreadyExists.into();
            Err(Error::writing(target.display(), &there)
                .with_hint("a folder is not replaced: remove it, or name another"))
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A number that no process has.
    const NOBODY: u32 = i32::MAX as u32;

    fn left_in(folder: &Path, name: &str) -> PathBuf {
        let left = folder.join(format!(".nanoembed-{NOBODY}-{name}.part"));
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join("model.safetensors"), "half").unwrap();
        left
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_somebody_fills_is_not() {
        let beside = TempDir::new().unwrap();
        let abandoned = left_in(beside.path(), "abandoned");
        let filled = left_in(beside.path(), "filled");
        let lock = File::open(&filled).unwrap();
        lock.try_lock().unwrap();
        let folder = NewFolder::create(&beside.path().join("new")).unwrap();
        assert!(!abandoned.exists() && filled.exists());
        assert!(File::open(folder.path()).unwrap().try_lock().is_err());
        folder.commit().unwrap();
        assert!(beside.path().join("new").is_dir());
    }
}
