//! What differs between simd128 and relaxed SIMD, and between CPUs that run the latter: types of
//! instructions, and what products want of them.

use core::arch::wasm32::*;
use core::mem::MaybeUninit;

use crate::kernel::integer::ProductI8;
use crate::kernel::summary::RowSummary;

/// The most columns whose codes are made ready for a tile; models quantise groups of fewer.
pub(super) const MAX_READY_COLS: usize = 4096;
/// Vectors of a tile's tokens: four with 8 codes a vector, or eight with 16.
pub(super) const READY: usize = 8 * MAX_READY_COLS / 16;
/// The codes of a tile's tokens, made ready.
pub(super) type Ready = [MaybeUninit<v128>; READY];

/// The instructions for f32, which differ between simd128 and relaxed SIMD.
pub(super) trait Instructions {
    /// `a · b + c` in f32.
    fn multiply_add(a: v128, b: v128, c: v128) -> v128;
}

/// The same for products of bytes.
pub(super) trait Dot: Copy {
    /// How many tokens a tile has, at most 8.
    const TILE_TOKENS: usize;

    /// How many rows a tile has, 1 or 2.
    const TILE_ROWS: usize;

    /// How many 8-bit codes a step takes, at most 32.
    const CODES: usize;

    /// As many codes, in the form that [`dot`](Self::dot) wants.
    type Codes: StepCodes;

    /// How rows are multiplied whose weights are [small](RowSummary::is_small).
    type Small: Dot<Codes = Self::Codes>;

    /// How rows are multiplied whose sums are known to fit 16 bits.
    type Narrow: Narrow;

    /// # Safety
    ///
    /// [`CODES`](Self::CODES) bytes can be read at `place`.
    unsafe fn codes(place: *const u8) -> Self::Codes;

    /// With what [`dot`](Self::dot) needs beside its operands.
    fn new() -> Self;

    /// Adds the products of activation codes (0 … 127) and weights, some of them each, to four
    /// 32-bit sums.
    fn dot(self, sum: v128, codes: Self::Codes, weights: Self::Codes) -> v128;
}

/// The instructions of simd128.
#[derive(Clone, Copy)]
pub(super) struct Simd128;

impl Instructions for Simd128 {
    #[inline(always)]
    fn multiply_add(a: v128, b: v128, c: v128) -> v128 {
        f32x4_add(f32x4_mul(a, b), c)
    }
}

/// The instructions of relaxed SIMD.
#[cfg(target_feature = "relaxed-simd")]
#[derive(Clone, Copy)]
pub(super) struct Relaxed;

#[cfg(target_feature = "relaxed-simd")]
impl Instructions for Relaxed {
    #[inline(always)]
    fn multiply_add(a: v128, b: v128, c: v128) -> v128 {
        f32x4_relaxed_madd(a, b, c)
    }
}

/// Relaxed SIMD where the CPU has no instruction for a whole dot product of bytes. V8 makes five of
/// it then, and two of these are for a vector of ones, which here stays in a register.
#[cfg(target_feature = "relaxed-simd")]
#[derive(Clone, Copy)]
pub(super) struct RelaxedPairs {
    pub(super) ones: v128,
}

/// What pairs are multiplied with to add them up.
#[cfg(target_feature = "relaxed-simd")]
pub(super) static ONES: v128 = i16x8(1, 1, 1, 1, 1, 1, 1, 1);

#[cfg(target_feature = "relaxed-simd")]
impl RelaxedPairs {
    /// The products of 16 codes and weights, two neighbours each.
    #[inline(always)]
    pub(super) fn pairs(codes: v128, weights: v128) -> v128 {
        i16x8_relaxed_dot_i8x16_i7x16(weights, codes)
    }

    /// Adds pairs to four 32-bit sums.
    #[inline(always)]
    pub(super) fn add(self, sum: v128, pairs: v128) -> v128 {
        i32x4_add(sum, i32x4_dot_i16x8(pairs, self.ones))
    }
}

