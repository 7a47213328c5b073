//! Products of bytes with 128-bit vectors.

use core::arch::wasm32::*;
use core::mem::MaybeUninit;

use super::instructions::{Dot, MAX_READY_COLS, Narrow, READY, Ready, StepCodes};
#[cfg(target_feature = "relaxed-simd")]
use super::instructions::{Relaxed, RelaxedPairs, adds_pairs};
use super::scaled::{Factors, put};
use super::summary::summarize_row;
use crate::kernel::integer::ProductI8;
use crate::kernel::portable;
use crate::kernel::summary::RowSummary;

/// Rows that are multiplied with all tokens before the next block. Tokens are prepared again for
/// each block.
const ROWS_BLOCK: usize = 192;

/// See [`ProductI8`], with the relaxed SIMD instructions that are fast on the CPU.
#[cfg(target_feature = "relaxed-simd")]
pub(super) fn product_relaxed(with: ProductI8<'_>) {
    if adds_pairs() { product::<RelaxedPairs>(with) } else { product::<Relaxed>(with) }
}

/// See [`ProductI8`]: tiles of [`Dot::TILE_TOKENS`] × [`Dot::TILE_ROWS`], whose sums are along the
/// columns.
pub(super) fn product<D: Dot>(mut product: ProductI8<'_>) {
    const {
        let steps = MAX_READY_COLS.div_ceil(D::CODES);
        assert!(D::TILE_TOKENS * steps * D::Codes::VECTORS <= READY);
    }
    if product.cols > MAX_READY_COLS {
        return portable::product_i8(product);
    }
    let mut ready: Ready = [MaybeUninit::uninit(); READY];
    let mut made = [RowSummary::EMPTY; ROWS_BLOCK];
    let mut row = 0;
    while row < product.rows {
        let end = product.rows.min(row + ROWS_BLOCK);
        let summaries = product.summaries(row..end, summarize_row, &mut made);
        let mut token = 0;
        while token < product.tokens {
            let tile = Band { token, row, summaries };
            token += match band_tokens(product.tokens - token, D::TILE_TOKENS) {
                1 => band::<D, 1>(&mut product, tile, &mut ready),
                2 => band::<D, 2>(&mut product, tile, &mut ready),
                3 => band::<D, 3>(&mut product, tile, &mut ready),
                5 => band::<D, 5>(&mut product, tile, &mut ready),
                6 => band::<D, 6>(&mut product, tile, &mut ready),
                8 => band::<D, 8>(&mut product, tile, &mut ready),
                _ => band::<D, 4>(&mut product, tile, &mut ready),
            };
        }
        row = end;
    }
}

/// The number of tokens in the next band: as many as a tile of 4, 6 or 8 has, but a tile of 6
/// leaves at least four. Small tiles are slow: 8 tokens are two of 4, not 6 and 2.
const fn band_tokens(left: usize, tile: usize) -> usize {
    match (tile, left) {
        (_, 0..=4) => left,
        (8, 8..) => 8,
        (4 | 8, _) | (_, 7 | 8) => 4,
        (_, 5 | 9) => 5,
        _ => 6,
    }
}

/// The tokens of a band: their codes, and the factors that convert sums to floats.
type Tokens<'a> = (&'a Ready, &'a [Factors; 2]);

/// Some tokens against some rows.
struct Band<'a> {
    /// The first token.
    token: usize,
    /// The first row.
    row: usize,
    /// One per row.
    summaries: &'a [RowSummary],
}

/// A band of `T` tokens; returns `T`.
#[inline(never)] // see the module
fn band<D: Dot, const T: usize>(
    product: &mut ProductI8<'_>,
    band: Band<'_>,
    ready: &mut Ready,
) -> usize {
    let Band { token, mut row, summaries: mut rest } = band;
    make_ready::<D, T>(product, token, ready);
    let x = (&*ready, &Factors::all::<T>(product, token));
    if let Some(narrow) = D::Narrow::new::<T>(product, token, ready) {
        while rest.len() >= D::Narrow::ROWS {
            // SAFETY: the codes have been prepared; there is a summary for each row.
            let done = unsafe { narrow.multiply(product, (token, row), rest, ready) };
            let count = rest.len().min(done + D::Narrow::ROWS);
            for (at, summary) in rest.iter().enumerate().take(count).skip(done) {
                tile_of_row::<D, T>(product, (token, row + at), summary, x);
            }
            (row, rest) = (row + count, rest.get(count..).unwrap_or_default());
        }
    }
    if D::TILE_ROWS == 2 {
        while let [a, b, left @ ..] = rest {
            tile::<D, T, 2>(product, (token, row), [*a, *b], x);
            (row, rest) = (row + 2, left);
        }
    }
    for summary in rest {
        tile_of_row::<D, T>(product, (token, row), summary, x);
        row += 1;
    }
    T
}

