//! Operands of the integer matrix operations, checked once in their constructors.
//!
//! Activations are quantised at run time to 7 bits, 0 … 127, weights to signed 8 bits, −127 … 127:
//! a pair of products is at most 2 · 127 · 127 = 32,258 and fits 16 bits, so `vpmaddubsw` and
//! WASM's relaxed dot product cannot saturate, and every table computes the same integers. A code
//! of −128 breaks this: some tables read it as it is, and the only harm is a different sum.

use core::ops::Range;

use super::product::{Strides, reach};
use super::summary::RowSummary;
use crate::error::{Error, ErrorKind, Result};

/// The largest activation code.
pub const MAX_CODE: u8 = 127;

/// The code of probability 1.
pub const PROBABILITY_ONE: f32 = 32_767.0;

/// Quantised activations: `x[t][c] = (codes[t · stride + c] − zeros[t]) · scales[t]`, codes 0 …
/// `MAX_CODE`.
#[derive(Clone, Copy, Debug)]
pub struct ActivationCodes<'a> {
    /// The codes of all tokens.
    pub codes: &'a [u8],
    /// Bytes from one token to the next.
    pub stride: usize,
    /// One scale per token.
    pub scales: &'a [f32],
    /// The code of 0, one per token.
    pub zeros: &'a [u8],
}

/// Weights of 8 bits: `w[r][c] = codes[r · stride + c] · scales[r]`, codes signed, −127 … 127.
#[derive(Clone, Copy, Debug)]
pub struct WeightRows<'a> {
    /// The codes of all rows, in the file's layout.
    pub codes: &'a [u8],
    /// Bytes from one row to the next.
    pub stride: usize,
    /// One scale per row.
    pub scales: &'a [f32],
    /// One summary per row, computed by the table that multiplies them; if empty, the table
    /// computes them for this product.
    pub summaries: &'a [RowSummary],
}

/// The initial value of a product's output.
#[derive(Clone, Copy, Debug)]
pub enum ProductBase<'a> {
    /// One number per row.
    Bias(&'a [f32]),
    /// The contents of the output: the product of another part of the columns.
    Output,
}

/// x · Wᵀ with 8-bit weights and 7-bit activations:
/// `out(t, r) = base + (Σ_c (x[t][c] − zero[t]) · w[r][c]) · (x_scale[t] · w_scale[r])`.
///
/// The sum is an i32 and exact for up to 2¹⁷ columns; then one conversion, two multiplications and
/// one addition in f32.
#[derive(Debug)]
pub struct ProductI8<'a> {
    pub(super) x: ActivationCodes<'a>,
    pub(super) w: WeightRows<'a>,
    pub(super) base: ProductBase<'a>,
    pub(super) out: &'a mut [f32],
    #[allow(dead_code, reason = "for tables with tiles, of which a target may have none")]
    pub(super) tokens: usize,
    #[allow(dead_code, reason = "as above")]
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) strides: Strides,
}

/// The largest number of columns of a product, so that its sums fit 31 bits.
pub const MAX_COLS: usize = 1 << 17;

impl<'a> ProductI8<'a> {
    /// A product over `cols` columns with a token and a row for each of their scales.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if a slice is too short, or there are more than `MAX_COLS`
    /// columns.
    pub fn new(
        x: ActivationCodes<'a>,
        w: WeightRows<'a>,
        cols: usize,
        base: ProductBase<'a>,
        out: &'a mut [f32],
        strides: Strides,
    ) -> Result<Self> {
        let (tokens, rows) = (x.scales.len(), w.scales.len());
        let holds = |slice: &[u8], count, stride| {
            stride >= cols && reach(count, stride, cols, 1).is_some_and(|n| n <= slice.len())
        };
        let bias = match base {
            ProductBase::Bias(bias) => bias.len() == rows,
            ProductBase::Output => true,
        };
        let fits = (1..=MAX_COLS).contains(&cols)
            && x.zeros.len() == tokens
            && bias
            && (w.summaries.is_empty() || w.summaries.len() == rows)
            && holds(x.codes, tokens, x.stride)
            && holds(w.codes, rows, w.stride)
            && reach(tokens, strides.token, rows, strides.row).is_some_and(|n| n <= out.len());
        if !fits {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        Ok(Self { x, w, base, out, tokens, rows, cols, strides })
    }

    /// The summaries of some rows; if there are none, they are computed into `made`, which has room
    /// for them.
    #[allow(dead_code, reason = "for tables that want summaries, of which a target may have none")]
    pub(super) fn summaries<'s>(
        &self,
        rows: Range<usize>,
        summarize_row: fn(&[u8]) -> RowSummary,
        made: &'s mut [RowSummary],
    ) -> &'s [RowSummary]
    where
        'a: 's,
    {
        if let Some(known) = self.w.summaries.get(rows.clone()) {
            return known;
        }
        let count = rows.len();
        for (row, summary) in rows.zip(made.iter_mut()) {
            let codes = self.w.codes.get(row * self.w.stride..).unwrap_or_default();
            *summary = summarize_row(codes.get(..self.cols).unwrap_or_default());
        }
        made.get(..count).unwrap_or_default()
    }
}

/// A · B of 16-bit integers: `out[m][n] = (Σ_k a[m][k] · b[k][n]) · columns[n] · rows[m]`, sums in
/// i32.
///
/// Both are little-endian bytes with `k` in pairs: `a` as `[m][k]`, `b` as `[k / 2][n][2]`. An odd
/// `k` is completed by a pair whose second half is zero in `b`. The caller keeps the codes small
/// enough that sums fit 31 bits.
#[derive(Debug)]
pub struct MultiplyI16<'a> {
    pub(super) a: &'a [u8],
    pub(super) a_stride: usize,
    pub(super) b: &'a [u8],
    pub(super) b_stride: usize,
    pub(super) rows: &'a [f32],
    pub(super) columns: &'a [f32],
    pub(super) out: &'a mut [f32],
    pub(super) out_stride: usize,
    pub(super) pairs: usize,
}

impl<'a> MultiplyI16<'a> {
    /// A product of `a` (rows `a_stride` pairs apart) and `b` (lines of pairs `b_stride` pairs
    /// apart) over `pairs` pairs, with a row and a column for each of their factors, into rows
    /// `out_stride` elements apart.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if a slice is too short.
    pub fn new(
        (a, a_stride): (&'a [u8], usize),
        (b, b_stride): (&'a [u8], usize),
        pairs: usize,
        rows: &'a [f32],
        columns: &'a [f32],
        (out, out_stride): (&'a mut [f32], usize),
    ) -> Result<Self> {
        let (m, n) = (rows.len(), columns.len());
        let holds = |slice: usize, count, stride, length| {
            stride >= length && reach(count, stride, length, 1).is_some_and(|size| size <= slice)
        };
        let fits = holds(a.len() / 4, m, a_stride, pairs)
            && holds(b.len() / 4, pairs, b_stride, n)
            && holds(out.len(), m, out_stride, n);
        if !fits {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        Ok(Self { a, a_stride, b, b_stride, rows, columns, out, out_stride, pairs })
    }
}
