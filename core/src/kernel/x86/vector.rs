//! Sixteen lanes in two 256-bit registers or in one of 512 bits.
//!
//! These types are named only in functions of tables that are returned after their instructions
//! were detected, and that have them enabled: that is the safety argument of every block below.

use core::arch::x86_64::*;

use crate::kernel::vector::{LANES, Vector};

/// AVX2.
#[derive(Clone, Copy)]
pub(super) struct Avx2(pub(super) __m256, pub(super) __m256);

/// AVX-512.
#[derive(Clone, Copy)]
pub(super) struct Avx512(pub(super) __m512);

/// Lane-wise operations by intrinsics of two operands.
macro_rules! lane_wise {
    ($($name:ident $avx2:ident $avx512:ident;)+) => {
        impl Avx2 {$(
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                // SAFETY: see the module.
                unsafe { Self($avx2(self.0, other.0), $avx2(self.1, other.1)) }
            }
        )+}

        impl Avx512 {$(
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                // SAFETY: see the module.
                unsafe { Self($avx512(self.0, other.0)) }
            }
        )+}
    };
}

lane_wise! {
    add_lanes _mm256_add_ps _mm512_add_ps;
    sub_lanes _mm256_sub_ps _mm512_sub_ps;
    mul_lanes _mm256_mul_ps _mm512_mul_ps;
    div_lanes _mm256_div_ps _mm512_div_ps;
    min_lanes _mm256_min_ps _mm512_min_ps;
    max_lanes _mm256_max_ps _mm512_max_ps;
}

/// The last three steps of a reduction, with an operation on four lanes and on one.
macro_rules! fold_four {
    ($four:expr, $operation:ident, $one:ident) => {{
        let two = $operation($four, _mm_movehl_ps($four, $four));
        _mm_cvtss_f32($one(two, _mm_shuffle_ps::<1>(two, two)))
    }};
}

/// The methods of [`lane_wise`] for both types.
macro_rules! forward {
    () => {
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            self.add_lanes(other)
        }

        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            self.sub_lanes(other)
        }

        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            self.mul_lanes(other)
        }

        #[inline(always)]
        fn div(self, other: Self) -> Self {
            self.div_lanes(other)
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            self.min_lanes(other)
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            self.max_lanes(other)
        }
    };
}

impl Vector for Avx2 {
    forward!();

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: see the module.
        unsafe { Self(_mm256_set1_ps(value), _mm256_set1_ps(value)) }
    }

    #[inline(always)]
    fn load(values: &[f32; LANES]) -> Self {
        // SAFETY: see the module; there are 16 numbers.
        unsafe {
            let place = values.as_ptr();
            Self(_mm256_loadu_ps(place), _mm256_loadu_ps(place.add(8)))
        }
    }

    #[inline(always)]
    fn store(self, values: &mut [f32; LANES]) {
        // SAFETY: see the module; there are 16 numbers.
        unsafe {
            let place = values.as_mut_ptr();
            _mm256_storeu_ps(place, self.0);
            _mm256_storeu_ps(place.add(8), self.1);
        }
    }

    #[inline(always)]
    fn load_bytes(bytes: &[u8; LANES], flip: u8) -> Self {
        // SAFETY: see the module; there are 16 bytes.
        unsafe {
            let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
            let bytes = _mm_xor_si128(bytes, _mm_set1_epi8(flip.cast_signed()));
            let half = |bytes| _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
            Self(half(bytes), half(_mm_unpackhi_epi64(bytes, bytes)))
        }
    }

    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: see the module.
        unsafe {
            let sign = _mm256_set1_ps(-0.0);
            Self(_mm256_andnot_ps(sign, self.0), _mm256_andnot_ps(sign, self.1))
        }
    }

    #[inline(always)]
    fn power_of_two(self) -> Self {
        // SAFETY: see the module.
        unsafe {
            let one = _mm256_castps_si256(_mm256_set1_ps(1.0));
            let half = |x| {
                let exponent = _mm256_slli_epi32::<23>(_mm256_castps_si256(x));
                _mm256_castsi256_ps(_mm256_add_epi32(exponent, one))
            };
            Self(half(self.0), half(self.1))
        }
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: see the module.
        unsafe {
            let eight = _mm256_add_ps(self.0, self.1);
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            fold_four!(four, _mm_add_ps, _mm_add_ss)
        }
    }

    #[inline(always)]
    fn least(self) -> f32 {
        // SAFETY: see the module.
        unsafe {
            let eight = _mm256_min_ps(self.0, self.1);
            let four = _mm_min_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            fold_four!(four, _mm_min_ps, _mm_min_ss)
        }
    }

    #[inline(always)]
    fn most(self) -> f32 {
        // SAFETY: see the module.
        unsafe {
            let eight = _mm256_max_ps(self.0, self.1);
            let four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            fold_four!(four, _mm_max_ps, _mm_max_ss)
        }
    }

    #[inline(always)]
    fn store_codes(self, codes: &mut [u8; LANES]) {
        // SAFETY: see the module; there are 16 bytes.
        unsafe {
            let mask = _mm256_set1_epi32(0x7f);
            let low = _mm256_and_si256(_mm256_castps_si256(self.0), mask);
            let high = _mm256_and_si256(_mm256_castps_si256(self.1), mask);
            // Packing works in halves, so the middle quarters are swapped afterwards.
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(low, high));
            let halves = (_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            _mm_storeu_si128(codes.as_mut_ptr().cast(), _mm_packus_epi16(halves.0, halves.1));
        }
    }

    #[inline(always)]
    fn store_words(self, words: &mut [u8; 2 * LANES]) {
        // SAFETY: see the module; there are 32 bytes.
        unsafe {
            let mask = _mm256_set1_epi32(0xffff);
            let low = _mm256_and_si256(_mm256_castps_si256(self.0), mask);
            let high = _mm256_and_si256(_mm256_castps_si256(self.1), mask);
            let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(low, high));
            _mm256_storeu_si256(words.as_mut_ptr().cast(), packed);
        }
    }

    #[inline(always)]
    fn store_pairs(self, other: Self, words: &mut [u8; 4 * LANES]) {
        // SAFETY: see the module; there are 64 bytes.
        unsafe {
            let pair = |low, high| {
                let high = _mm256_slli_epi32::<16>(_mm256_castps_si256(high));
                _mm256_blend_epi16::<0b1010_1010>(_mm256_castps_si256(low), high)
            };
            let place: *mut __m256i = words.as_mut_ptr().cast();
            _mm256_storeu_si256(place, pair(self.0, other.0));
            _mm256_storeu_si256(place.add(1), pair(self.1, other.1));
        }
    }
}

