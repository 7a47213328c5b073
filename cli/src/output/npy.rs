//! Embeddings as one `.npy` array of f32, `[texts, width]`.
//!
//! The header says how many rows there are, which is known only at the end: rows wait in memory, and beyond some
//! megabytes in an unnamed temporary file.

use std::io::{self, Read, Seek, Write};

use npyz::WriterBuilder;
use tempfile::SpooledTempFile;

/// Rows in memory before they go to a temporary file.
const MEMORY_BYTES: usize = 64 << 20;

/// Rows of an array that is not yet complete.
pub(crate) struct Rows {
    rows: SpooledTempFile,
    count: u64,
    width: usize,
}

impl Rows {
    pub(crate) fn new(width: usize) -> Self {
        Self { rows: SpooledTempFile::new(MEMORY_BYTES), count: 0, width }
    }

    pub(crate) fn push(&mut self, row: &[f32]) -> io::Result<()> {
        let bytes: Vec<u8> = row.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.count += 1;
        self.rows.write_all(&bytes)
    }

    /// Writes the whole array.
    pub(crate) fn finish(mut self, to: &mut impl Write) -> io::Result<()> {
        self.rows.rewind()?;
        let mut array = npyz::WriteOptions::<f32>::new()
            .default_dtype()
            .shape(&[self.count, self.width as u64])
            .writer(to)
            .begin_nd()?;
        let mut row = vec![0; self.width * 4];
        for _ in 0..self.count {
            self.rows.read_exact(&mut row)?;
            array.extend(row.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)))?;
        }
        array.finish()
    }
}
