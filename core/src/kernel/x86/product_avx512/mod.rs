//! x · Wᵀ in f32 with AVX-512, in one of three ways depending on the number of tokens; the weights
//! are read in place.
//!
//! | tokens | way | a vector holds |
//! |---|---|---|
//! | 1 … 8 | [`direct`] | weights, assembled just before they are multiplied |
//! | 9 … 16, and up to 64 if few lanes are idle | [`lanes`] | tokens, transposed once for all rows |
//! | others, or few rows | [`panels`] | weights, transposed once for all tokens |
//!
//! An output is the sum of its parts of the columns in order, bias first, each part `(s₀ + s₂) +
//! (s₁ + s₃)` of the sums over every fourth column: the result does not depend on the number of
//! tokens.

mod direct;
mod lanes;
mod panels;

use core::arch::x86_64::*;

use super::vector::first_lanes;
use super::width::LANES;
use crate::kernel::product::{FloatOperand, Product};

/// Columns that are summed up before they are added to the output.
const PART_COLS: usize = 384;
/// With fewer rows, transposing tokens does not pay.
const LANES_ROWS: usize = 48;

/// See [`Product`].
pub(super) fn product_f32(product: Product<'_>) {
    // SAFETY: a table is returned only after its CPU features were detected.
    unsafe {
        match product.tokens {
            0..=direct::MOST_TOKENS => direct::product(product),
            tokens if product.rows >= LANES_ROWS && lanes::suit(tokens) => lanes::product(product),
            _ => panels::product(product, 0),
        }
    }
}

/// The part of a product that is computed at a time.
#[derive(Clone, Copy)]
struct Part {
    row: usize,
    /// At most the rows of a tile.
    rows: usize,
    column: usize,
    cols: usize,
}

/// Calls `$body` with every [`Part`] of `$rows` rows from `$first` on, the columns of a row first.
macro_rules! for_parts {
    ($product:expr, $first:expr, $rows:expr, $part:ident => $body:block) => {{
        let mut row = $first;
        while row < $product.rows {
            let mut column = 0;
            while column < $product.cols {
                let $part = Part {
                    row,
                    rows: ($product.rows - row).min($rows),
                    column,
                    cols: ($product.cols - column).min(PART_COLS),
                };
                $body
                column += PART_COLS;
            }
            row += $rows;
        }
    }};
}

use for_parts;

/// The start of a product's weights.
fn weights(product: &Product<'_>) -> *const f32 {
    match product.weights {
        FloatOperand::Bytes(bytes) => bytes.as_ptr().cast(),
        FloatOperand::Values(values) => values.as_ptr(),
    }
}

/// The starts of the `N` rows of a part; rows beyond the last are the last.
///
/// # Safety
///
/// The part must be inside the product and have at least one row.
#[inline(always)]
unsafe fn places<const N: usize>(product: &Product<'_>, part: Part) -> [*const f32; N] {
    let weights = weights(product);
    core::array::from_fn(|index| {
        let row = part.row + index.min(part.rows - 1);
        // SAFETY: `Product::new` checked that the weights hold rows × cols numbers.
        unsafe { weights.add(row * product.cols + part.column) }
    })
}

/// A mask of the columns after the last whole quad; `None` if there are none.
#[inline(always)]
fn rest_mask(cols: usize) -> Option<__mmask8> {
    let rest = cols % 4;
    (rest != 0).then_some((1 << rest) - 1)
}

/// The sums of the quarters of four vectors: lane 4 · j + v is that of quarter j of vector v.
#[target_feature(enable = "avx512f")]
#[inline]
fn add_quads([a, b, c, d]: [__m512; 4]) -> __m512 {
    let pairs =
        |a, b| _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)));
    let (ab, cd) = (pairs(a, b), pairs(c, d));
    _mm512_add_ps(
        _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd)),
        _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)),
    )
}

/// Adds the sums of a part to the bias, or to the output after the first part; a vector per token,
/// a lane per row.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn store<const T: usize>(
    product: &mut Product<'_>,
    part: Part,
    token: usize,
    totals: &[__m512; T],
) {
    let strides = product.strides;
    let mask: __mmask16 = first_lanes(part.rows);
    // SAFETY: `Product::new` checked that the bias has `rows` elements and that the last element of
    // the output is inside it; token + T ≤ tokens, and the mask covers the part's rows alone.
    unsafe {
        let bias = _mm512_maskz_loadu_ps(mask, product.bias.as_ptr().add(part.row));
        let place = token * strides.token + part.row * strides.row;
        let out = product.out.as_mut_ptr().add(place);
        if strides.row == 1 {
            for (t, &total) in totals.iter().enumerate() {
                let out = out.add(t * strides.token);
                let base = if part.column == 0 { bias } else { _mm512_maskz_loadu_ps(mask, out) };
                _mm512_mask_storeu_ps(out, mask, _mm512_add_ps(base, total));
            }
            return;
        }
        let mut lanes = [[0.0_f32; LANES]; T];
        for (lanes, &total) in lanes.iter_mut().zip(totals) {
            let total = if part.column == 0 { _mm512_add_ps(bias, total) } else { total };
            _mm512_storeu_ps(lanes.as_mut_ptr(), total);
        }
        for r in 0..part.rows {
            for (t, lanes) in lanes.iter().enumerate() {
                let place = out.add(t * strides.token + r * strides.row);
                *place = if part.column == 0 { lanes[r] } else { *place + lanes[r] };
            }
        }
    }
}
