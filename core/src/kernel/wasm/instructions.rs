//! The differences between simd128 and relaxed SIMD, and between CPUs that run the latter: types of
//! instructions, and their requirements on products.

use core::arch::wasm32::*;
use core::mem::MaybeUninit;

use crate::kernel::integer::ProductI8;
use crate::kernel::summary::RowSummary;

/// The largest number of columns whose codes are prepared for a tile; models quantise groups of
/// fewer.
pub(super) const MAX_READY_COLS: usize = 4096;
/// Vectors of a tile's tokens: four with 8 codes a vector, or eight with 16.
pub(super) const READY: usize = 8 * MAX_READY_COLS / 16;
/// The prepared codes of a tile's tokens.
pub(super) type Ready = [MaybeUninit<v128>; READY];

/// The instructions for f32, which differ between simd128 and relaxed SIMD.
pub(super) trait Instructions {
    /// `a · b + c` in f32.
    fn multiply_add(a: v128, b: v128, c: v128) -> v128;
}

/// The instructions for products of bytes.
pub(super) trait Dot: Copy {
    /// Tokens of a tile, at most 8.
    const TILE_TOKENS: usize;

    /// Rows of a tile, 1 or 2.
    const TILE_ROWS: usize;

    /// 8-bit codes per step, at most 32.
    const CODES: usize;

    /// [`CODES`](Self::CODES) codes in the form that [`dot`](Self::dot) takes.
    type Codes: StepCodes;

    /// The instructions for rows whose weights are [small](RowSummary::is_small).
    type Small: Dot<Codes = Self::Codes>;

    /// The instructions for rows whose sums are known to fit 16 bits.
    type Narrow: Narrow;

    /// # Safety
    ///
    /// [`CODES`](Self::CODES) bytes can be read at `place`.
    unsafe fn codes(place: *const u8) -> Self::Codes;

    /// Creates the constants that [`dot`](Self::dot) needs.
    fn new() -> Self;

    /// Adds the products of activation codes (0 … 127) and weights to four 32-bit sums.
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

/// Relaxed SIMD on CPUs without an instruction for a whole dot product of bytes. There V8 emits
/// five instructions, two of them to create a vector of ones, which here stays in a register.
#[cfg(target_feature = "relaxed-simd")]
#[derive(Clone, Copy)]
pub(super) struct RelaxedPairs {
    pub(super) ones: v128,
}

/// The factors that add up pairs.
#[cfg(target_feature = "relaxed-simd")]
pub(super) static ONES: v128 = i16x8(1, 1, 1, 1, 1, 1, 1, 1);

#[cfg(target_feature = "relaxed-simd")]
impl RelaxedPairs {
    /// The products of 16 codes and weights, adjacent ones added in pairs.
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

/// [`RelaxedPairs`] for weights so small that pairs of 32 columns are added up in 16 bits: five
/// instructions instead of six, of which three instead of four are multiplications, whose units are
/// the bottleneck.
#[cfg(target_feature = "relaxed-simd")]
#[derive(Clone, Copy)]
pub(super) struct SmallPairs(pub(super) RelaxedPairs);

/// Returns true if the CPU multiplies bytes and adds them up in saturating pairs, as x86-64 does
/// without VNNI. A module cannot query its CPU, but the result of relaxed SIMD on bytes that
/// [`Dot`] never uses reveals it.
#[cfg(target_feature = "relaxed-simd")]
#[inline(always)]
pub(super) fn adds_pairs() -> bool {
    const SATURATED: i32 = 2 * i16::MAX as i32;
    let dot = i32x4_relaxed_dot_i8x16_i7x16_add(i8x16_splat(127), i8x16_splat(-1), i32x4_splat(0));
    i32x4_extract_lane::<0>(dot) == SATURATED
}

/// The codes of a step, one or more vectors.
pub(super) trait StepCodes: Copy {
    /// The codes of a step, in one or more vectors.
    const VECTORS: usize;

    /// Reads the codes of a token, whose vectors are `T` apart from `place` on.
    ///
    /// # Safety
    ///
    /// There must be that many vectors.
    unsafe fn read<const T: usize>(place: *const v128) -> Self;

    /// Writes codes where they are [read](Self::read).
    ///
    /// # Safety
    ///
    /// There must be room for that many vectors.
    unsafe fn write<const T: usize>(self, place: *mut v128);
}

impl StepCodes for v128 {
    const VECTORS: usize = 1;

    #[inline(always)]
    unsafe fn read<const T: usize>(place: *const v128) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { *place }
    }

    #[inline(always)]
    unsafe fn write<const T: usize>(self, place: *mut v128) {
        // SAFETY: upheld by the caller.
        unsafe { *place = self };
    }
}

impl StepCodes for [v128; 2] {
    const VECTORS: usize = 2;

    #[inline(always)]
    unsafe fn read<const T: usize>(place: *const v128) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { [*place, *place.add(T)] }
    }

    #[inline(always)]
    unsafe fn write<const T: usize>(self, place: *mut v128) {
        // SAFETY: upheld by the caller.
        unsafe { [*place, *place.add(T)] = self };
    }
}

/// Multiplies rows whose sums fit 16 bits, on CPUs where that is faster: the token data that this
/// needs.
pub(super) trait Narrow: Sized {
    /// Rows multiplied at a time.
    const ROWS: usize;

    /// Prepares the `T` tokens from `token` on, whose codes are in `ready`; `None` if no row can be
    /// multiplied with them in this way.
    fn new<const T: usize>(product: &ProductI8<'_>, token: usize, ready: &Ready) -> Option<Self>;

    /// Multiplies these tokens with the rows from `place`'s on, [`ROWS`](Self::ROWS) at a time,
    /// until the sums of some may not fit; returns the number of rows multiplied.
    ///
    /// # Safety
    ///
    /// The tokens' codes must be ready, and `summaries` must be those of the rows.
    unsafe fn multiply(
        &self,
        product: &mut ProductI8<'_>,
        place: (usize, usize),
        summaries: &[RowSummary],
        ready: &Ready,
    ) -> usize;
}

/// Never applicable.
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
