//! Products of a [panel](super::panel)'s group: the differences between simd128 and relaxed SIMD.
//!
//! A step is four columns of four rows, and the same four columns of a token, once for each row.

use core::arch::wasm32::*;

use super::instructions::Simd128;
#[cfg(target_feature = "relaxed-simd")]
use super::instructions::{Relaxed, RelaxedPairs};

/// The codes of a group of `N` · 16 columns, four steps each.
pub(super) type Codes<const N: usize> = [[v128; 4]; N];

/// The columns of a group for some tokens, `stride` bytes apart.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub(super) first: *const u8,
    pub(super) stride: usize,
}

/// Sums of products of codes and the signed bytes of `T` (at most 4) tokens, row by row.
///
/// # Safety
///
/// Each token must have as many readable bytes as a group has columns.
pub(super) trait Steps {
    /// True if [`few_bits`](Self::few_bits) is faster than [`dots`](Self::dots).
    const FEW_BITS: bool = false;

    /// For codes below 32.
    #[inline(always)]
    unsafe fn few_bits<const N: usize, const T: usize>(codes: &Codes<N>, x: Columns) -> [v128; T] {
        // SAFETY: upheld by the caller.
        unsafe { Self::dots(codes, x) }
    }

    /// For codes below 128; those of simd128 may be any bytes.
    unsafe fn dots<const N: usize, const T: usize>(codes: &Codes<N>, x: Columns) -> [v128; T];
}

impl Steps for Simd128 {
    /// As words, those of two rows in a vector.
    #[inline(always)]
    unsafe fn dots<const N: usize, const T: usize>(codes: &Codes<N>, x: Columns) -> [v128; T] {
        let mut upper = [i32x4_splat(0); T];
        // SAFETY: upheld by the caller.
        let mut sums: [v128; T] = unsafe {
            each_step(codes, x, |(_, t), lower, codes, x| {
                let x = i16x8_extend_low_i8x16(x);
                let products = i32x4_dot_i16x8(u16x8_extend_high_u8x16(codes), x);
                upper[t] = i32x4_add(upper[t], products);
                i32x4_add(lower, i32x4_dot_i16x8(u16x8_extend_low_u8x16(codes), x))
            })
        };
        unroll_4!(T, t => {
            let even = i32x4_shuffle::<0, 2, 4, 6>(sums[t], upper[t]);
            let odd = i32x4_shuffle::<1, 3, 5, 7>(sums[t], upper[t]);
            sums[t] = i32x4_add(even, odd);
        });
        sums
    }
}

#[cfg(target_feature = "relaxed-simd")]
impl Steps for Relaxed {
    #[inline(always)]
    unsafe fn dots<const N: usize, const T: usize>(codes: &Codes<N>, x: Columns) -> [v128; T] {
        // SAFETY: upheld by the caller.
        unsafe {
            each_step(codes, x, |_, sum, codes, x| i32x4_relaxed_dot_i8x16_i7x16_add(x, codes, sum))
        }
    }
}

#[cfg(target_feature = "relaxed-simd")]
impl Steps for RelaxedPairs {
    const FEW_BITS: bool = true;

    #[inline(always)]
    unsafe fn few_bits<const N: usize, const T: usize>(codes: &Codes<N>, x: Columns) -> [v128; T] {
        let mut pairs = [i16x8_splat(0); T];
        // SAFETY: upheld by the caller.
        unsafe {
            each_step(codes, x, |(step, t), sum, codes, x| {
                let products = i16x8_relaxed_dot_i8x16_i7x16(x, codes);
                // Four steps of pairs are at most 4 · 2 · 31 · 127 and fit 16 bits.
                pairs[t] = if step == 0 { products } else { i16x8_add(pairs[t], products) };
                match step {
                    3 => i32x4_add(sum, i32x4_dot_i16x8(pairs[t], i16x8_splat(1))),
                    _ => sum,
                }
            })
        }
    }

    #[inline(always)]
    unsafe fn dots<const N: usize, const T: usize>(codes: &Codes<N>, x: Columns) -> [v128; T] {
        // SAFETY: upheld by the caller.
        unsafe {
            each_step(codes, x, |_, sum, codes, x| {
                let pairs = i16x8_relaxed_dot_i8x16_i7x16(x, codes);
                i32x4_add(sum, i32x4_dot_i16x8(pairs, i16x8_splat(1)))
            })
        }
    }
}

/// Folds the sums of each token with `add`, step by step: `((step of four, token), sum, codes,
/// columns)`.
///
/// # Safety
///
/// As for [`Steps`].
#[inline(always)]
unsafe fn each_step<const N: usize, const T: usize>(
    codes: &Codes<N>,
    x: Columns,
    mut add: impl FnMut((usize, usize), v128, v128, v128) -> v128,
) -> [v128; T] {
    let mut sums = [i32x4_splat(0); T];
    for (sixteen, steps) in codes.iter().enumerate() {
        unroll_4!(4, step => {
            unroll_4!(T, t => {
                // SAFETY: upheld by the caller.
                let four = unsafe {
                    let place = x.first.add(t * x.stride + sixteen * 16 + step * 4);
                    v128_load32_splat(place.cast())
                };
                sums[t] = add((step, t), sums[t], steps[step], four);
            });
        });
    }
    sums
}
