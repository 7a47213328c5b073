//! Zeros of which memory is taken where they are written: a file's place before its parts arrive.

use std::io;
#[cfg(target_os = "wasi")]
use std::io::ErrorKind::OutOfMemory;
use std::ops::{Deref, DerefMut};

#[cfg(not(target_os = "wasi"))]
use memmap2::MmapMut;

use crate::files::mapped_file::MappedFile;

/// Zeroed memory whose pages are allocated on first use. WebAssembly maps nothing, and all of it is
/// allocated there.
pub(crate) struct Zeros {
    #[cfg(not(target_os = "wasi"))]
    bytes: MmapMut,
    #[cfg(target_os = "wasi")]
    bytes: Vec<u8>,
}

impl Zeros {
    /// So many of them, and one at least.
    #[cfg(not(target_os = "wasi"))]
    pub(crate) fn new(length: usize) -> io::Result<Self> {
        MmapMut::map_anon(length.max(1)).map(|bytes| Self { bytes })
    }

    /// So many of them.
    #[cfg(target_os = "wasi")]
    pub(crate) fn new(length: usize) -> io::Result<Self> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| OutOfMemory)?;
        bytes.resize(length, 0);
        Ok(Self { bytes })
    }

    /// The bytes as a read-only map.
    pub(crate) fn finish(self) -> io::Result<MappedFile> {
        #[cfg(not(target_os = "wasi"))]
        return self.bytes.make_read_only().map(MappedFile::Map);
        #[cfg(target_os = "wasi")]
        return Ok(MappedFile::Read(self.bytes));
    }
}

impl Deref for Zeros {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Zeros {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}
