//! Products of bytes with each instruction set.

use core::arch::wasm32::*;

use super::instructions::{Dot, Simd128};
#[cfg(target_feature = "relaxed-simd")]
use super::instructions::{ONES, Relaxed, RelaxedPairs, SmallPairs};
#[cfg(target_feature = "relaxed-simd")]
use super::lanes::kept;
#[cfg(target_feature = "relaxed-simd")]
use super::narrow;

impl Dot for Simd128 {
    const TILE_TOKENS: usize = 4;
    const TILE_ROWS: usize = 2;
    const CODES: usize = 8;

    type Codes = v128;
    type Small = Self;
    type Narrow = ();

    #[inline(always)]
    unsafe fn codes(place: *const u8) -> v128 {
        // SAFETY: upheld by the caller. Codes below 128 are the same as signed bytes.
        unsafe { i16x8_load_extend_i8x8(place.cast()) }
    }

    #[inline(always)]
    fn new() -> Self {
        Self
    }

    #[inline(always)]
    fn dot(self, sum: v128, codes: v128, weights: v128) -> v128 {
        i32x4_add(sum, i32x4_dot_i16x8(codes, weights))
    }
}

#[cfg(target_feature = "relaxed-simd")]
impl Dot for Relaxed {
    const TILE_TOKENS: usize = 6;
    const TILE_ROWS: usize = 2;
    const CODES: usize = 16;

    type Codes = v128;
    type Small = Self;
    type Narrow = ();

    #[inline(always)]
    unsafe fn codes(place: *const u8) -> v128 {
        // SAFETY: upheld by the caller.
        unsafe { v128_load(place.cast()) }
    }

    #[inline(always)]
    fn new() -> Self {
        Self
    }

    #[inline(always)]
    fn dot(self, sum: v128, codes: v128, weights: v128) -> v128 {
        // Defined as long as the second operand is below 128: nothing saturates in between, see
        // `kernel::integer`.
        i32x4_relaxed_dot_i8x16_i7x16_add(weights, codes, sum)
    }
}

#[cfg(target_feature = "relaxed-simd")]
impl Dot for RelaxedPairs {
    /// 8 sums, two parts of a row and of a token, and the ones: 13 registers.
    const TILE_TOKENS: usize = 8;
    const TILE_ROWS: usize = 1;
    const CODES: usize = 32;

    type Codes = [v128; 2];
    type Small = SmallPairs;
    type Narrow = narrow::Band;

    #[inline(always)]
    unsafe fn codes(place: *const u8) -> [v128; 2] {
        // SAFETY: upheld by the caller.
        unsafe { [Relaxed::codes(place), Relaxed::codes(place.add(16))] }
    }

    #[inline(always)]
    fn new() -> Self {
        Self { ones: kept(&ONES) }
    }

    #[inline(always)]
    fn dot(self, sum: v128, codes: [v128; 2], weights: [v128; 2]) -> v128 {
        let sum = self.add(sum, Self::pairs(codes[0], weights[0]));
        self.add(sum, Self::pairs(codes[1], weights[1]))
    }
}

#[cfg(target_feature = "relaxed-simd")]
impl Dot for SmallPairs {
    const TILE_TOKENS: usize = RelaxedPairs::TILE_TOKENS;
    const TILE_ROWS: usize = RelaxedPairs::TILE_ROWS;
    const CODES: usize = RelaxedPairs::CODES;

    type Codes = [v128; 2];
    type Small = Self;
    type Narrow = ();

    #[inline(always)]
    unsafe fn codes(place: *const u8) -> [v128; 2] {
        // SAFETY: upheld by the caller.
        unsafe { RelaxedPairs::codes(place) }
    }

    #[inline(always)]
    fn new() -> Self {
        Self(RelaxedPairs::new())
    }

    #[inline(always)]
    fn dot(self, sum: v128, codes: [v128; 2], weights: [v128; 2]) -> v128 {
        let [a, b] = [0, 1].map(|at| RelaxedPairs::pairs(codes[at], weights[at]));
        self.0.add(sum, i16x8_add(a, b))
    }
}
