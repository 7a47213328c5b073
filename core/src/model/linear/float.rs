//! Products in f32.

use super::tiles::tiles;
use super::{Output, Staging, TOO_SMALL};
use crate::error::Result;
use crate::kernel::{FloatOperand, Product};
use crate::model::run::Run;
use crate::model::weights::{Matrix, MatrixEncoding, Weights};

/// Tokens that are multiplied with some rows at a time: all tokens of a long text would not stay in
/// the L2 cache until the next rows.
const TOKENS: usize = 256;

impl<W: Weights + ?Sized, P: ?Sized> Run<'_, W, P> {
    /// The product in f32; other weights are converted a few rows at a time.
    pub(super) fn float_rows(
        &self,
        matrix: &Matrix,
        x: &[f32],
        output: Output<'_>,
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let Output { first, rows: count, out, strides } = output;
        let is_f32 = matrix.encoding == MatrixEncoding::F32;
        let tile = staging.tile.len();
        let room = staging.converted.len().checked_div(matrix.cols).unwrap_or(0);
        let most = |left| {
            let rows = self.rows_at_once(matrix, left, tile);
            if is_f32 { rows } else { rows.min(room) }
        };
        tiles(count, most, |row, rows| {
            let weights = if is_f32 {
                FloatOperand::Bytes(self.read_rows(matrix, first + row, rows, staging.tile)?)
            } else {
                let values = staging.converted.get_mut(..rows * matrix.cols).ok_or(TOO_SMALL)?;
                self.read_converted(matrix, first + row, values, staging.tile)?;
                FloatOperand::Values(values)
            };
            let bias = staging.vector.get(row..row + rows).ok_or(TOO_SMALL)?;
            let out = out.get_mut(row * strides.row..).ok_or(TOO_SMALL)?;
            #[cfg(feature = "families")]
            Product::new(x, weights, bias, matrix.cols, out, strides)?
                .by_tokens(TOKENS, self.kernels.product_f32);
            #[cfg(not(feature = "families"))]
            (self.kernels.product_f32)(Product::new(x, weights, bias, matrix.cols, out, strides)?);
            Ok(())
        })
    }
}
