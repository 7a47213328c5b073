//! Integer products accumulated in 16 bits, for CPUs whose dot products of bytes add up pairs.
//!
//! A vector of pairs then costs a multiplication and an addition instead of up to two of each.
//! 16-bit sums wrap, so the result is right if the exact sum fits. For Σ (x − zero) · w in a lane
//! this is known beforehand (Cauchy-Schwarz): it is at most √Σ (x − zero)² · √Σ w². The second
//! factor is in the row's summary; the first is computed once for all rows. A sum starts at −zero ·
//! Σ w, so that adding Σ x · w gives Σ (x − zero) · w.
//!
//! The bound usually suffices for half a row, and for a whole row with small weights, such as those
//! of files written with [`CodeRange::Narrow`](crate::quant::int8::CodeRange::Narrow).

use core::arch::wasm32::*;

use super::instructions::{Dot as _, Narrow, Ready, RelaxedPairs};
use super::square::put_from_zero;
use crate::kernel::integer::ProductI8;
use crate::kernel::product::Strides;
use crate::kernel::summary::{NARROW_LANES as LANES, NarrowRow, RowSummary};

/// Tokens of a band. Only the last tokens of many are in smaller bands.
const TOKENS: usize = RelaxedPairs::TILE_TOKENS;
/// Rows of a tile, and its tokens.
const ROWS: usize = 2;
const TILE_TOKENS: usize = 4;
/// Columns of a step: a vector.
const STEP: usize = 16;

/// Returns true if rows of `cols` columns are accumulated in this way: at most the widest group of
/// columns in files, in whole steps.
const fn fits(cols: usize) -> bool {
    cols <= crate::quant::int8::MAX_GROUP_COLS && cols.is_multiple_of(STEP)
}

/// The number of a row's steps in its first half.
const fn first_half(steps: usize) -> usize {
    steps.div_ceil(2)
}

/// The bounds of a row of such codes.
pub(super) fn summarize(codes: &[u8]) -> NarrowRow {
    if !fits(codes.len()) {
        return NarrowRow::WIDE;
    }
    let mut row = NarrowRow::WIDE;
    let mut whole = [i32x4_splat(0); 2];
    let mut most = whole;
    let (first, second) = codes.split_at(first_half(codes.len() / STEP) * STEP);
    for (codes, sums) in [first, second].into_iter().zip(&mut row.sums) {
        let mut squares = [i32x4_splat(0); 2];
        let mut sum = i16x8_splat(0);
        for codes in codes.as_chunks::<16>().0 {
            // SAFETY: it has 16 bytes.
            let codes = unsafe { v128_load(codes.as_ptr().cast()) };
            sum = i16x8_add(sum, i16x8_extadd_pairwise_i8x16(codes));
            let words = [i16x8_extend_low_i8x16(codes), i16x8_extend_high_i8x16(codes)];
            for (squares, words) in squares.iter_mut().zip(words) {
                *squares = i32x4_add(*squares, i32x4_dot_i16x8(words, words));
            }
        }
        *sums = stored(sum);
        for ((whole, most), squares) in whole.iter_mut().zip(&mut most).zip(squares) {
            *whole = i32x4_add(*whole, squares);
            *most = i32x4_max(*most, squares);
        }
    }
    row.halves = stored(roots(most));
    row.whole = stored(roots(whole)).into_iter().fold(0, i16::max);
    row
}

/// The square roots of eight numbers below 2²⁴, rounded up.
fn roots(squares: [v128; 2]) -> v128 {
    let [low, high] = squares.map(|squares| {
        let root = f32x4_ceil(f32x4_sqrt(f32x4_convert_i32x4(squares)));
        i32x4_trunc_sat_f32x4(root)
    });
    i16x8_narrow_i32x4(low, high)
}

#[inline(always)]
fn stored(vector: v128) -> [i16; LANES] {
    let mut lanes = [0; LANES];
    // SAFETY: it has 16 bytes.
    unsafe { v128_store(lanes.as_mut_ptr().cast(), vector) };
    lanes
}

