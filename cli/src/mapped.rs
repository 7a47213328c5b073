//! A file's bytes: mapped, or read where mapping makes no sense.
//!
//! A mapped file that another program cuts short while it is used makes the system send SIGBUS; on
//! Unix that ends this process with a message and status 3 instead of a crash. Files that this
//! program writes are never changed in place but replaced, so a map of the old one stays whole.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::error::{Failure, Result, name_of};
use crate::whole_file;

/// Files up to this size are read: that is as fast as mapping them, and safe from being cut.
const READ_UP_TO: u64 = 64 << 10;

/// A whole file in memory.
pub(crate) enum Mapped {
    Map(Mmap),
    Read(Vec<u8>),
}

impl Mapped {
    /// Opens `path`, a regular file; `-` reads all of stdin.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let opened = if path == Path::new("-") { Self::stdin() } else { Self::file(path) };
        opened.map_err(|error| Failure::reading(name_of(path), &error))
    }

    /// Opens a file that another file names or brings along.
    pub(crate) fn open_regular(path: &Path) -> Result<Self> {
        Self::file(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Failure::not_found("this part of the model is not there").at(name_of(path))
            }
            _ => Failure::reading(name_of(path), &error),
        })
    }

    fn stdin() -> io::Result<Self> {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes)?;
        Ok(Self::Read(bytes))
    }

    fn file(path: &Path) -> io::Result<Self> {
        Self::of(whole_file::open(path)?)
    }

    /// The content of an open file.
    pub(crate) fn of(mut file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() <= READ_UP_TO {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            return Ok(Self::Read(bytes));
        }
        report_truncation();
        // SAFETY: the map is read-only and private to this process. If another program writes to
        // the file, the bytes may change under us: every format is read by checked accesses that
        // expect hostile bytes. If it cuts the file, the system's SIGBUS ends the process (see
        // above).
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self::Map(map))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Map(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

/// Ends the process with a word of explanation when a mapped file has been cut.
#[cfg(unix)]
fn report_truncation() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    const MESSAGE: &[u8] = b"error[502]: a file was cut short while it was being read\n";
    ONCE.call_once(|| {
        // SAFETY: the handler only calls `write` and `_exit`, both of which POSIX allows in signal
        // handlers.
        let _ = unsafe {
            signal_hook::low_level::register(libc::SIGBUS, || {
                libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
                libc::_exit(3);
            })
        };
    });
}

#[cfg(not(unix))]
fn report_truncation() {}
