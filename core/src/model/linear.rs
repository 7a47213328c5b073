//! Rows of weights from where they lie to where they are multiplied.

use half::{bf16, f16};

use super::weights::{Encoding, Matrix, Weights};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{Floats, Kernels, Product, Strides};

/// A linear layer: weights `[out, in]` and a bias `[out]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Linear {
    pub(super) weight: Matrix,
    pub(super) bias: Matrix,
}

impl Linear {
    pub(super) const EMPTY: Self = Self { weight: Matrix::EMPTY, bias: Matrix::EMPTY };
}

/// Scratch memory of one job for bringing weights in.
#[derive(Debug)]
pub(super) struct Staging<'a> {
    /// For biases and the weights of layer norms.
    pub(super) vector: &'a mut [f32],
    /// For rows of weights converted to f32.
    pub(super) converted: &'a mut [f32],
    /// For bytes that cannot be borrowed.
    pub(super) tile: &'a mut [u8],
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// x · Wᵀ + bias for the rows `first..first + count` of a linear layer.
///
/// Element (t, r) of the output lies at `t · strides.token + (r − first) · strides.row`.
#[allow(clippy::too_many_arguments)] // a linear layer has these
pub(super) fn apply(
    weights: &(impl Weights + ?Sized),
    kernels: &Kernels,
    linear: &Linear,
    (first, count): (usize, usize),
    x: &[f32],
    out: &mut [f32],
    strides: Strides,
    staging: &mut Staging<'_>,
) -> Result<()> {
    let Staging { vector, converted, tile } = staging;
    let bias = vector.get_mut(..count).ok_or(TOO_SMALL)?;
    read_vector(weights, &linear.bias, first, bias, tile)?;
    let matrix = &linear.weight;
    let mut row = 0;
    while row < count {
        let rows = rows_at_once(weights, matrix, count - row, converted.len(), tile.len())?;
        let bytes = read_rows(weights, matrix, first + row, rows, tile)?;
        let values = match matrix.encoding {
            Encoding::F32 => Floats::Bytes(bytes),
            _ => {
                let values = converted.get_mut(..rows * matrix.cols).ok_or(TOO_SMALL)?;
                convert(matrix, bytes, values);
                let scales = Scales { weights, matrix };
                scales.apply(first + row, values)?;
                Floats::Values(values)
            }
        };
        let bias = bias.get(row..row + rows).ok_or(TOO_SMALL)?;
        let out = out.get_mut(row * strides.row..).ok_or(TOO_SMALL)?;
        (kernels.product_f32)(Product::new(x, values, bias, matrix.cols, out, strides)?);
        row += rows;
    }
    Ok(())
}

/// How many of the next `left` rows fit the scratch memory; at least 1.
fn rows_at_once(
    weights: &(impl Weights + ?Sized),
    matrix: &Matrix,
    left: usize,
    converted: usize,
    tile: usize,
) -> Result<usize> {
    let mut rows = left;
    if !weights.borrows() {
        rows = rows.min(tile.checked_div(matrix.row_bytes()).unwrap_or(0));
    }
    if matrix.encoding != Encoding::F32 {
        rows = rows.min(converted.checked_div(matrix.cols).unwrap_or(0));
    }
    if rows == 0 { Err(TOO_SMALL) } else { Ok(rows) }
}

/// The bytes of `rows` rows from row `first` on.
fn read_rows<'t>(
    weights: &'t (impl Weights + ?Sized),
    matrix: &Matrix,
    first: usize,
    rows: usize,
    tile: &'t mut [u8],
) -> Result<&'t [u8]> {
    let row_bytes = matrix.row_bytes();
    let overflow = Error::new(matrix.offset, ErrorKind::SizeOverflow);
    let start = first.checked_mul(row_bytes).ok_or(overflow)? as u64;
    let length = rows.checked_mul(row_bytes).ok_or(overflow)?;
    weights.bytes(matrix.offset.checked_add(start).ok_or(overflow)?, length, tile)
}