#[inline(always)]
fn loaded(lanes: &[i16; LANES]) -> v128 {
    // SAFETY: it has 16 bytes.
    unsafe { v128_load(lanes.as_ptr().cast()) }
}

/// The bounds of a band of tokens, and the limits that follow from them.
pub(super) struct Band {
    /// −zero of each token, in every lane.
    zeros: [v128; TOKENS],
    /// Limits on [`NarrowRow::whole`] and [`NarrowRow::halves`].
    whole: i16,
    halves: v128,
}

impl Narrow for Band {
    const ROWS: usize = ROWS;

    #[inline(always)]
    fn new<const T: usize>(product: &ProductI8<'_>, token: usize, ready: &Ready) -> Option<Self> {
        let Strides { token: by_token, row: by_row } = product.strides;
        if T != TOKENS || !fits(product.cols) || by_token.min(by_row) != 1 {
            return None;
        }
        let mut zeros = [i16x8_splat(0); TOKENS];
        for (zeros, &zero) in zeros.iter_mut().zip(product.x.zeros.iter().skip(token)) {
            *zeros = i16x8_splat(-i16::from(zero));
        }
        let [whole, halves] = squares_of_tokens(ready, product.cols, &zeros).map(allowed);
        let whole = stored(whole).into_iter().fold(i16::MAX, i16::min);
        Some(Self { zeros, whole, halves })
    }

    #[inline(never)] // alone it has all registers
    unsafe fn multiply(
        &self,
        product: &mut ProductI8<'_>,
        (token, first): (usize, usize),
        summaries: &[RowSummary],
        ready: &Ready,
    ) -> usize {
        let mut row = first;
        for summaries in summaries.as_chunks::<ROWS>().0 {
            // SAFETY: upheld by the caller; `fits` holds.
            unsafe {
                if summaries.iter().all(|row| self.allows_whole(&row.narrow)) {
                    self.tile::<1>(product, (token, row), summaries, ready);
                } else if summaries.iter().all(|row| self.allows_halves(&row.narrow)) {
                    self.tile::<2>(product, (token, row), summaries, ready);
                } else {
                    break;
                }
            }
            row += ROWS;
        }
        row - first
    }
}

impl Band {
    #[inline(always)]
    fn allows_whole(&self, row: &NarrowRow) -> bool {
        row.whole <= self.whole
    }

    #[inline(always)]
    fn allows_halves(&self, row: &NarrowRow) -> bool {
        !v128_any_true(i16x8_gt(loaded(&row.halves), self.halves))
    }

    /// Multiplies the band with rows of a tile in `PARTS` parts.
    ///
    /// # Safety
    ///
    /// As for [`Narrow::multiply`]; the rows must be known to fit in such parts.
    #[inline(always)]
    unsafe fn tile<const PARTS: usize>(
        &self,
        product: &mut ProductI8<'_>,
        (token, row): (usize, usize),
        summaries: &[RowSummary; ROWS],
        ready: &Ready,
    ) {
        let lanes = summaries.each_ref().map(|RowSummary { narrow, .. }| {
            let [first, second] = narrow.sums.each_ref().map(loaded);
            if PARTS == 1 { [i16x8_add(first, second); 2] } else { [first, second] }
        });
        let ProductI8 { w, cols, .. } = *product;
        let codes: *const v128 = ready.as_ptr().cast();
        // SAFETY: upheld by the caller; `ProductI8::new` checked that `cols` codes, whole steps,
        // start at every row · stride.
        unsafe {
            let weights = w.codes.as_ptr().add(row * w.stride);
            let weights = [weights, weights.add(w.stride)];
            let (tiles, _) = self.zeros.as_chunks();
            for (t, zeros) in (0..TOKENS).step_by(TILE_TOKENS).zip(tiles) {
                let sums = sums::<PARTS>(cols / STEP, codes.add(t).cast(), zeros, weights, lanes);
                put_from_zero(product, (token + t, row), sums);
            }
        }
    }
}

