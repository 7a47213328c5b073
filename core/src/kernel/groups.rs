//! Operands of products with weights in small groups: ggml's blocks, and every other low-bit
//! layout.
//!
//! Unpacked, all those layouts are the same: unsigned codes, and for each group of 16 or 32 columns
//! a scale and a minimum, `w = scale · code + minimum`. Activations are quantised to signed bytes,
//! with a scale for each token and group. The sum of a group's products is an exact i32; groups are
//! added up in f32 in order and nothing is contracted, so every table computes the same bits.

use super::product::{Strides, reach};
use crate::error::{Error, ErrorKind, Result};

/// True if the build supports models with weights in groups; otherwise the kernels for them are
/// never called.
pub(crate) const BUILT_IN: bool = cfg!(any(feature = "blocks-ggml", feature = "scaled-codes"));

/// Rows that are unpacked and multiplied together.
pub const TILE_ROWS: usize = 16;

/// Activations in groups of columns: `x[t][c] = (codes[t · cols + c] as i8) · scales[t · groups + c
/// / group]`.
#[derive(Clone, Copy, Debug)]
pub struct GroupedCodes<'a> {
    /// Signed bytes −127 … 127, `[tokens][cols]`.
    pub codes: &'a [u8],
    /// `[tokens][groups]`.
    pub scales: &'a [f32],
    /// The sums of each group's dequantised values, `[tokens][groups]`.
    pub sums: &'a [f32],
}

/// Up to [`TILE_ROWS`] rows of weights: `w[r][c] = codes[r · cols + c] · scales[g · TILE_ROWS + r] + minima[…]`,
/// `g = c / group`.
#[derive(Clone, Copy, Debug)]
pub struct GroupedRows<'a> {
    /// Unsigned bytes, `[rows][cols]`.
    pub codes: &'a [u8],
    /// `[groups][TILE_ROWS]`, regardless of the number of rows.
    pub scales: &'a [f32],
    /// `[groups][TILE_ROWS]`.
    pub minima: &'a [f32],
}

/// x · Wᵀ + bias over groups: `out(t, r) = bias[r] + Σ_g (scale[g][r] · (x_scale[t][g] · Σ_c code ·
/// x_code) + minimum[g][r] · x_sum[t][g])`.
#[derive(Debug)]
pub struct ProductGroups<'a> {
    pub(super) x: GroupedCodes<'a>,
    pub(super) w: GroupedRows<'a>,
    pub(super) bias: &'a [f32],
    pub(super) out: &'a mut [f32],
    pub(super) tokens: usize,
    pub(super) cols: usize,
    pub(super) group: usize,
    pub(super) strides: Strides,
}

impl<'a> ProductGroups<'a> {
    /// A product over `cols` columns in groups of `group`, and `bias.len()` rows.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if `group` is not 16 or 32 or does not divide `cols`, if
    /// there are more than `TILE_ROWS` rows, or if the slices have inconsistent lengths.
    pub fn new(
        x: GroupedCodes<'a>,
        w: GroupedRows<'a>,
        bias: &'a [f32],
        (cols, group): (usize, usize),
        out: &'a mut [f32],
        strides: Strides,
    ) -> Result<Self> {
        let rows = bias.len();
        let tokens = x.codes.len().checked_div(cols).unwrap_or(0);
        let groups = cols.checked_div(group).unwrap_or(0);
        let whole =
            |count: usize, size: usize, length: usize| count.checked_mul(size) == Some(length);
        let fits = matches!(group, 16 | 32)
            && cols > 0
            && cols.is_multiple_of(group)
            && rows <= TILE_ROWS
            && whole(tokens, cols, x.codes.len())
            && whole(tokens, groups, x.scales.len())
            && whole(tokens, groups, x.sums.len())
            && whole(rows, cols, w.codes.len())
            && whole(groups, TILE_ROWS, w.scales.len())
            && whole(groups, TILE_ROWS, w.minima.len())
            && reach(tokens, strides.token, rows, strides.row).is_some_and(|n| n <= out.len());
        if !fits {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        Ok(Self { x, w, bias, out, tokens, cols, group, strides })
    }
}
