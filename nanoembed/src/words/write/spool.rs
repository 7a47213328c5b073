//! An unnamed temporary file for vectors, until all words, which precede them, are known.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::Path;

use nanoembed_core::limit;

use super::fifu::Stop;
use crate::files::scratch;

/// Rows of f32 in the order in which they came.
pub struct RowSpool(BufWriter<File>);

impl RowSpool {
    /// An empty spool in the folder of `output`, where there should be room for as much again.
    pub fn beside(output: &Path) -> io::Result<Self> {
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = match folder {
            Some(folder) => tempfile::tempfile_in(folder)?,
            None if output == Path::new("-") => scratch::create()?,
            None => tempfile::tempfile_in(".")?,
        };
        Ok(Self(BufWriter::with_capacity(1 << 20, file)))
    }

    pub fn push(&mut self, row: &[f32]) -> io::Result<()> {
        row.iter().try_for_each(|value| self.0.write_all(&value.to_le_bytes()))
    }

    /// Calls `on_bytes` with all bytes that were pushed, piece by piece.
    pub fn replay(self, mut on_bytes: impl FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop> {
        let mut file = self.0.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        let mut piece = limit::filled(1 << 20, 0)?;
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(()),
                read => on_bytes(&piece[..read])?,
            }
        }
    }
}
