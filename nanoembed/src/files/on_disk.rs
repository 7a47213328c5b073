//! A file that is read where it is needed, not mapped.

use std::fs::File;
#[cfg(target_os = "wasi")]
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use nanoembed_core::read::ReadAt;
use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::error::{Error, Result, name_of};
use crate::files::whole_file;

/// An open file and its size.
#[derive(Debug)]
pub struct OnDisk {
    file: File,
    bytes: u64,
}

impl OnDisk {
    /// Opens a regular file.
    pub fn open(path: &Path) -> Result<Self> {
        let opened = whole_file::open(path)
            .and_then(|file| file.metadata().map(|there| Self { bytes: there.len(), file }));
        opened.map_err(|error| Error::reading(name_of(path), &error))
    }
}

impl ReadAt for OnDisk {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize, CoreError> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(&self.file, destination, offset);
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(&self.file, destination, offset);
        // Nobody moves the position in between: programs there have one thread.
        #[cfg(target_os = "wasi")]
        let read =
            (&self.file).seek(SeekFrom::Start(offset)).and_then(|_| (&self.file).read(destination));
        read.map_err(|_| CoreError::new(offset, ErrorKind::ReadFailed))
    }
}