impl Avx512 {
    /// The lower and the upper half.
    #[inline(always)]
    pub(super) fn halves(self) -> Avx2 {
        // SAFETY: see the module.
        unsafe { Avx2(_mm512_castps512_ps256(self.0), _mm512_extractf32x8_ps::<1>(self.0)) }
    }
}

/// A mask of the first `count` lanes, or of all.
#[inline(always)]
pub(super) fn first_lanes(count: usize) -> __mmask16 {
    if count < LANES { (1 << count) - 1 } else { u16::MAX }
}

impl Vector for Avx512 {
    forward!();

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: see the module.
        unsafe { Self(_mm512_set1_ps(value)) }
    }

    #[inline(always)]
    fn load(values: &[f32; LANES]) -> Self {
        // SAFETY: see the module; there are 16 numbers.
        unsafe { Self(_mm512_loadu_ps(values.as_ptr())) }
    }

    #[inline(always)]
    fn store(self, values: &mut [f32; LANES]) {
        // SAFETY: see the module; there are 16 numbers.
        unsafe { _mm512_storeu_ps(values.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn load_part(part: &[f32], fill: f32) -> Self {
        // SAFETY: see the module; the mask covers no more than the part.
        unsafe {
            Self(_mm512_mask_loadu_ps(_mm512_set1_ps(fill), first_lanes(part.len()), part.as_ptr()))
        }
    }

    #[inline(always)]
    fn store_part(self, part: &mut [f32]) {
        // SAFETY: as above.
        unsafe { _mm512_mask_storeu_ps(part.as_mut_ptr(), first_lanes(part.len()), self.0) }
    }

    #[inline(always)]
    fn load_bytes(bytes: &[u8; LANES], flip: u8) -> Self {
        // SAFETY: see the module; there are 16 bytes.
        unsafe {
            let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
            let bytes = _mm_xor_si128(bytes, _mm_set1_epi8(flip.cast_signed()));
            Self(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)))
        }
    }

    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: see the module.
        unsafe { Self(_mm512_abs_ps(self.0)) }
    }

    #[inline(always)]
    fn power_of_two(self) -> Self {
        // SAFETY: see the module.
        unsafe {
            let one = _mm512_castps_si512(_mm512_set1_ps(1.0));
            let exponent = _mm512_slli_epi32::<23>(_mm512_castps_si512(self.0));
            Self(_mm512_castsi512_ps(_mm512_add_epi32(exponent, one)))
        }
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        self.halves().sum()
    }

    #[inline(always)]
    fn least(self) -> f32 {
        self.halves().least()
    }

    #[inline(always)]
    fn most(self) -> f32 {
        self.halves().most()
    }

    #[inline(always)]
    fn store_codes(self, codes: &mut [u8; LANES]) {
        // SAFETY: see the module; there are 16 bytes.
        unsafe {
            let low = _mm512_and_si512(_mm512_castps_si512(self.0), _mm512_set1_epi32(0x7f));
            _mm_storeu_si128(codes.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(low));
        }
    }

    #[inline(always)]
    fn store_words(self, words: &mut [u8; 2 * LANES]) {
        // SAFETY: see the module; there are 32 bytes.
        unsafe {
            let packed = _mm512_cvtepi32_epi16(_mm512_castps_si512(self.0));
            _mm256_storeu_si256(words.as_mut_ptr().cast(), packed);
        }
    }

    #[inline(always)]
    fn store_pairs(self, other: Self, words: &mut [u8; 4 * LANES]) {
        // SAFETY: see the module; there are 64 bytes.
        unsafe {
            let high = _mm512_slli_epi32::<16>(_mm512_castps_si512(other.0));
            let pairs = _mm512_mask_blend_epi16(0xaaaa_aaaa, _mm512_castps_si512(self.0), high);
            _mm512_storeu_si512(words.as_mut_ptr().cast(), pairs);
        }
    }
}
