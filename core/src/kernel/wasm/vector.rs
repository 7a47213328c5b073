//! The lanes of row operations in four 128-bit vectors.

use core::arch::wasm32::*;

use super::lanes::kept;
use crate::kernel::vector::{LANES, Vector};

/// The indices of the bytes of four words, lowest bytes first.
static BYTES: v128 = u8x16(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
/// The indices of the halves of four words, low halves first.
static HALVES: v128 = u8x16(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);

/// Sixteen f32.
#[derive(Clone, Copy)]
pub(super) struct Lanes([v128; 4]);

impl Lanes {
    #[inline(always)]
    fn zip(self, other: Self, operation: impl Fn(v128, v128) -> v128) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([operation(a, e), operation(b, f), operation(c, g), operation(d, h)])
    }

    #[inline(always)]
    fn map(self, operation: impl Fn(v128) -> v128) -> Self {
        Self(self.0.map(operation))
    }

    /// Combines lane i and lane i + 8, then i + 4, i + 2, i + 1.
    #[inline(always)]
    fn fold(self, combine: impl Fn(v128, v128) -> v128) -> f32 {
        let [a, b, c, d] = self.0;
        let fours = combine(combine(a, c), combine(b, d));
        let twos = combine(fours, i64x2_shuffle::<1, 0>(fours, fours));
        f32x4_extract_lane::<0>(combine(twos, i32x4_shuffle::<1, 0, 3, 2>(twos, twos)))
    }

    /// The low 16 bits of every lane, eight in a vector.
    #[inline(always)]
    fn words(self) -> [v128; 2] {
        let [a, b, c, d] = self.0;
        [[a, b], [c, d]].map(|[a, b]| swizzle(pairs(a, b), &HALVES))
    }
}

impl Vector for Lanes {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([f32x4_splat(value); 4])
    }

    #[inline(always)]
    fn load(values: &[f32; LANES]) -> Self {
        let place: *const v128 = values.as_ptr().cast();
        // SAFETY: sixteen numbers are four vectors.
        unsafe { Self([0, 1, 2, 3].map(|at| v128_load(place.add(at)))) }
    }

    #[inline(always)]
    fn store(self, values: &mut [f32; LANES]) {
        // SAFETY: sixteen numbers are four vectors.
        unsafe { store(self.0, values.as_mut_ptr().cast()) };
    }

    #[inline(always)]
    fn load_bytes(bytes: &[u8; LANES], flip: u8) -> Self {
        // SAFETY: there are sixteen bytes.
        let bytes = unsafe { v128_load(bytes.as_ptr().cast()) };
        let bytes = v128_xor(bytes, u8x16_splat(flip));
        let (low, high) = (u16x8_extend_low_u8x16(bytes), u16x8_extend_high_u8x16(bytes));
        Self([
            f32x4_convert_u32x4(u32x4_extend_low_u16x8(low)),
            f32x4_convert_u32x4(u32x4_extend_high_u16x8(low)),
            f32x4_convert_u32x4(u32x4_extend_low_u16x8(high)),
            f32x4_convert_u32x4(u32x4_extend_high_u16x8(high)),
        ])
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| f32x4_add(a, b))
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| f32x4_sub(a, b))
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| f32x4_mul(a, b))
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| f32x4_div(a, b))
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, least)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, most)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.map(|lanes| f32x4_abs(lanes))
    }

    #[inline(always)]
    fn power_of_two(self) -> Self {
        // The low mantissa bits hold n: shifted into the exponent they are 2ⁿ.
        self.map(|lanes| i32x4_add(i32x4_shl(lanes, 23), f32x4_splat(1.0)))
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        self.fold(|a, b| f32x4_add(a, b))
    }

    #[inline(always)]
    fn least(self) -> f32 {
        self.fold(least)
    }

    #[inline(always)]
    fn most(self) -> f32 {
        self.fold(most)
    }

    #[inline(always)]
    fn store_codes(self, codes: &mut [u8; LANES]) {
        let [a, b, c, d] = self.map(|lanes| v128_and(lanes, i32x4_splat(0x7f))).0;
        let (low, high) = (v128_or(a, i32x4_shl(b, 8)), v128_or(c, i32x4_shl(d, 8)));
        let bytes = swizzle(v128_or(low, i32x4_shl(high, 16)), &BYTES);
        // SAFETY: there is room for sixteen bytes.
        unsafe { v128_store(codes.as_mut_ptr().cast(), bytes) };
    }

    #[inline(always)]
    fn store_words(self, words: &mut [u8; 2 * LANES]) {
        // SAFETY: there is room for sixteen words, two vectors.
        unsafe { store(self.words(), words.as_mut_ptr().cast()) };
    }

    #[inline(always)]
    fn store_pairs(self, other: Self, words: &mut [u8; 4 * LANES]) {
        let pairs = self.zip(other, pairs);
        // SAFETY: there is room for sixteen pairs of words, four vectors.
        unsafe { store(pairs.0, words.as_mut_ptr().cast()) };
    }
}

/// Per lane `a` if it is less, else `b`.
#[inline(always)]
fn least(a: v128, b: v128) -> v128 {
    // The compiler does not turn the comparison into the `pmin` instruction everywhere. The relaxed
    // one differs for NaN lanes.
    #[cfg(target_feature = "relaxed-simd")]
    let least = f32x4_relaxed_min(a, b);
    #[cfg(not(target_feature = "relaxed-simd"))]
    let least = f32x4_pmin(b, a);
    least
}

/// Per lane `a` if it is greater, else `b`.
#[inline(always)]
fn most(a: v128, b: v128) -> v128 {
    #[cfg(target_feature = "relaxed-simd")]
    let most = f32x4_relaxed_max(a, b);
    #[cfg(not(target_feature = "relaxed-simd"))]
    let most = f32x4_pmax(b, a);
    most
}

/// The low 16 bits of every lane of `low`, with those of `high` above them.
#[inline(always)]
fn pairs(low: v128, high: v128) -> v128 {
    v128_or(v128_and(low, i32x4_splat(0xffff)), i32x4_shl(high, 16))
}

/// The bytes of `vector` at these indices.
///
/// Narrowing instructions would also combine them, but the compiler splits those into steps for
/// every lane.
#[inline(always)]
fn swizzle(vector: v128, places: &'static v128) -> v128 {
    let places = kept(places);
    #[cfg(target_feature = "relaxed-simd")]
    let bytes = i8x16_relaxed_swizzle(vector, places);
    #[cfg(not(target_feature = "relaxed-simd"))]
    let bytes = i8x16_swizzle(vector, places);
    bytes
}

/// # Safety
///
/// There must be room for `N` vectors at `place`.
#[inline(always)]
unsafe fn store<const N: usize>(vectors: [v128; N], place: *mut v128) {
    for (at, vector) in vectors.into_iter().enumerate() {
        // SAFETY: upheld by the caller.
        unsafe { v128_store(place.add(at), vector) };
    }
}
