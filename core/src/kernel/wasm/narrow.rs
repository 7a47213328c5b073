//! Integer products that are added up in 16 bits, 128 columns at a time, for CPUs whose dot products of bytes add up pairs.
//!
//! A vector of pairs costs a multiplication and an addition then, and not up to two of each. Sums of 16 bits wrap around, and
//! what they come to is right if the exact sum fits. Of Σ (x − z) · w, whatever z is, that is known beforehand (Cauchy and
//! Schwarz): it is no larger than √(Σ (x − z)² · Σ w²). The second factor belongs to a row's summary; the first is found out once
//! for all rows, with a z amid the tokens' codes of 0. A sum begins with −z · Σ w, so that Σ x · w makes it Σ (x − z) · w.

use core::arch::wasm32::*;
use core::mem::MaybeUninit;

use super::integer::{Narrow, Ready, Tokens};
use super::scaled::{Factors, put};
use super::{Dot, RelaxedPairs, kept};
use crate::kernel::integer::{ProductI8, RowSummary};

/// Tokens of a band. Others are what is left of many.
const TOKENS: usize = RelaxedPairs::TILE_TOKENS;
/// So many tokens must share what is found out of rows for it to pay off.
const MANY_TOKENS: usize = 3 * TOKENS;
/// Columns of a step: two vectors.
const STEP: usize = RelaxedPairs::CODES;
/// Steps until sums become 32-bit ones: over 128 columns 93 to 99 of a hundred rows of the default model are known to fit with
/// eight tokens, over 192 two thirds.
const PART_STEPS: usize = 4;
/// Columns until then.
const PART: usize = PART_STEPS * STEP;
/// Parts of a row: the widest group of columns that files have.
const PARTS: usize = crate::quant::int8::MAX_GROUP_COLS.div_ceil(PART);

/// What codes are multiplied with to add up two neighbours.
static ONES: v128 = i8x16(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);

/// Whether rows of so many columns are added up like this.
const fn fits(cols: usize) -> bool {
    cols <= PARTS * PART && cols.is_multiple_of(STEP)
}

/// What the squares of a row's weights add up to at most in a lane of a part: eight lanes have two neighbours of every 16 columns.
/// Much for rows that are not added up like this.
pub(super) fn squares(codes: &[u8]) -> u32 {
    if !fits(codes.len()) {
        return u32::MAX;
    }
    let mut most = u32x4_splat(0);
    for part in codes.chunks(PART) {
        let mut squares = [i32x4_splat(0); 2];
        for codes in part.as_chunks::<16>().0 {
            // SAFETY: it has the bytes of a vector.
            let codes = unsafe { v128_load(codes.as_ptr().cast()) };
            let words = [i16x8_extend_low_i8x16(codes), i16x8_extend_high_i8x16(codes)];
            for (squares, words) in squares.iter_mut().zip(words) {
                *squares = i32x4_add(*squares, i32x4_dot_i16x8(words, words));
            }
        }
        most = u32x4_max(most, u32x4_max(squares[0], squares[1]));
    }
    let mut lanes = [0_u32; 4];
    // SAFETY: it has the bytes of a vector.
    unsafe { v128_store(lanes.as_mut_ptr().cast(), most) };
    lanes.into_iter().fold(0, u32::max)
}

/// What the squares of tokens' codes, counted from `zero`, add up to at most in a lane of a part; 65,535 if it is that or more.
#[inline(always)]
fn squares_of_tokens<const T: usize>(ready: &Ready, cols: usize, zero: u8) -> u16 {
    let zero = u8x16_splat(zero);
    let mut most = u16x8_splat(0);
    let steps: *const [[v128; 2]; T] = ready.as_ptr().cast();
    let count = cols / STEP;
    for first in (0..count).step_by(PART_STEPS) {
        let mut squares = [u16x8_splat(0); T];
        for step in first..count.min(first + PART_STEPS) {
            // SAFETY: the codes of T tokens are ready in steps as large, and there is such a step.
            let step = unsafe { *steps.add(step) };
            for (squares, codes) in squares.iter_mut().zip(step) {
                for codes in codes {
                    let amounts = i8x16_abs(i8x16_sub(codes, zero));
                    *squares = u16x8_add_sat(*squares, RelaxedPairs::pairs(amounts, amounts));
                }
            }
        }
        for squares in squares {
            most = u16x8_max(most, squares);
        }
    }
    let mut lanes = [0_u16; 8];
    // SAFETY: it has the bytes of a vector.
    unsafe { v128_store(lanes.as_mut_ptr().cast(), most) };
    lanes.into_iter().fold(0, u16::max)
}