/// The codes of a step of a band.
type Step = [v128; TOKENS];

/// Σ (x − zero) · w of rows and tokens of a tile, accumulated in `PARTS` parts, whose Σ w are in
/// `lanes`.
///
/// # Safety
///
/// That many steps must be readable at `codes`, from the first token on, and at each of the
/// `weights`.
#[inline(always)]
unsafe fn sums<const PARTS: usize>(
    steps: usize,
    mut codes: *const Step,
    zeros: &[v128; TILE_TOKENS],
    mut weights: [*const u8; ROWS],
    lanes: [[v128; 2]; ROWS],
) -> [[v128; TILE_TOKENS]; ROWS] {
    let ones = RelaxedPairs::new();
    let mut sums = [[i32x4_splat(0); TILE_TOKENS]; ROWS];
    let mut left = steps;
    for part in 0..PARTS {
        let steps = if part + 1 < PARTS { first_half(left) } else { left };
        left -= steps;
        let mut pairs = lanes.map(|lanes| zeros.map(|zero| i16x8_mul(lanes[part], zero)));
        for _ in 0..steps {
            // SAFETY: upheld by the caller.
            unsafe {
                let w = weights.map(|weights| v128_load(weights.cast()));
                unroll_4!(TILE_TOKENS, t => {
                    let x = (*codes)[t];
                    unroll_4!(ROWS, r => {
                        pairs[r][t] = i16x8_add(pairs[r][t], RelaxedPairs::pairs(x, w[r]));
                    });
                });
                weights = weights.map(|weights| weights.add(STEP));
                codes = codes.add(1);
            }
        }
        unroll_4!(ROWS, r => {
            unroll_4!(TILE_TOKENS, t => { sums[r][t] = ones.add(sums[r][t], pairs[r][t]); });
        });
    }
    sums
}

/// Upper bounds of the squares of tokens' codes, counted from their zeros, summed up in each lane:
/// over the whole row, and over the half with the larger sum; saturated at 65,535.
#[inline(always)]
fn squares_of_tokens(ready: &Ready, cols: usize, zeros: &[v128; TOKENS]) -> [v128; 2] {
    let zeros = zeros.map(|zero| i8x16_narrow_i16x8(zero, zero));
    let (mut whole, mut halves) = (i16x8_splat(0), i16x8_splat(0));
    let steps: *const Step = ready.as_ptr().cast();
    let count = cols / STEP;
    for (token, &zero) in zeros.iter().enumerate() {
        let squares = [0..first_half(count), first_half(count)..count].map(|steps_of_half| {
            let mut squares = u16x8_splat(0);
            for step in steps_of_half {
                // SAFETY: the codes of the tokens are ready in steps of that size, and the step
                // exists.
                let codes = unsafe { (*steps.add(step))[token] };
                let amounts = i8x16_abs(i8x16_add(codes, zero));
                squares = u16x8_add_sat(squares, RelaxedPairs::pairs(amounts, amounts));
            }
            squares
        });
        whole = u16x8_max(whole, u16x8_add_sat(squares[0], squares[1]));
        halves = u16x8_max(halves, u16x8_max(squares[0], squares[1]));
    }
    [whole, halves]
}

/// The largest allowed √Σ w² in lanes with this Σ (x − zero)²; 0 where the bound is unknown.
#[inline(always)]
fn allowed(squares: v128) -> v128 {
    let of = |squares| {
        // Slightly less than the largest sum, to allow for rounding.
        let most = f32x4_div(f32x4_splat(32_766.9), f32x4_sqrt(f32x4_convert_u32x4(squares)));
        i32x4_trunc_sat_f32x4(most)
    };
    // Squares of at least 1, so that rows that may not fit are never allowed.
    let least = u16x8_max(squares, u16x8_splat(1));
    let allowed =
        i16x8_narrow_i32x4(of(u32x4_extend_low_u16x8(least)), of(u32x4_extend_high_u16x8(least)));
    v128_andnot(allowed, i16x8_eq(squares, u16x8_splat(u16::MAX)))
}
