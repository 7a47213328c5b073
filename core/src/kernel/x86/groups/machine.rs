//! The 256-bit and 512-bit vectors for products of groups.

use core::arch::x86_64::*;

use super::super::transpose::transpose_quarters;
use crate::kernel::groups::TILE_ROWS;

/// Vectors of 32-bit sums and of floats, one lane per row.
///
/// # Safety
///
/// Methods must be called only in functions that have the instructions enabled.
pub(in super::super) trait Machine {
    /// 32-bit lanes: 8 or 16.
    const LANES: usize;
    /// Tokens of a tile.
    const TOKENS: usize;
    type Ints: Copy;
    type Floats: Copy;
    unsafe fn zero() -> Self::Ints;
    /// 16 bytes from each place, one per quarter or half; those of rows 4 apart.
    unsafe fn line(places: &[*const u8; TILE_ROWS], first: usize, column: usize) -> Self::Ints;
    /// In every quarter, the lines' 4 × 4 groups of four bytes transposed.
    unsafe fn transpose(lines: [Self::Ints; 4]) -> [Self::Ints; 4];
    unsafe fn or(a: Self::Ints, b: Self::Ints) -> Self::Ints;
    /// Returns true if any byte is 128 or more.
    unsafe fn any_wide(bytes: Self::Ints) -> bool;
    unsafe fn store_panel(place: *mut u8, bytes: Self::Ints);
    unsafe fn load_panel(place: *const u8) -> Self::Ints;
    /// Adds to each lane the products of four unsigned bytes of `w` and the signed ones of `x`.
    unsafe fn dot<const WIDE: bool>(sum: Self::Ints, w: Self::Ints, x: i32) -> Self::Ints;
    unsafe fn float(ints: Self::Ints) -> Self::Floats;
    unsafe fn splat(value: f32) -> Self::Floats;
    unsafe fn load(place: *const f32) -> Self::Floats;
    unsafe fn store(place: *mut f32, values: Self::Floats);
    unsafe fn add(a: Self::Floats, b: Self::Floats) -> Self::Floats;
    unsafe fn mul(a: Self::Floats, b: Self::Floats) -> Self::Floats;
}

/// The methods that tables of the same width share.
macro_rules! methods_256 {
    () => {
        const LANES: usize = 8;
        const TOKENS: usize = 4;
        type Ints = __m256i;
        type Floats = __m256;

        #[inline(always)]
        unsafe fn zero() -> __m256i {
            // SAFETY: see the trait.
            unsafe { _mm256_setzero_si256() }
        }

        #[inline(always)]
        unsafe fn line(places: &[*const u8; TILE_ROWS], first: usize, column: usize) -> __m256i {
            // SAFETY: upheld by the caller; see the trait.
            unsafe {
                let load = |row: usize| _mm_loadu_si128(places[row].add(column).cast());
                _mm256_set_m128i(load(first + 4), load(first))
            }
        }

        #[inline(always)]
        unsafe fn transpose([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
            // SAFETY: see the trait.
            unsafe {
                let ab = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
                let cd = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
                [
                    _mm256_unpacklo_epi64(ab.0, cd.0),
                    _mm256_unpackhi_epi64(ab.0, cd.0),
                    _mm256_unpacklo_epi64(ab.1, cd.1),
                    _mm256_unpackhi_epi64(ab.1, cd.1),
                ]
            }
        }

        #[inline(always)]
        unsafe fn or(a: __m256i, b: __m256i) -> __m256i {
            // SAFETY: see the trait.
            unsafe { _mm256_or_si256(a, b) }
        }

        #[inline(always)]
        unsafe fn any_wide(bytes: __m256i) -> bool {
            // SAFETY: see the trait.
            unsafe { _mm256_movemask_epi8(bytes) != 0 }
        }

        #[inline(always)]
        unsafe fn store_panel(place: *mut u8, bytes: __m256i) {
            // SAFETY: upheld by the caller; panels are aligned.
            unsafe { _mm256_store_si256(place.cast(), bytes) }
        }

        #[inline(always)]
        unsafe fn load_panel(place: *const u8) -> __m256i {
            // SAFETY: upheld by the caller; panels are aligned.
            unsafe { _mm256_load_si256(place.cast()) }
        }

        #[inline(always)]
        unsafe fn float(ints: __m256i) -> __m256 {
            // SAFETY: see the trait.
            unsafe { _mm256_cvtepi32_ps(ints) }
        }

        #[inline(always)]
        unsafe fn splat(value: f32) -> __m256 {
            // SAFETY: see the trait.
            unsafe { _mm256_set1_ps(value) }
        }

        #[inline(always)]
        unsafe fn load(place: *const f32) -> __m256 {
            // SAFETY: upheld by the caller.
            unsafe { _mm256_loadu_ps(place) }
        }

        #[inline(always)]
        unsafe fn store(place: *mut f32, values: __m256) {
            // SAFETY: upheld by the caller.
            unsafe { _mm256_storeu_ps(place, values) }
        }

        #[inline(always)]
        unsafe fn add(a: __m256, b: __m256) -> __m256 {
            // SAFETY: see the trait.
            unsafe { _mm256_add_ps(a, b) }
        }

        #[inline(always)]
        unsafe fn mul(a: __m256, b: __m256) -> __m256 {
            // SAFETY: see the trait.
            unsafe { _mm256_mul_ps(a, b) }
        }
    };
}

pub(in super::super) struct Avx2;

impl Machine for Avx2 {
    methods_256!();

    #[inline(always)]
    unsafe fn dot<const WIDE: bool>(sum: __m256i, w: __m256i, x: i32) -> __m256i {
        // SAFETY: see the trait.
        unsafe {
            let (x, ones) = (_mm256_set1_epi32(x), _mm256_set1_epi16(1));
            // Two products of 7 bits each fit 16, so do two of 128.
            let low = if WIDE { _mm256_and_si256(w, _mm256_set1_epi8(0x7f)) } else { w };
            let sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(low, x), ones));
            if !WIDE {
                return sum;
            }
            let high = _mm256_and_si256(w, _mm256_set1_epi8(-128));
            _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(high, x), ones))
        }
    }
}

