//! A file's bytes: mapped, or read where mapping makes no sense.
//!
//! A mapped file that another program cuts short while it is used makes Unix send SIGBUS, which
//! ends the process unless the program handles it. Files that this crate writes are never changed
//! in place but replaced, so a map of the old one stays whole.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::error::{Error, Result, name_of};
use crate::files::whole_file;

/// Files up to this size are read: that is as fast as mapping them, and safe from being cut.
const READ_UP_TO: u64 = 64 << 10;

/// True if files can be mapped: WebAssembly has no memory but its own.
const CAN_MAP: bool = cfg!(not(target_os = "wasi"));

/// A whole file in memory.
pub enum MappedFile {
    Map(Mmap),
    Read(Vec<u8>),
}

impl MappedFile {
    /// Opens `path`, a regular file; `-` reads all of stdin.
    pub fn open(path: &Path) -> Result<Self> {
        let opened = if path == Path::new("-") { Self::stdin() } else { Self::file(path) };
        opened.map_err(|error| Error::reading(name_of(path), &error))
    }

    /// Opens a file that another file names.
    pub fn open_regular(path: &Path) -> Result<Self> {
        Self::file(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Error::not_found("this part of the model is not there").at(name_of(path))
            }
            _ => Error::reading(name_of(path), &error),
        })
    }

    fn stdin() -> io::Result<Self> {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes)?;
        Ok(Self::Read(bytes))
    }

    fn file(path: &Path) -> io::Result<Self> {
        Self::from_file(whole_file::open(path)?)
    }

    /// The content of an open file: as many bytes as it tells, as checks of its length hold for those.
    pub fn from_file(file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if metadata.len() <= READ_UP_TO || !CAN_MAP {
            let mut bytes = Vec::new();
            file.take(metadata.len()).read_to_end(&mut bytes)?;
            return Ok(Self::Read(bytes));
        }
        // SAFETY: the map is read-only and private to this process. If another program writes to
        // the file, the bytes may change under us: every format is read by checked accesses that
        // expect hostile bytes. If it cuts the file, the system sends SIGBUS (see above).
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self::Map(map))
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Map(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}
