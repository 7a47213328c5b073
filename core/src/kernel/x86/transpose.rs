//! Squares of 16 × 16 numbers of 32 bits, transposed.

use core::arch::x86_64::*;

use super::width::LANES;

/// Loads 16 lines of 16 numbers.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn load(lines: &[[i32; LANES]; LANES]) -> [__m512i; LANES] {
    // SAFETY: a line is 64 bytes.
    core::array::from_fn(|line| unsafe { _mm512_loadu_si512(lines[line].as_ptr().cast()) })
}

/// The columns of `rows`.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn transpose(rows: [__m512i; LANES]) -> [__m512i; LANES] {
    // The quarters of every four lines, each a square of 4 × 4, transposed.
    let fours: [[__m512i; 4]; 4] = core::array::from_fn(|four| {
        let [a, b, c, d] = core::array::from_fn(|line| rows[four * 4 + line]);
        transpose_quarters([a, b, c, d])
    });
    // Then the quarters themselves: column 4 · q + i is quarter q of the i-th of each four.
    let mut columns = [_mm512_setzero_si512(); LANES];
    for i in 0..4 {
        let quarters = [fours[0][i], fours[1][i], fours[2][i], fours[3][i]];
        for (quarter, column) in transpose_whole_quarters(quarters).into_iter().enumerate() {
            columns[4 * quarter + i] = column;
        }
    }
    columns
}

/// The first quarters of the lines, then the second ones, …
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn transpose_whole_quarters([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab_low, ab_high) =
        (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xEE>(a, b));
    let (cd_low, cd_high) =
        (_mm512_shuffle_i32x4::<0x44>(c, d), _mm512_shuffle_i32x4::<0xEE>(c, d));
    [
        _mm512_shuffle_i32x4::<0x88>(ab_low, cd_low),
        _mm512_shuffle_i32x4::<0xDD>(ab_low, cd_low),
        _mm512_shuffle_i32x4::<0x88>(ab_high, cd_high),
        _mm512_shuffle_i32x4::<0xDD>(ab_high, cd_high),
    ]
}

/// In every quarter, the 4 × 4 numbers of the lines transposed.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn transpose_quarters([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let ab = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let cd = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab.0, cd.0),
        _mm512_unpackhi_epi64(ab.0, cd.0),
        _mm512_unpacklo_epi64(ab.1, cd.1),
        _mm512_unpackhi_epi64(ab.1, cd.1),
    ]
}