pub(in super::super) struct AvxVnni;

impl Machine for AvxVnni {
    methods_256!();

    #[inline(always)]
    unsafe fn dot<const WIDE: bool>(sum: __m256i, w: __m256i, x: i32) -> __m256i {
        // SAFETY: see the trait.
        unsafe { _mm256_dpbusd_avx_epi32(sum, w, _mm256_set1_epi32(x)) }
    }
}

pub(in super::super) struct Avx512Vnni;

impl Machine for Avx512Vnni {
    const LANES: usize = 16;
    const TOKENS: usize = 12;
    type Ints = __m512i;
    type Floats = __m512;

    #[inline(always)]
    unsafe fn zero() -> __m512i {
        // SAFETY: see the trait.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    unsafe fn line(places: &[*const u8; TILE_ROWS], first: usize, column: usize) -> __m512i {
        // SAFETY: upheld by the caller; see the trait.
        unsafe {
            let load = |row: usize| _mm_loadu_si128(places[row].add(column).cast());
            let joined = _mm512_castsi128_si512(load(first));
            let joined = _mm512_inserti32x4::<1>(joined, load(first + 4));
            let joined = _mm512_inserti32x4::<2>(joined, load(first + 8));
            _mm512_inserti32x4::<3>(joined, load(first + 12))
        }
    }

    #[inline(always)]
    unsafe fn transpose(lines: [__m512i; 4]) -> [__m512i; 4] {
        // SAFETY: see the trait.
        unsafe { transpose_quarters(lines) }
    }

    #[inline(always)]
    unsafe fn or(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the trait.
        unsafe { _mm512_or_si512(a, b) }
    }

    #[inline(always)]
    unsafe fn any_wide(_: __m512i) -> bool {
        false // Nothing saturates.
    }

    #[inline(always)]
    unsafe fn store_panel(place: *mut u8, bytes: __m512i) {
        // SAFETY: upheld by the caller; panels are aligned.
        unsafe { _mm512_store_si512(place.cast(), bytes) }
    }

    #[inline(always)]
    unsafe fn load_panel(place: *const u8) -> __m512i {
        // SAFETY: upheld by the caller; panels are aligned.
        unsafe { _mm512_load_si512(place.cast()) }
    }

    #[inline(always)]
    unsafe fn dot<const WIDE: bool>(sum: __m512i, w: __m512i, x: i32) -> __m512i {
        // SAFETY: see the trait.
        unsafe { _mm512_dpbusd_epi32(sum, w, _mm512_set1_epi32(x)) }
    }

    #[inline(always)]
    unsafe fn float(ints: __m512i) -> __m512 {
        // SAFETY: see the trait.
        unsafe { _mm512_cvtepi32_ps(ints) }
    }

    #[inline(always)]
    unsafe fn splat(value: f32) -> __m512 {
        // SAFETY: see the trait.
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    unsafe fn load(place: *const f32) -> __m512 {
        // SAFETY: upheld by the caller.
        unsafe { _mm512_loadu_ps(place) }
    }

    #[inline(always)]
    unsafe fn store(place: *mut f32, values: __m512) {
        // SAFETY: upheld by the caller.
        unsafe { _mm512_storeu_ps(place, values) }
    }

    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        // SAFETY: see the trait.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        // SAFETY: see the trait.
        unsafe { _mm512_mul_ps(a, b) }
    }
}
