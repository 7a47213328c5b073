//! NumPy's `.npy` files.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | `\x93NUMPY`, version 1.0 |
//! | 8 | 2 | length of the header, little-endian |
//! | 10 | | the header: a Python dictionary, blanks, a line's end; data begins at a multiple of 64 |
//!
//! Source: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use std::io::{self, Seek, Write};

use tempfile::SpooledTempFile;

/// Data begins at a multiple of this.
const ALIGNMENT: usize = 64;

/// Rows in memory before they go to a temporary file.
const MEMORY_BYTES: usize = 64 << 20;

/// NumPy's name for little-endian f32.
pub(crate) const F32: &str = "<f4";

/// Writes the header of an array in C order. `element` is NumPy's name for its type.
pub(crate) fn write_header(to: &mut impl Write, element: &str, shape: &[u64]) -> io::Result<()> {
    let mut dims = String::new();
    for dim in shape {
        dims += &format!("{dim}, ");
    }
    let header = format!("{{'descr': '{element}', 'fortran_order': False, 'shape': ({dims}), }}");
    let before = b"\x93NUMPY\x01\x00";
    let end = (before.len() + 2 + header.len() + 1).next_multiple_of(ALIGNMENT);
    let length = end - before.len() - 2;
    let bytes = u16::try_from(length).map_err(|_| io::Error::other("too many dimensions"))?;
    to.write_all(before)?;
    to.write_all(&bytes.to_le_bytes())?;
    writeln!(to, "{header:<width$}", width = length - 1)
}

/// Writes values of an array.
pub(crate) fn write_values(to: &mut impl Write, values: &[f32]) -> io::Result<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    to.write_all(&bytes)
}

/// Rows of an array that is not yet complete.
///
/// The header says how many there are, which is known only at the end: rows wait in memory, and
/// beyond some megabytes in an unnamed temporary file.
pub(crate) struct Rows {
    rows: SpooledTempFile,
    count: u64,
    width: usize,
    element: &'static str,
}

impl Rows {
    pub(crate) fn new(width: usize) -> Self {
        Self::with_element(F32, width)
    }

    /// Rows of elements of another type, as NumPy calls it.
    pub(crate) fn with_element(element: &'static str, width: usize) -> Self {
        Self { rows: SpooledTempFile::new(MEMORY_BYTES), count: 0, width, element }
    }

    pub(crate) fn push(&mut self, row: &[f32]) -> io::Result<()> {
        self.count += 1;
        write_values(&mut self.rows, row)
    }

    /// Adds a row by its bytes.
    pub(crate) fn push_bytes(&mut self, row: &[u8]) -> io::Result<()> {
        self.count += 1;
        self.rows.write_all(row)
    }

    /// Writes the whole array.
    pub(crate) fn finish(mut self, to: &mut impl Write) -> io::Result<()> {
        write_header(to, self.element, &[self.count, self.width as u64])?;
        self.rows.rewind()?;
        io::copy(&mut self.rows, to).map(drop)
    }
}
