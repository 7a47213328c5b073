//! Products in integers: 7-bit activations with 8-bit weights, one group of columns at a time.

use super::tiles::tiles;
use super::{CodeBuffers, Linear, Output, Staging, TOO_SMALL};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::ProductI8;
use crate::kernel::finite::check_finite;
use crate::kernel::integer::{ActivationCodes, ProductBase, WeightRows};
use crate::kernel::pieces::{pieces, pieces_mut};
use crate::model::run::Run;
use crate::model::weights::{Matrix, Weights};

/// Quantised activations: codes `[tokens][cols]`, zeros and scales `[groups][tokens]`.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct QuantizedInput<'a> {
    codes: &'a [u8],
    zeros: &'a [u8],
    scales: &'a [f32],
    tokens: usize,
    cols: usize,
}

impl<W: Weights + ?Sized, P: ?Sized> Run<'_, W, P> {
    /// The product in integers, one group of columns at a time.
    pub(in crate::model) fn integer_rows(
        &self,
        linear: &Linear,
        x: QuantizedInput<'_>,
        output: Output<'_>,
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let Output { first, rows: count, out, strides } = output;
        let matrix = &linear.weight;
        let Matrix { cols, groups, .. } = *matrix;
        if x.cols != cols {
            return Err(TOO_SMALL);
        }
        let width = cols.checked_div(groups).unwrap_or(0);
        // Rows are read into the tile, so anything else must be read before.
        let borrows = self.weights.borrows();
        let kept = if borrows { 1 } else { groups };
        let tile = staging.tile.len();
        let room = staging.scales.len().checked_div(kept).unwrap_or(0);
        let most = |left| self.rows_at_once(matrix, left, tile).min(room);
        tiles(count, most, |row, rows| {
            let out = out.get_mut(row * strides.row..).ok_or(TOO_SMALL)?;
            let kept_scales = staging.scales.get_mut(..rows * kept).ok_or(TOO_SMALL)?;
            if !borrows {
                for (group, scales) in kept_scales.chunks_exact_mut(rows).enumerate() {
                    self.read_scales(matrix, first + row, group, scales, staging.tile)?;
                }
            }
            let codes = self.read_rows(matrix, first + row, rows, staging.tile)?;
            for group in 0..groups {
                let at = if borrows { 0 } else { group * rows };
                let scales = kept_scales.get_mut(at..at + rows).ok_or(TOO_SMALL)?;
                if borrows {
                    self.read_scales(matrix, first + row, group, scales, &mut [])?;
                }
                let base = match group {
                    0 => ProductBase::Bias(staging.vector.get(row..row + rows).ok_or(TOO_SMALL)?),
                    _ => ProductBase::Output,
                };
                let from = group * width;
                let summaries = self.summaries_of(linear, group, first + row, rows);
                let codes = codes.get(from..).ok_or(TOO_SMALL)?;
                let w = WeightRows { codes, stride: cols, scales, summaries };
                let tokens = group * x.tokens..(group + 1) * x.tokens;
                let x = ActivationCodes {
                    codes: x.codes.get(from..).ok_or(TOO_SMALL)?,
                    stride: cols,
                    scales: x.scales.get(tokens.clone()).ok_or(TOO_SMALL)?,
                    zeros: x.zeros.get(tokens).ok_or(TOO_SMALL)?,
                };
                let product = ProductI8::new(x, w, width, base, &mut *out, strides)?;
                (self.kernels.product_i8)(product);
            }
            Ok(())
        })
    }

    /// Quantises activations for a linear layer that [takes codes](Linear::takes_codes).
    pub(in crate::model) fn quantize<'b>(
        &self,
        matrix: &Matrix,
        x: &[f32],
        buffers: CodeBuffers<'b>,
        staging: &mut Staging<'_>,
    ) -> Result<QuantizedInput<'b>> {
        let Matrix { cols, groups, column_offset, .. } = *matrix;
        let invalid = Error::without_offset(ErrorKind::InvalidArgument);
        let tokens = x.len().checked_div(cols).ok_or(invalid)?;
        let columns = match column_offset {
            None => &[],
            Some(offset) => {
                let columns = staging.vector.get_mut(..cols).ok_or(TOO_SMALL)?;
                let vector = Matrix { rows: 1, cols, offset, ..Matrix::EMPTY };
                self.read_vector(&vector, 0, columns, staging.tile)?;
                check_finite(columns).map_err(|_| Error::new(offset, ErrorKind::BadScale))?;
                &*columns
            }
        };
        let CodeBuffers { codes, zeros, scales } = buffers;
        let codes = codes.get_mut(..tokens * cols).ok_or(TOO_SMALL)?;
        let zeros = zeros.get_mut(..tokens * groups).ok_or(TOO_SMALL)?;
        let scales = scales.get_mut(..tokens * groups).ok_or(TOO_SMALL)?;
        let width = cols.checked_div(groups).filter(|&width| width > 0).ok_or(invalid)?;
        let rows = pieces(x, cols).zip(pieces_mut(codes, cols));
        for (token, (x, codes)) in rows.enumerate() {
            let parts = pieces(x, width).zip(pieces_mut(codes, width));
            for (group, (x, codes)) in parts.enumerate() {
                let columns = columns.get(group * width..(group + 1) * width).unwrap_or_default();
                let (scale, zero) = (self.kernels.quantize)(x, columns, codes);
                let at = group * tokens + token;
                if let (Some(s), Some(z)) = (scales.get_mut(at), zeros.get_mut(at)) {
                    (*s, *z) = (scale, zero);
                }
            }
        }
        Ok(QuantizedInput { codes, zeros, scales, tokens, cols })
    }
}
