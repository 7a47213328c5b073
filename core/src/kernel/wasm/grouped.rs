//! x · Wᵀ of signed bytes and codes in groups of columns, for one token: four rows at a time, from
//! any source of codes.
//!
//! The products of a row's group and the activations are summed up in four lanes; the lanes of four
//! rows are added up to one vector with a lane per row, which is multiplied by the rows' scales.

use core::arch::wasm32::*;

use super::instructions::{Dot, Simd128};
#[cfg(target_feature = "relaxed-simd")]
use super::instructions::{Relaxed, RelaxedPairs};
use super::lanes::reduce_i32;
use crate::kernel::Strides;
use crate::kernel::blocks::RestCodes;
use crate::kernel::groups::GroupedCodes;

/// Rows of a tile: the lanes of a vector.
pub(super) const ROWS: usize = 4;

/// The instructions that differ between simd128 and relaxed SIMD.
pub(super) trait Dots {
    /// The signed bytes of 16 columns of activations, in the form that [`dot`](Self::dot) takes.
    type Columns: Copy;

    /// # Safety
    ///
    /// 16 bytes can be read at `place`.
    unsafe fn columns(place: *const u8) -> Self::Columns;

    /// The products of unsigned bytes and columns, summed up in four lanes; `WIDE` if codes may
    /// have 8 bits.
    fn dot<const N: usize, const WIDE: bool>(codes: [v128; N], columns: [Self::Columns; N])
    -> v128;
}

impl Dots for Simd128 {
    type Columns = [v128; 2];

    #[inline(always)]
    unsafe fn columns(place: *const u8) -> [v128; 2] {
        // SAFETY: upheld by the caller.
        unsafe { [0, 8].map(|column| Self::codes(place.add(column))) }
    }

    #[inline(always)]
    fn dot<const N: usize, const WIDE: bool>(codes: [v128; N], columns: [[v128; 2]; N]) -> v128 {
        sum(codes, columns, |sum, codes, columns| i32x4_add(sum, products_of_words(codes, columns)))
    }
}

#[cfg(target_feature = "relaxed-simd")]
impl Dots for Relaxed {
    type Columns = v128;

    #[inline(always)]
    unsafe fn columns(place: *const u8) -> v128 {
        // SAFETY: upheld by the caller.
        unsafe { Self::codes(place) }
    }

    #[inline(always)]
    fn dot<const N: usize, const WIDE: bool>(codes: [v128; N], columns: [v128; N]) -> v128 {
        if !WIDE {
            return sum(codes, columns, |sum, codes, columns| Self.dot(sum, codes, columns));
        }
        // Codes must be below 128.
        let low = codes.map(|codes| v128_and(codes, u8x16_splat(0x7f)));
        let high = codes.map(|codes| u8x16_shr(codes, 7));
        let [low, high] = [low, high]
            .map(|codes| sum(codes, columns, |sum, codes, columns| Self.dot(sum, codes, columns)));
        i32x4_add(low, i32x4_shl(high, 7))
    }
}

#[cfg(target_feature = "relaxed-simd")]
impl Dots for RelaxedPairs {
    type Columns = v128;

    #[inline(always)]
    unsafe fn columns(place: *const u8) -> v128 {
        // SAFETY: upheld by the caller.
        unsafe { Relaxed::codes(place) }
    }

    #[inline(always)]
    fn dot<const N: usize, const WIDE: bool>(codes: [v128; N], columns: [v128; N]) -> v128 {
        if !WIDE {
            // These ones are separate from those of `Self::new`: a group has too few products for
            // them to stay in a register, and functions that differ in fewer instructions compress
            // better.
            return sum(codes, columns, |sum, codes, columns| {
                i32x4_add(sum, i32x4_dot_i16x8(Self::pairs(codes, columns), i16x8_splat(1)))
            });
        }
        sum(codes, columns, |sum, codes, columns| {
            let words = [i16x8_extend_low_i8x16(columns), i16x8_extend_high_i8x16(columns)];
            i32x4_add(sum, products_of_words(codes, words))
        })
    }
}

/// Folds all codes and columns with `add`, starting from zero. Here the weights have the unsigned
/// codes, so they take the place of the activations in [`Dot::dot`].
#[inline(always)]
fn sum<C, const N: usize>(
    codes: [v128; N],
    columns: [C; N],
    add: impl Fn(v128, v128, C) -> v128,
) -> v128 {
    codes
        .into_iter()
        .zip(columns)
        .fold(i32x4_splat(0), |sum, (codes, columns)| add(sum, codes, columns))
}