/// [`RelaxedPairs`] of weights so small that pairs of 32 columns are added up in 16 bits: five
/// instructions instead of six, and three of them multiplications instead of four, which is what
/// the units for those wait for.
#[cfg(target_feature = "relaxed-simd")]
#[derive(Clone, Copy)]
pub(super) struct SmallPairs(pub(super) RelaxedPairs);

/// Whether the CPU multiplies and adds bytes by pairs and saturates their sums, as x86-64 does
/// without VNNI. Nothing tells a module what it runs on, but with bytes that [`Dot`] never has,
/// what relaxed SIMD leaves open shows it.
#[cfg(target_feature = "relaxed-simd")]
#[inline(always)]
pub(super) fn adds_pairs() -> bool {
    const SATURATED: i32 = 2 * i16::MAX as i32;
    let dot = i32x4_relaxed_dot_i8x16_i7x16_add(i8x16_splat(127), i8x16_splat(-1), i32x4_splat(0));
    i32x4_extract_lane::<0>(dot) == SATURATED
}

/// The codes of a step, one or more vectors.
pub(super) trait StepCodes: Copy {
    /// How many.
    const VECTORS: usize;

    /// Those of a token, which lie `T` vectors apart from `place` on.
    ///
    /// # Safety
    ///
    /// There are as many vectors.
    unsafe fn read<const T: usize>(place: *const v128) -> Self;

    /// Writes them where they are [read](Self::read).
    ///
    /// # Safety
    ///
    /// There is room for as many vectors.
    unsafe fn write<const T: usize>(self, place: *mut v128);
}

impl StepCodes for v128 {
    const VECTORS: usize = 1;

    #[inline(always)]
    unsafe fn read<const T: usize>(place: *const v128) -> Self {
        // SAFETY: the caller's.
        unsafe { *place }
    }

    #[inline(always)]
    unsafe fn write<const T: usize>(self, place: *mut v128) {
        // SAFETY: the caller's.
        unsafe { *place = self };
    }
}

impl StepCodes for [v128; 2] {
    const VECTORS: usize = 2;

    #[inline(always)]
    unsafe fn read<const T: usize>(place: *const v128) -> Self {
        // SAFETY: the caller's.
        unsafe { [*place, *place.add(T)] }
    }

    #[inline(always)]
    unsafe fn write<const T: usize>(self, place: *mut v128) {
        // SAFETY: the caller's.
        unsafe { [*place, *place.add(T)] = self };
    }
}

/// How rows are multiplied that can be added up in 16 bits, if a CPU is the faster for it: what is
/// found out of tokens for that.
pub(super) trait Narrow: Sized {
    /// How many rows are multiplied at a time.
    const ROWS: usize;

    /// Of the `T` tokens from `token` on, whose codes are ready, if any row can be multiplied with
    /// them like this.
    fn new<const T: usize>(product: &ProductI8<'_>, token: usize, ready: &Ready) -> Option<Self>;

    /// Multiplies these tokens with the rows from `place`'s on, [`ROWS`](Self::ROWS) at a time,
    /// until the sums of some may not fit; returns how many rows it has multiplied.
    ///
    /// # Safety
    ///
    /// The tokens' codes are ready, and there are as many rows as summaries, which are theirs.
    unsafe fn multiply(
        &self,
        product: &mut ProductI8<'_>,
        place: (usize, usize),
        summaries: &[RowSummary],
        ready: &Ready,
    ) -> usize;
}

/// No such rows.
impl Narrow for () {
    const ROWS: usize = 1;

    #[inline(always)]
    fn new<const T: usize>(_: &ProductI8<'_>, _: usize, _: &Ready) -> Option<Self> {
        None
    }

    #[inline(always)]
    unsafe fn multiply(
        &self,
        _: &mut ProductI8<'_>,
        _: (usize, usize),
        _: &[RowSummary],
        _: &Ready,
    ) -> usize {
        0
    }
}
