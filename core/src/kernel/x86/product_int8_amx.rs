//! x · Wᵀ of 7-bit activations and 8-bit weights with AMX: tiles of 16 rows × 16 tokens, 64 columns
//! per instruction.
//!
//! One factor is loaded in place, the other is packed in the groups of four columns that `TDPBSSD`
//! takes as second factor: the one with fewer vectors. Tokens are packed once for all rows, as
//! differences to their code of zero. Sums then have rows where the output has tokens: they are
//! transposed when they are stored. In a product with no more rows than tokens, as in the heads of
//! attention, 32 rows at a time are packed instead.

use core::arch::x86_64::*;

use super::amx_tiles::{
    Factors, Next, STEP, Sums, TILE, configure, multiply_one, multiply_two, release,
};
use super::packed_tokens::PackedTokens;
use super::product_int8_avx512::{
    self, DIRECT_TOKENS, PANEL_COLS, PANEL_ROWS, Panel, from_zero, store,
};
use super::transpose::{load, transpose};
use super::vector::first_lanes;
use super::width::{BYTES, LANES};
use crate::kernel::integer::{ProductBase, ProductI8};

/// Rows, or tokens, that are multiplied together in place: two tiles.
const ROWS: usize = 2 * TILE;
/// Tokens that are packed together.
const TOKENS: usize = 4 * TILE;
/// The largest number of columns for which that many packed tokens fit the buffer.
const COLS: usize = 1536;

const _: () = assert!(COLS <= PANEL_COLS && ROWS == PANEL_ROWS);
const _: () = assert!(TOKENS <= PackedTokens::most_tokens(COLS) && STEP == BYTES);

/// See [`ProductI8`].
pub(super) fn product(mut product: ProductI8<'_>) {
    let in_tiles = product.tokens > DIRECT_TOKENS
        && product.rows >= ROWS
        && product.cols <= COLS
        && product.cols.is_multiple_of(STEP);
    if !in_tiles {
        return product_int8_avx512::product(product);
    }
    // SAFETY: a table is returned only after its CPU features were detected; as checked.
    unsafe {
        configure();
        if product.rows > product.tokens {
            by_packed_tokens(&mut product);
        } else {
            by_packed_rows(&mut product);
        }
        release();
    }
    let left = product.rows % ROWS;
    if left > 0 {
        product_int8_avx512::product(last_rows(product, left));
    }
}

/// The last `count` rows of a longer product.
fn last_rows(product: ProductI8<'_>, count: usize) -> ProductI8<'_> {
    let ProductI8 { x, mut w, base, out, tokens, rows, cols, strides } = product;
    let first = rows - count;
    w.codes = &w.codes[first * w.stride..];
    w.scales = &w.scales[first..];
    w.summaries = w.summaries.get(first..).unwrap_or_default();
    let base = match base {
        ProductBase::Bias(bias) => ProductBase::Bias(&bias[first..]),
        ProductBase::Output => ProductBase::Output,
    };
    let out = &mut out[first * strides.row..];
    ProductI8 { x, w, base, out, tokens, rows: count, cols, strides }
}

/// All rows except the last ones that do not fill [`ROWS`].
///
/// # Safety
///
/// The tiles must be configured; the columns must be a multiple of [`STEP`], at most [`COLS`].
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn by_packed_tokens(product: &mut ProductI8<'_>) {
    let mut packed = PackedTokens::new();
    let mut sums = Sums::ZERO;
    let (w, cols) = (product.w, product.cols);
    for token in (0..product.tokens).step_by(TOKENS) {
        let count = (product.tokens - token).min(TOKENS);
        // SAFETY: upheld by the caller; token + count ≤ tokens.
        unsafe { packed.fill::<true>(product, token, count) };
        for row in (0..=product.rows - ROWS).step_by(ROWS) {
            let mut next = match token {
                0 => next_rows(product, row, count.div_ceil(2 * TILE)),
                _ => Next::nothing(),
            };
            for first in (0..count).step_by(2 * TILE) {
                let count = (count - first).min(2 * TILE);
                let packed = packed.lines(first, cols);
                // SAFETY: the tiles are configured; these are packed, and row + ROWS ≤ rows.
                unsafe {
                    let factors = Factors {
                        rows: w.codes.as_ptr().add(row * w.stride),
                        stride: w.stride,
                        packed: [packed, packed.wrapping_add(TILE * cols)],
                        line: STEP,
                        cols,
                    };
                    if count > TILE {
                        multiply_two(factors, &mut next, &mut sums);
                    } else {
                        multiply_one(factors, &mut next, &mut sums);
                    }
                }
                // SAFETY: token + first + count ≤ tokens, row + ROWS ≤ rows.
                unsafe { store_by_rows(product, (token + first, count), row, &sums) };
            }
        }
    }
}

/// Stores the sums of 32 rows from `row` on, for up to 32 tokens each.
///
/// # Safety
///
/// `count` tokens from `token` on and 32 rows must exist.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn store_by_rows(
    product: &mut ProductI8<'_>,
    (token, count): (usize, usize),
    row: usize,
    sums: &Sums,
) {
    for (tile, halves) in sums.tiles.iter().enumerate() {
        for (half, sums) in halves.iter().enumerate().take(count.div_ceil(TILE)) {
            let (row, token) = (row + tile * TILE, token + half * TILE);
            let count = (count - half * TILE).min(TILE);
            // SAFETY: upheld by the caller.
            unsafe {
                if product.strides.token == 1 {
                    store_rows(product, (token, first_lanes(count)), row, load(sums));
                } else {
                    store(product, token, row, TILE, &transpose(load(sums))[..count]);
                }
            }
        }
    }
}

