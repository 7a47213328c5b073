//! Lanes that dequantise: codes in an SSE register, values in two of AVX2 or one of AVX-512.
//!
//! Like the types of [`vector`](super::vector), they are named only in functions that have the
//! instructions enabled and are returned only after those were detected: that is the safety
//! argument of every block below.

use core::arch::x86_64::*;

use super::vector::{Avx2, Avx512};
use crate::kernel::vector::Vector;
use crate::quant::lanes::{Codes, Factors, LANES, Lanes};

/// Sixteen codes, for AVX2 and later.
#[derive(Clone, Copy)]
pub(super) struct Xmm(__m128i);

impl Codes for Xmm {
    #[inline(always)]
    fn load(bytes: &[u8; LANES]) -> Self {
        // SAFETY: see the module; there are 16 bytes.
        unsafe { Self(_mm_loadu_si128(bytes.as_ptr().cast())) }
    }

    #[inline(always)]
    fn words([low, high]: [u64; 2]) -> Self {
        // SAFETY: see the module.
        unsafe { Self(_mm_set_epi64x(high.cast_signed(), low.cast_signed())) }
    }

    #[inline(always)]
    fn spread(bits: u16, value: u8) -> Self {
        // SAFETY: see the module.
        unsafe {
            let places = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
            let each = _mm_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
            let bytes = _mm_shuffle_epi8(_mm_cvtsi32_si128(bits.into()), places);
            let is_set = _mm_cmpeq_epi8(_mm_and_si128(bytes, each), each);
            Self(_mm_and_si128(is_set, _mm_set1_epi8(value.cast_signed())))
        }
    }

    #[inline(always)]
    fn field(self, shift: u32, mask: u8) -> Self {
        // SAFETY: see the module.
        unsafe {
            // The mask removes bits that come from the upper byte of a word.
            let words = _mm_srl_epi16(self.0, _mm_cvtsi32_si128(shift.cast_signed()));
            Self(_mm_and_si128(words, _mm_set1_epi8(mask.cast_signed())))
        }
    }

    #[inline(always)]
    fn join(self, high: Self, shift: u32) -> Self {
        // SAFETY: see the module.
        unsafe {
            let high = _mm_sll_epi16(high.0, _mm_cvtsi32_si128(shift.cast_signed()));
            Self(_mm_or_si128(self.0, high))
        }
    }

    #[inline(always)]
    fn less(self, offset: u8) -> Self {
        // SAFETY: see the module.
        unsafe { Self(_mm_sub_epi8(self.0, _mm_set1_epi8(offset.cast_signed()))) }
    }

    #[inline(always)]
    fn interleave(self, other: Self) -> [Self; 2] {
        // SAFETY: see the module.
        unsafe {
            [Self(_mm_unpacklo_epi8(self.0, other.0)), Self(_mm_unpackhi_epi8(self.0, other.0))]
        }
    }
}

/// AVX2, with results that bypass the caches.
pub(super) struct StreamedAvx2;

/// AVX-512, with results that bypass the caches.
pub(super) struct StreamedAvx512;

/// Lanes that store by `$store`, of a vector's `from_f16`, `from_bf16`, `from_i8` and
/// `look_up`.
macro_rules! lanes {
    ($name:ty, $vector:ty, $store:ident) => {
        impl Lanes for $name {
            type Codes = Xmm;
            type Factor = $vector;

            #[inline(always)]
            fn factor(value: f32) -> $vector {
                <$vector>::splat(value)
            }

            #[inline(always)]
            fn half(bytes: [u8; 2]) -> $vector {
                // As a vector from the start: a single word would be loaded into a register with a
                // false dependency.
                <$vector>::from_f16(&[bytes; LANES])
            }

            #[inline(always)]
            fn halves(bytes: &[[u8; 2]; LANES], out: &mut [f32; LANES]) {
                <$vector>::from_f16(bytes).$store(out);
            }

            #[inline(always)]
            fn bfloats(bytes: &[[u8; 2]; LANES], out: &mut [f32; LANES]) {
                <$vector>::from_bf16(bytes).$store(out);
            }

            #[inline(always)]
            fn scaled(codes: Xmm, scale: $vector, out: &mut [f32; LANES]) {
                scale.mul(<$vector>::from_i8(codes)).$store(out);
            }

            #[inline(always)]
            fn factors(codes: Xmm, scale: $vector) -> Factors {
                let mut factors = Factors([0.0; LANES]);
                scale.mul(<$vector>::from_i8(codes)).store(&mut factors.0);
                factors
            }

            #[inline(always)]
            fn plus(codes: Xmm, scale: $vector, minimum: $vector, out: &mut [f32; LANES]) {
                scale.mul(<$vector>::from_i8(codes)).add(minimum).$store(out);
            }

            #[inline(always)]
            fn minus(codes: Xmm, scale: $vector, minimum: $vector, out: &mut [f32; LANES]) {
                scale.mul(<$vector>::from_i8(codes)).sub(minimum).$store(out);
            }

            #[inline(always)]
            fn looked_up(codes: Xmm, values: &[f32; 16], scale: $vector, out: &mut [f32; LANES]) {
                <$vector>::look_up(codes, values).mul(scale).$store(out);
            }
        }
    };
}

