//! Unpacks codes of 4 and 5 bits to bytes with AVX2, see
//! [`Kernels::unpack_codes`](crate::kernel::Kernels::unpack_codes).

use core::arch::x86_64::*;

use crate::quant::amb_unpack;
use crate::tensor::CodeBits;

/// Unpacks `out.len()` unsigned codes: see [`UnpackCodes`](amb_unpack::UnpackCodes).
pub(super) fn unpack(bits: CodeBits, bytes: &[u8], out: &mut [u8]) {
    let (bytes, rest) = match bits {
        // SAFETY: a table is returned only after its CPU features were detected.
        CodeBits::Four => unsafe { fours(bytes, out) },
        // SAFETY: as above.
        CodeBits::Five => unsafe { fives(bytes, out) },
        CodeBits::Eight => (bytes, out),
    };
    if !rest.is_empty() {
        amb_unpack::unpack(bits, bytes, rest);
    }
}

/// The low half of each byte, then the high one, with the sign bit flipped.
#[target_feature(enable = "avx2")]
fn fours<'b, 'o>(bytes: &'b [u8], out: &'o mut [u8]) -> (&'b [u8], &'o mut [u8]) {
    steps(bytes, out, |bytes: &[u8; 16]| {
        // SAFETY: there are sixteen bytes.
        let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
        let words = _mm256_cvtepu8_epi16(bytes);
        let both = _mm256_or_si256(words, _mm256_slli_epi16::<4>(words));
        let codes = _mm256_and_si256(both, _mm256_set1_epi8(15));
        _mm256_xor_si256(codes, _mm256_set1_epi8(8))
    })
}

/// Moves the two bytes that contain each code into one lane, then shifts the five bits up and down.
#[target_feature(enable = "avx2")]
fn fives<'b, 'o>(bytes: &'b [u8], out: &'o mut [u8]) -> (&'b [u8], &'o mut [u8]) {
    // The second ten of the twenty bytes is loaded with the six before it.
    let low = _mm256_setr_epi8(
        0, 1, 0, 1, 1, 2, 1, 2, 2, 3, 3, 4, 3, 4, 4, 5, //
        6, 7, 6, 7, 7, 8, 7, 8, 8, 9, 9, 10, 9, 10, 10, 11,
    );
    let high = _mm256_add_epi8(low, _mm256_set1_epi8(5));
    // Codes begin at bits 0, 5, 2, 7, 4, 1, 6 and 3 of theirs.
    let to_top = _mm_setr_epi16(1 << 11, 1 << 6, 1 << 9, 1 << 4, 1 << 7, 1 << 10, 1 << 5, 1 << 8);
    let to_top = _mm256_broadcastsi128_si256(to_top);
    steps(bytes, out, |bytes: &[u8; 20]| {
        let place: *const u8 = bytes.as_ptr();
        // SAFETY: there are twenty bytes, sixteen from the fourth on.
        let tens = unsafe {
            _mm256_set_m128i(_mm_loadu_si128(place.add(4).cast()), _mm_loadu_si128(place.cast()))
        };
        let eight = |which| {
            let pairs = _mm256_shuffle_epi8(tens, which);
            _mm256_srli_epi16::<11>(_mm256_mullo_epi16(pairs, to_top))
        };
        let codes = _mm256_packus_epi16(eight(low), eight(high));
        _mm256_xor_si256(codes, _mm256_set1_epi8(16))
    })
}

/// Unpacks 32 codes at a time from `N` bytes; returns the remainder.
#[target_feature(enable = "avx2")]
#[inline]
fn steps<'b, 'o, const N: usize>(
    bytes: &'b [u8],
    out: &'o mut [u8],
    unpack: impl Fn(&[u8; N]) -> __m256i,
) -> (&'b [u8], &'o mut [u8]) {
    let count = (bytes.len() / N).min(out.len() / 32);
    let (bytes, bytes_left) = bytes.split_at(count * N);
    let (out, out_left) = out.split_at_mut(count * 32);
    for (bytes, out) in bytes.as_chunks::<N>().0.iter().zip(out.as_chunks_mut::<32>().0) {
        // SAFETY: 32 bytes are a vector.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), unpack(bytes)) };
    }
    (bytes_left, out_left)
}