/// Reads `out.len()` elements of a vector of floats from element `first` on.
pub(super) fn read_vector(
    weights: &(impl Weights + ?Sized),
    vector: &Matrix,
    first: usize,
    out: &mut [f32],
    tile: &mut [u8],
) -> Result<()> {
    let size = vector.encoding.row_bytes(1).unwrap_or(0);
    let length = size.checked_mul(out.len());
    let start = size.checked_mul(first).and_then(|start| vector.offset.checked_add(start as u64));
    let (Some(start), Some(length)) = (start, length) else {
        return Err(Error::new(vector.offset, ErrorKind::SizeOverflow));
    };
    convert(vector, weights.bytes(start, length, tile)?, out);
    Ok(())
}

/// Reads one row of a table as f32.
pub(super) fn read_row(
    weights: &(impl Weights + ?Sized),
    table: &Matrix,
    row: usize,
    out: &mut [f32],
    tile: &mut [u8],
) -> Result<()> {
    if row >= table.rows || out.len() != table.cols {
        return Err(Error::without_offset(ErrorKind::InvalidArgument));
    }
    convert(table, read_rows(weights, table, row, 1, tile)?, out);
    Scales { weights, matrix: table }.apply(row, out)
}

/// Converts stored elements to f32, without scales.
fn convert(matrix: &Matrix, bytes: &[u8], out: &mut [f32]) {
    fn each<const N: usize>(bytes: &[u8], out: &mut [f32], element: impl Fn([u8; N]) -> f32) {
        for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<N>().0) {
            *out = element(*bytes);
        }
    }
    match matrix.encoding {
        Encoding::F32 => each(bytes, out, f32::from_le_bytes),
        Encoding::F16 => each(bytes, out, |b| f16::from_le_bytes(b).to_f32()),
        Encoding::BF16 => each(bytes, out, |b| bf16::from_le_bytes(b).to_f32()),
        Encoding::I8 => each(bytes, out, |b| f32::from(i8::from_le_bytes(b))),
        Encoding::U8 => each(bytes, out, |[b]: [u8; 1]| f32::from(b)),
    }
}

/// The scales and zero points of a quantised matrix.
struct Scales<'w, W: ?Sized> {
    weights: &'w W,
    matrix: &'w Matrix,
}

impl<W: Weights + ?Sized> Scales<'_, W> {
    /// Turns codes of whole rows from row `first` on, already in f32, into values.
    fn apply(&self, first: usize, values: &mut [f32]) -> Result<()> {
        let Matrix { encoding, cols, scale_offset, zero_offset, .. } = *self.matrix;
        if !matches!(encoding, Encoding::I8 | Encoding::U8) || cols == 0 {
            return Ok(());
        }
        for (row, values) in values.chunks_exact_mut(cols).enumerate() {
            let row = (first + row) as u64;
            let scale = f32::from_le_bytes(self.at(scale_offset, row)?);
            if !scale.is_finite() {
                return Err(Error::new(scale_offset, ErrorKind::BadScale));
            }
            let zero = match encoding {
                Encoding::U8 => f32::from(self.at::<1>(zero_offset, row)?[0]),
                _ => 0.0,
            };
            for value in values {
                *value = (*value - zero) * scale;
            }
        }
        Ok(())
    }

    /// Element `row` of a vector of `N`-byte elements at `offset`.
    fn at<const N: usize>(&self, offset: u64, row: u64) -> Result<[u8; N]> {
        let place = row.checked_mul(N as u64).and_then(|start| offset.checked_add(start));
        let place = place.ok_or(Error::new(offset, ErrorKind::SizeOverflow))?;
        let mut tile = [0; N];
        let bytes = self.weights.bytes(place, N, &mut tile)?;
        bytes.try_into().map_err(|_| Error::new(place, ErrorKind::SourceChanged))
    }
}
