//! A temporary file for arrays, until everything that precedes them in the output is known.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;

use crate::error::{Error, Result};
use crate::files::mapped_file::MappedFile;
use crate::files::scratch;

/// Takes arrays, one after the other.
pub struct Spool {
    file: BufWriter<File>,
    written: usize,
}

/// The range of an array in a spool.
pub type Place = Range<usize>;

impl Spool {
    pub fn new() -> Result<Self> {
        let file = scratch::create().map_err(|error| failed(&error))?;
        Ok(Self { file: BufWriter::with_capacity(1 << 20, file), written: 0 })
    }

    pub fn push(&mut self, bytes: &[u8]) -> Result<Place> {
        self.file.write_all(bytes).map_err(|error| failed(&error))?;
        let start = self.written;
        self.written += bytes.len();
        Ok(start..self.written)
    }

    /// All arrays, in memory as far as they are looked at.
    pub fn finish(self) -> Result<MappedFile> {
        let file = self.file.into_inner().map_err(|error| failed(&error.into_error()))?;
        let rewound = (|| {
            use std::io::Seek;
            let mut file = file;
            file.rewind()?;
            MappedFile::from_file(file)
        })();
        rewound.map_err(|error| failed(&error))
    }
}

fn failed(error: &std::io::Error) -> Error {
    Error::writing("a temporary file", error)
}