/// The products of 16 unsigned bytes and as many columns of 16 bits, summed up in four lanes.
#[inline(always)]
fn products_of_words(codes: v128, [low, high]: [v128; 2]) -> v128 {
    i32x4_add(
        i32x4_dot_i16x8(u16x8_extend_low_u8x16(codes), low),
        i32x4_dot_i16x8(u16x8_extend_high_u8x16(codes), high),
    )
}

/// Groups of `N` · 16 columns of four adjacent rows.
///
/// # Safety
///
/// Methods must be called only for existing groups.
pub(super) trait Groups<const N: usize> {
    /// The codes of a row's group, unsigned bytes in the order of the columns.
    unsafe fn codes(&self, group: usize, row: usize) -> [v128; N];
    /// The scales and the minima of four rows' groups.
    unsafe fn factors(&self, group: usize) -> (v128, v128);
}

/// The operands of a product with four rows, and its output.
pub(super) struct Operands<'a> {
    pub(super) x: GroupedCodes<'a>,
    pub(super) rest: Option<RestCodes<'a>>,
    pub(super) bias: &'a [f32],
    pub(super) out: &'a mut [f32],
    pub(super) tokens: usize,
    /// Groups of a row.
    pub(super) groups: usize,
    pub(super) strides: Strides,
}

/// One token and four rows of `weights` from `row` on; `is_wide` if codes may have 8 bits.
///
/// # Safety
///
/// x and its rest, the bias and the output must match the numbers of rows and columns; the row must
/// exist.
#[inline(always)]
pub(super) unsafe fn product<I: Dots, const N: usize>(
    operands: &mut Operands<'_>,
    weights: &impl Groups<N>,
    row: usize,
    is_wide: bool,
) {
    // SAFETY: upheld by the caller.
    unsafe {
        match (operands.rest.is_some(), is_wide) {
            (true, true) => lanes::<I, _, N, true, true>(operands, weights, row),
            (true, false) => lanes::<I, _, N, true, false>(operands, weights, row),
            (false, true) => lanes::<I, _, N, false, true>(operands, weights, row),
            (false, false) => lanes::<I, _, N, false, false>(operands, weights, row),
        }
    }
}

/// See [`product`].
///
/// # Safety
///
/// As for [`product`]; with `REST` there must be a rest.
unsafe fn lanes<I: Dots, G: Groups<N>, const N: usize, const REST: bool, const WIDE: bool>(
    operands: &mut Operands<'_>,
    weights: &G,
    row: usize,
) {
    let Operands { x, rest, groups, strides, .. } = *operands;
    let rows = (operands.bias.len() - row).min(ROWS);
    // SAFETY: upheld by the caller: codes, scales and sums of x and of its rest match the columns,
    // and the last element of the output is inside it.
    unsafe {
        let mut numbers = [0.0_f32; ROWS];
        for (r, number) in numbers.iter_mut().enumerate().take(rows) {
            *number = *operands.bias.as_ptr().add(row + r);
        }
        let mut total = v128_load(numbers.as_ptr().cast());
        let columns = |codes: &[u8], group: usize| {
            let codes = codes.as_ptr().add(group * 16 * N);
            core::array::from_fn(|sixteen| I::columns(codes.add(sixteen * 16)))
        };
        let rest = rest.unwrap_or(RestCodes { codes: x.codes, scales: x.scales });
        for group in 0..groups {
            let (lanes, rest_lanes) = (columns(x.codes, group), columns(rest.codes, group));
            let mut dots = [i32x4_splat(0); ROWS];
            let mut rest_dots = dots;
            unroll_4!(ROWS, row => {
                let codes = weights.codes(group, row);
                dots[row] = I::dot::<N, WIDE>(codes, lanes);
                if REST {
                    rest_dots[row] = I::dot::<N, WIDE>(codes, rest_lanes);
                }
            });
            let scaled = |dots, scales: &[f32]| {
                let scale = v128_load32_splat(scales.as_ptr().add(group).cast());
                f32x4_mul(scale, f32x4_convert_i32x4(reduce_i32(dots)))
            };
            let mut sum = scaled(dots, x.scales);
            if REST {
                sum = f32x4_add(sum, scaled(rest_dots, rest.scales));
            }
            let (scale, minimum) = weights.factors(group);
            let whole = v128_load32_splat(x.sums.as_ptr().add(group).cast());
            total = f32x4_add(total, f32x4_mul(scale, sum));
            total = f32x4_add(total, f32x4_mul(minimum, whole));
        }
        v128_store(numbers.as_mut_ptr().cast(), total);
        let out = operands.out.as_mut_ptr();
        for (r, &number) in numbers.iter().enumerate().take(rows) {
            *out.add((row + r) * strides.row) = number;
        }
    }
}
