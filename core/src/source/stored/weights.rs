//! The weights of the file, read row by row.

use crate::error::{Error, ErrorKind, Result};
use crate::model::weights::{Matrix, Weights};
use crate::read::ReadAt;
use crate::tensor::TensorHeader;

/// Weights behind random access: every row is read into the tile that the model's workspace has.
#[derive(Clone, Copy, Debug)]
pub struct StoredWeights<S, F> {
    source: S,
    find: F,
}

impl<S: ReadAt, F: Fn(&str) -> Option<TensorHeader<'static>>> StoredWeights<S, F> {
    /// Weights in `source`, whose tensors `find` knows by name.
    pub const fn new(source: S, find: F) -> Self {
        Self { source, find }
    }
}

impl<S: ReadAt, F: Fn(&str) -> Option<TensorHeader<'static>>> Weights for StoredWeights<S, F> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>> {
        Matrix::find(name, &self.find)
    }

    fn bytes<'t>(&'t self, offset: u64, length: usize, tile: &'t mut [u8]) -> Result<&'t [u8]> {
        let end = offset.checked_add(length as u64);
        if end.is_none_or(|end| end > self.source.len()) {
            return Err(Error::new(offset, ErrorKind::OutOfBounds));
        }
        let tile =
            tile.get_mut(..length).ok_or(Error::without_offset(ErrorKind::BufferTooSmall))?;
        self.source.read_exact_at(offset, tile)?;
        Ok(tile)
    }

    fn borrows(&self) -> bool {
        false
    }
}