#[inline(always)]
fn tile_of_row<D: Dot, const T: usize>(
    product: &mut ProductI8<'_>,
    place: (usize, usize),
    summary: &RowSummary,
    x: Tokens<'_>,
) {
    if summary.is_small() {
        tile::<D::Small, T, 1>(product, place, [*summary], x);
    } else {
        tile::<D, T, 1>(product, place, [*summary], x);
    }
}

/// Writes the codes of `T` tokens step by step in the form that [`Dot::dot`] takes, within each
/// vector of a step token by token, the last step padded with zeros: work that all rows of a band
/// share.
#[inline(always)]
fn make_ready<D: Dot, const T: usize>(product: &ProductI8<'_>, token: usize, ready: &mut Ready) {
    let ProductI8 { x, cols, .. } = *product;
    // SAFETY: `ProductI8::new` checked that `cols` codes start at every token · stride; `product`
    // that the steps of T tokens take no more than READY vectors.
    unsafe {
        let mut place: *mut v128 = ready.as_mut_ptr().cast();
        let codes = x.codes.as_ptr().add(token * x.stride);
        let mut c = 0;
        while c + D::CODES <= cols {
            unroll!(T, t => { D::codes(codes.add(t * x.stride + c)).write::<T>(place.add(t)); });
            place = place.add(T * D::Codes::VECTORS);
            c += D::CODES;
        }
        if c < cols {
            for t in 0..T {
                codes_part::<D>(codes.add(t * x.stride + c), cols - c).write::<T>(place.add(t));
            }
        }
    }
}

#[inline(always)]
fn tile<D: Dot, const T: usize, const R: usize>(
    product: &mut ProductI8<'_>,
    (token, row): (usize, usize),
    summaries: [RowSummary; R],
    (ready, factors): Tokens<'_>,
) {
    let ProductI8 { w, cols, .. } = *product;
    let dots = D::new();
    // SAFETY: `make_ready` has written the codes of T tokens in steps of the same size.
    // `ProductI8::new` checked that `cols` codes start at every row · stride, that scales and zeros
    // match tokens and rows, and that the last element of the output is inside it; token + T ≤
    // tokens and row + R ≤ rows.
    unsafe {
        let mut codes: *const v128 = ready.as_ptr().cast();
        let mut weights = w.codes.as_ptr().add(row * w.stride);
        let mut sums = [[i32x4_splat(0); T]; R];
        for _ in 0..cols / D::CODES {
            let mut ws = [D::codes(weights); R];
            if R > 1 {
                ws[R - 1] = D::codes(weights.add(w.stride));
            }
            unroll!(T, t => {
                let x = D::Codes::read::<T>(codes.add(t));
                unroll_4!(R, r => { sums[r][t] = dots.dot(sums[r][t], x, ws[r]); });
            });
            weights = weights.add(D::CODES);
            codes = codes.add(T * D::Codes::VECTORS);
        }
        // Outside the loop: copying a few bytes inside it would halve its speed.
        let rest = cols % D::CODES;
        if rest > 0 {
            for (r, sums) in sums.iter_mut().enumerate() {
                let weights = codes_part::<D>(weights.add(r * w.stride), rest);
                for (t, sum) in sums.iter_mut().enumerate() {
                    *sum = dots.dot(*sum, D::Codes::read::<T>(codes.add(t)), weights);
                }
            }
        }
        unroll_4!(R, r => {
            put::<T>(product, (token, row + r), summaries[r].sum(), sums[r], factors);
        });
    }
}

/// `count` codes, fewer than a step takes, then zeros.
///
/// # Safety
///
/// `count` bytes must be readable at `place`.
#[inline(always)]
unsafe fn codes_part<D: Dot>(place: *const u8, count: usize) -> D::Codes {
    let mut bytes = [0_u8; 32];
    // SAFETY: upheld by the caller; `D::codes` reads no more than the 32 bytes.
    unsafe {
        core::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), count.min(bytes.len()));
        D::codes(bytes.as_ptr())
    }
}