/// What the codes of a band of tokens are counted from, and what that allows.
pub(super) struct Center {
    zero: u8,
    /// What the squares of a lane's weights may add up to.
    squares: u32,
    /// Of the tokens, with zeros counted from the center.
    factors: [Factors; 2],
}

impl Narrow for Center {
    /// The sums of the lanes' weights in each part.
    type Lanes = [v128; PARTS];

    #[inline(always)]
    fn is_worthwhile(product: &ProductI8<'_>) -> bool {
        product.tokens >= MANY_TOKENS && fits(product.cols)
    }

    /// Found out for every product: kept with a model it is 48 bytes for a row of 384, for a fiftieth of the time of 32 tokens.
    #[inline(always)]
    fn lanes(product: &ProductI8<'_>, row: usize) -> Self::Lanes {
        // What adds up neighbours by itself V8 makes of the same multiplication, with ones brought in anew.
        let ones = kept(&ONES);
        let mut lanes = [i16x8_splat(0); PARTS];
        let mut left = product.cols / STEP;
        // SAFETY: `ProductI8::new` checked that `cols` codes lie from every row · stride on; there is such a row.
        unsafe {
            let mut weights = product.w.codes.as_ptr().add(row * product.w.stride);
            for lanes in &mut lanes {
                let steps = left.min(PART_STEPS);
                left -= steps;
                for _ in 0..2 * steps {
                    let pairs = RelaxedPairs::pairs(ones, v128_load(weights.cast()));
                    *lanes = i16x8_add(*lanes, pairs);
                    weights = weights.add(16);
                }
            }
        }
        lanes
    }

    #[inline(always)]
    fn new<const T: usize>(
        product: &ProductI8<'_>,
        token: usize,
        (ready, factors): Tokens<'_>,
    ) -> Option<Self> {
        if T != TOKENS || !Self::is_worthwhile(product) {
            return None;
        }
        let zeros = product.x.zeros.iter().skip(token).take(T);
        let zero = (zeros.map(|&zero| usize::from(zero)).sum::<usize>() / T) as u8;
        const SUM: u32 = i16::MAX as u32;
        let squares = match squares_of_tokens::<T>(ready, product.cols, zero) {
            u16::MAX => 0,
            most => SUM * SUM / u32::from(most).max(1),
        };
        Some(Self { zero, squares, factors: factors.map(|factors| factors.counted_from(zero)) })
    }

    #[inline(always)]
    unsafe fn multiply<const T: usize>(
        &self,
        product: &mut ProductI8<'_>,
        (token, row): (usize, usize),
        (summary, lanes): (&RowSummary, &MaybeUninit<Self::Lanes>),
        (ready, _): Tokens<'_>,
    ) -> bool {
        if summary.squares > self.squares {
            return false;
        }
        let ProductI8 { w, cols, .. } = *product;
        let ones = RelaxedPairs::new();
        let zero = i16x8_splat(-i16::from(self.zero));
        let mut sums = [i32x4_splat(0); T];
        // SAFETY: the caller's: lanes are known, the codes of T tokens are ready in steps as large. `ProductI8::new` checked
        // that `cols` codes, whole steps, lie from every row · stride on; token + T ≤ tokens and row < rows.
        unsafe {
            let mut codes: *const [v128; 2] = ready.as_ptr().cast();
            let mut weights = w.codes.as_ptr().add(row * w.stride);
            let mut left = cols / STEP;
            for &lanes in lanes.assume_init_ref() {
                let mut part = [i16x8_mul(lanes, zero); T];
                let steps = left.min(PART_STEPS);
                left -= steps;
                for _ in 0..steps {
                    let [first, second] = RelaxedPairs::codes(weights);
                    unroll!(T, t => {
                        let [a, b] = *codes.add(t);
                        part[t] = i16x8_add(part[t], RelaxedPairs::pairs(a, first));
                        part[t] = i16x8_add(part[t], RelaxedPairs::pairs(b, second));
                    });
                    weights = weights.add(STEP);
                    codes = codes.add(T);
                }
                unroll!(T, t => { sums[t] = ones.add(sums[t], part[t]); });
            }
            put::<T>(product, (token, row), summary.sum(), sums, &self.factors);
        }
        true
    }
}
