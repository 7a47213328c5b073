//! Arrays that wait in a temporary file until everything before them in a file is known.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;

use crate::error::{Failure, Result};
use crate::mapped::Mapped;

/// Takes arrays, one after the other.
pub(crate) struct Spool {
    file: BufWriter<File>,
    written: usize,
}

/// Where an array lies.
pub(crate) type Place = Range<usize>;

impl Spool {
    pub(crate) fn new() -> Result<Self> {
        let file = tempfile::tempfile().map_err(|error| failed(&error))?;
        Ok(Self { file: BufWriter::with_capacity(1 << 20, file), written: 0 })
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Place> {
        self.file.write_all(bytes).map_err(|error| failed(&error))?;
        let start = self.written;
        self.written += bytes.len();
        Ok(start..self.written)
    }

    /// All arrays, in memory as far as they are looked at.
    pub(crate) fn finish(self) -> Result<Mapped> {
        let file = self.file.into_inner().map_err(|error| failed(&error.into_error()))?;
        let rewound = (|| {
            use std::io::Seek;
            let mut file = file;
            file.rewind()?;
            Mapped::of(file)
        })();
        rewound.map_err(|error| failed(&error))
    }
}

fn failed(error: &std::io::Error) -> Failure {
    Failure::writing("a temporary file", error)
}