lanes!(Avx2, Avx2, store);
lanes!(Avx512, Avx512, store);
lanes!(StreamedAvx2, Avx2, stream);
lanes!(StreamedAvx512, Avx512, stream);

impl Avx2 {
    /// Stores that bypass the caches, sixteen bytes at a time, since results are rarely aligned to
    /// more. Other threads see them reliably only after a fence.
    #[inline(always)]
    fn stream(self, values: &mut [f32; LANES]) {
        if !values.as_ptr().cast::<__m128>().is_aligned() {
            return self.store(values);
        }
        // SAFETY: see the module; there are 16 numbers, aligned to 16 bytes.
        unsafe {
            let place = values.as_mut_ptr();
            _mm_stream_ps(place, _mm256_castps256_ps128(self.0));
            _mm_stream_ps(place.add(4), _mm256_extractf128_ps::<1>(self.0));
            _mm_stream_ps(place.add(8), _mm256_castps256_ps128(self.1));
            _mm_stream_ps(place.add(12), _mm256_extractf128_ps::<1>(self.1));
        }
    }

    #[inline(always)]
    fn from_f16(bytes: &[[u8; 2]; LANES]) -> Self {
        // SAFETY: see the module; there are twice 16 bytes.
        unsafe {
            let place: *const __m128i = bytes.as_ptr().cast();
            let half = |at: *const __m128i| _mm256_cvtph_ps(_mm_loadu_si128(at));
            Self(half(place), half(place.add(1)))
        }
    }

    #[inline(always)]
    fn from_bf16(bytes: &[[u8; 2]; LANES]) -> Self {
        // SAFETY: see the module; there are twice 16 bytes.
        unsafe {
            let place: *const __m128i = bytes.as_ptr().cast();
            let half = |at: *const __m128i| {
                let words = _mm256_cvtepu16_epi32(_mm_loadu_si128(at));
                let values = _mm256_castsi256_ps(_mm256_slli_epi32::<16>(words));
                // NaN becomes a quiet NaN, as in the reference.
                let none = _mm256_cmp_ps::<_CMP_UNORD_Q>(values, values);
                let quiet = _mm256_castsi256_ps(_mm256_set1_epi32(1 << 22));
                _mm256_or_ps(values, _mm256_and_ps(none, quiet))
            };
            Self(half(place), half(place.add(1)))
        }
    }

    #[inline(always)]
    fn from_i8(codes: Xmm) -> Self {
        // SAFETY: see the module.
        unsafe {
            let half = |bytes| _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
            Self(half(codes.0), half(_mm_unpackhi_epi64(codes.0, codes.0)))
        }
    }

    #[inline(always)]
    fn look_up(codes: Xmm, values: &[f32; 16]) -> Self {
        // SAFETY: see the module; there are 16 numbers.
        unsafe {
            let place = values.as_ptr();
            let (low, high) = (_mm256_loadu_ps(place), _mm256_loadu_ps(place.add(8)));
            let half = |bytes| {
                let codes = _mm256_cvtepu8_epi32(bytes);
                let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(codes));
                let (low, high) =
                    (_mm256_permutevar8x32_ps(low, codes), _mm256_permutevar8x32_ps(high, codes));
                _mm256_blendv_ps(low, high, upper)
            };
            Self(half(codes.0), half(_mm_unpackhi_epi64(codes.0, codes.0)))
        }
    }
}

impl Avx512 {
    #[inline(always)]
    fn stream(self, values: &mut [f32; LANES]) {
        self.halves().stream(values);
    }

    #[inline(always)]
    fn from_f16(bytes: &[[u8; 2]; LANES]) -> Self {
        // SAFETY: see the module; there are 32 bytes.
        unsafe { Self(_mm512_cvtph_ps(_mm256_loadu_si256(bytes.as_ptr().cast()))) }
    }

    #[inline(always)]
    fn from_bf16(bytes: &[[u8; 2]; LANES]) -> Self {
        // SAFETY: see the module; there are 32 bytes.
        unsafe {
            let words = _mm512_cvtepu16_epi32(_mm256_loadu_si256(bytes.as_ptr().cast()));
            let values = _mm512_slli_epi32::<16>(words);
            let floats = _mm512_castsi512_ps(values);
            // NaN becomes a quiet NaN, as in the reference.
            let none = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(floats, floats);
            let quiet = _mm512_set1_epi32(1 << 22);
            Self(_mm512_castsi512_ps(_mm512_mask_or_epi32(values, none, values, quiet)))
        }
    }

    #[inline(always)]
    fn from_i8(codes: Xmm) -> Self {
        // SAFETY: see the module.
        unsafe { Self(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes.0))) }
    }

    #[inline(always)]
    fn look_up(codes: Xmm, values: &[f32; 16]) -> Self {
        // SAFETY: see the module; there are 16 numbers.
        unsafe {
            let values = _mm512_loadu_ps(values.as_ptr());
            Self(_mm512_permutexvar_ps(_mm512_cvtepu8_epi32(codes.0), values))
        }
    }
}