/// The rows of weights after those from `row` on, which take `calls` products.
fn next_rows(product: &ProductI8<'_>, row: usize, calls: usize) -> Next {
    let stride = product.w.stride;
    let place = product.w.codes.as_ptr().wrapping_add((row + ROWS) * stride);
    Next::new(place, ROWS * stride, calls, product.cols)
}

/// As [`by_packed_tokens`], for at least [`ROWS`] tokens.
///
/// # Safety
///
/// As for [`by_packed_tokens`]; there must be at least [`ROWS`] tokens.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn by_packed_rows(product: &mut ProductI8<'_>) {
    let mut panel = Panel::new();
    let mut sums = Sums::ZERO;
    let ProductI8 { x, tokens, cols, .. } = *product;
    for row in (0..=product.rows - ROWS).step_by(ROWS) {
        // SAFETY: row + ROWS ≤ rows; COLS ≤ PANEL_COLS.
        unsafe { panel.fill(product, row) };
        let codes: *const u8 = panel.codes.as_ptr().cast();
        let mut next = next_rows(product, row, tokens.div_ceil(ROWS));
        for first in (0..tokens).step_by(ROWS) {
            // The last ones together with some that are already stored.
            let token = first.min(tokens - ROWS);
            // SAFETY: the tiles are configured, the panel is filled, token + ROWS ≤ tokens.
            unsafe {
                let factors = Factors {
                    rows: x.codes.as_ptr().add(token * x.stride),
                    stride: x.stride,
                    packed: [codes, codes.add(BYTES)],
                    line: 2 * BYTES,
                    cols,
                };
                multiply_two(factors, &mut next, &mut sums);
            }
            for (tile, halves) in sums.tiles.iter().enumerate() {
                for (half, sums) in halves.iter().enumerate() {
                    let (token, row) = (token + tile * TILE, row + half * TILE);
                    let stored = first.saturating_sub(token).min(TILE);
                    // SAFETY: token + TILE ≤ tokens, row + TILE ≤ rows.
                    unsafe {
                        store_uncentred(product, (token, stored), row, &panel.sums[half], sums);
                    }
                }
            }
        }
    }
}

/// As [`store`] for a tile of 16 tokens except for the first `stored`; these are the sums of x · w
/// and those of the rows' codes.
///
/// # Safety
///
/// 16 tokens from `token` on and 16 rows from `row` on must exist.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn store_uncentred(
    product: &mut ProductI8<'_>,
    (token, stored): (usize, usize),
    row: usize,
    row_sums: &[i32; LANES],
    sums: &[[i32; LANES]; TILE],
) {
    // SAFETY: a line is 64 bytes; the rest is upheld by the caller.
    unsafe {
        let row_sums = _mm512_loadu_si512(row_sums.as_ptr().cast());
        let sums = from_zero(product, token, row_sums, load(sums));
        if product.strides.token == 1 {
            store_rows(product, (token, !first_lanes(stored)), row, transpose(sums));
        } else {
            store(product, token + stored, row, TILE, &sums[stored..]);
        }
    }
}

/// As [`store`], for an output whose tokens are contiguous, as they are in the sums.
///
/// # Safety
///
/// The tokens of the mask from `token` on and 16 rows from `row` on must exist.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn store_rows(
    product: &mut ProductI8<'_>,
    (token, mask): (usize, __mmask16),
    row: usize,
    sums: [__m512i; TILE],
) {
    let ProductI8 { x, w, base, strides, .. } = *product;
    // SAFETY: `ProductI8::new` checked that scales and the bias match tokens and rows, and that the
    // last element of the output is inside it; the mask covers only existing tokens.
    unsafe {
        let scales = _mm512_maskz_loadu_ps(mask, x.scales.as_ptr().add(token));
        let out = product.out.as_mut_ptr().add(token + row * strides.row);
        for (r, sums) in sums.into_iter().enumerate() {
            let row_scale = _mm512_set1_ps(*w.scales.as_ptr().add(row + r));
            let value = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_mul_ps(scales, row_scale));
            let out = out.add(r * strides.row);
            let base = match base {
                ProductBase::Bias(bias) => _mm512_set1_ps(*bias.as_ptr().add(row + r)),
                ProductBase::Output => _mm512_maskz_loadu_ps(mask, out),
            };
            _mm512_mask_storeu_ps(out, mask, _mm512_add_ps(base, value));
        }
    }
}
