//! Matrices of scaled codes as rows of f32, from bytes in memory or read in pieces to a tile.

use super::weights::{Matrix, Weights};
use crate::error::{Error, ErrorKind, Result};
use crate::quant::amb_block::{self, Bytes, Tensor};
use crate::tensor::ScaledCodes;

/// Dequantises the rows from row `first` on, as many as `values` holds.
pub(super) fn read_rows(
    weights: &(impl Weights + ?Sized),
    matrix: &Matrix,
    codes: ScaledCodes,
    first: usize,
    values: &mut [f32],
    tile: &mut [u8],
) -> Result<()> {
    let overflow = Error::new(matrix.offset, ErrorKind::SizeOverflow);
    let elements = matrix.rows.checked_mul(matrix.cols).ok_or(overflow)? as u64;
    let first = first.checked_mul(matrix.cols).ok_or(overflow)? as u64;
    let tensor = Tensor { codes, elements, bytes: matrix.bytes };
    let mut data = Data { weights, offset: matrix.offset, tile };
    amb_block::dequantize(&tensor, first, values, &mut data)
}

/// The data of one tensor.
struct Data<'a, W: ?Sized> {
    weights: &'a W,
    offset: u64,
    tile: &'a mut [u8],
}

impl<W: Weights + ?Sized> Bytes for Data<'_, W> {
    fn bytes(&mut self, offset: u64, length: usize) -> Result<&[u8]> {
        let overflow = Error::new(self.offset, ErrorKind::SizeOverflow);
        let offset = self.offset.checked_add(offset).ok_or(overflow)?;
        self.weights.bytes(offset, length, self.tile)
    }

    fn most(&self) -> usize {
        if self.weights.borrows() { usize::MAX } else { self.tile.len().max(8) }
    }
}
