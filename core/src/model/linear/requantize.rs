//! Matrices requantised to signed bytes with a scale per row and group, for the fastest kernels.

use super::{Linear, MAX_GROUPS, TOO_SMALL};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::finite::check_finite;
use crate::kernel::groups::BUILT_IN;
use crate::model::parallel::split_off;
use crate::model::run::Run;
use crate::model::weights::{Matrix, MatrixEncoding, Weights};
use crate::quant::int8::{CodeRange, groups};

/// The offset at which the memory of a [`Requantized`] source begins: no file is that long.
pub(in crate::model) const MEMORY: u64 = 1 << 63;

/// A source of tensors, and the memory that holds the tensors requantised by
/// [`Transformer::requantize`](crate::model::Transformer::requantize).
#[derive(Clone, Copy, Debug)]
pub struct Requantized<'a, W> {
    weights: W,
    memory: &'a [u8],
}

impl<'a, W: Weights> Requantized<'a, W> {
    /// `weights` with which a model was opened, and the memory that
    /// [`Transformer::requantize`](crate::model::Transformer::requantize) has filled since, or
    /// none.
    pub const fn new(weights: W, memory: &'a [u8]) -> Self {
        Self { weights, memory }
    }
}

impl<W: Weights> Weights for Requantized<'_, W> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>> {
        self.weights.matrix(name)
    }

    // The model has many calls: not inlining saves half a kilobyte of a WebAssembly module.
    #[inline(never)]
    fn bytes<'t>(&'t self, offset: u64, length: usize, tile: &'t mut [u8]) -> Result<&'t [u8]> {
        let Some(start) = offset.checked_sub(MEMORY) else {
            return self.weights.bytes(offset, length, tile);
        };
        usize::try_from(start)
            .ok()
            .and_then(|start| self.memory.get(start..start.checked_add(length)?))
            .ok_or(Error::new(offset, ErrorKind::OutOfBounds))
    }

    fn borrows(&self) -> bool {
        self.weights.borrows()
    }

    fn values(&self, number: u32, first: u64, out: &mut [f32]) -> Result<()> {
        self.weights.values(number, first, out)
    }
}

/// Returns true if requantising changes a linear layer.
pub(in crate::model) fn gains(linear: &Linear) -> bool {
    BUILT_IN && !linear.takes_codes() && groups(linear.weight.cols) <= MAX_GROUPS
}

/// The sizes of a matrix's codes and of its scales in bytes.
pub(in crate::model) fn sizes(rows: usize, cols: usize) -> Option<(usize, usize)> {
    let scales = rows.checked_mul(groups(cols))?.checked_mul(4)?;
    Some((rows.checked_mul(cols)?, scales))
}

/// Requantises matrices in order.
pub(in crate::model) struct Coder<'a, 'r, W: ?Sized, P: ?Sized> {
    pub(in crate::model) run: &'a Run<'r, W, P>,
    /// The inverses of the columns' scales, if there are any, and room for a row.
    pub(in crate::model) scratch: &'a mut [f32],
    /// The rest of the memory, and its offset.
    pub(in crate::model) memory: &'a mut [u8],
    pub(in crate::model) offset: u64,
}

impl<'a, W: Weights + ?Sized, P: ?Sized> Coder<'a, '_, W, P> {
    /// The next `length` bytes of the memory, and their offset.
    fn take(&mut self, length: usize) -> Result<(&'a mut [u8], u64)> {
        let bytes = split_off(&mut self.memory, length).ok_or(TOO_SMALL)?;
        let offset = self.offset;
        self.offset = offset.checked_add(length as u64).ok_or(TOO_SMALL)?;
        Ok((bytes, offset))
    }

    /// Writes the column scales and leaves their inverses in the scratch memory; returns their
    /// offset. Errors are reported at `place`, the offset of the weights.
    pub(in crate::model) fn columns(&mut self, scales: &[f32], place: u64) -> Result<u64> {
        let (bytes, offset) = self.take(scales.len().checked_mul(4).ok_or(TOO_SMALL)?)?;
        let inverses = self.scratch.get_mut(..scales.len()).ok_or(TOO_SMALL)?;
        for ((scale, inverse), bytes) in
            scales.iter().zip(inverses).zip(bytes.as_chunks_mut::<4>().0)
        {
            if !scale.is_normal() {
                return Err(Error::new(place, ErrorKind::BadScale));
            }
            *bytes = scale.to_le_bytes();
            *inverse = 1.0 / *scale;
        }
        Ok(offset)
    }

    /// Quantises some rows of a linear layer, divided by the column scales if there are any, and
    /// updates their location: the layer then has only these rows.
    pub(in crate::model) fn code(
        &mut self,
        linear: &mut Linear,
        (first, rows): (usize, usize),
        columns: Option<u64>,
    ) -> Result<()> {
        let Linear { weight: matrix, bias, .. } = linear;
        let cols = matrix.cols;
        let groups = groups(cols);
        let width = cols.checked_div(groups).unwrap_or(0).max(1);
        let (codes, scales) = sizes(rows, cols).ok_or(TOO_SMALL)?;
        let (codes, offset) = self.take(codes)?;
        let (scales, scale_offset) = self.take(scales)?;
        let (inverses, rest) = self.scratch.split_at_mut_checked(cols).ok_or(TOO_SMALL)?;
        let row = rest.get_mut(..cols).ok_or(TOO_SMALL)?;
        let places = codes.chunks_exact_mut(cols.max(1)).zip(scales.chunks_exact_mut(groups * 4));
        for (index, (codes, scales)) in places.enumerate() {
            self.run.read_converted(matrix, first + index, row, &mut [])?;
            // Codes cannot represent NaN.
            if check_finite(row).is_err() {
                let has_scales =
                    matches!(matrix.encoding, MatrixEncoding::Block(_) | MatrixEncoding::I8);
                let kind = if has_scales { ErrorKind::BadScale } else { ErrorKind::NotFinite };
                return Err(Error::new(matrix.offset, kind));
            }
            if columns.is_some() {
                row.iter_mut().zip(&*inverses).for_each(|(value, inverse)| *value *= inverse);
            }
            let parts = row.chunks_exact(width).zip(codes.chunks_exact_mut(width));
            for ((row, codes), bytes) in parts.zip(scales.as_chunks_mut::<4>().0) {
                let (mut scale, mut sum) = ([0.0], [0.0]);
                let limit = CodeRange::Narrow.limit(row);
                (self.run.kernels.quantize_groups)(row, width, limit, codes, &mut scale, &mut sum);
                let [scale] = scale;
                if !scale.is_finite() {
                    return Err(Error::new(matrix.offset, ErrorKind::BadScale));
                }
                *bytes = scale.to_le_bytes();
            }
        }
        *matrix = Matrix {
            encoding: MatrixEncoding::I8,
            rows,
            cols,
            offset,
            bytes: codes.len() as u64,
            scale_offset,
            groups,
            column_offset: columns,
            zero_offset: 0,
        };
        let start = bias.encoding.row_bytes(first).unwrap_or(0);
        bias.offset = bias.offset.saturating_add(start as u64);
        Ok(())
    }
}
