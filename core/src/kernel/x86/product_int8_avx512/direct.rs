//! 12 rows at a time × up to 8 tokens: a vector of weights holds 16 columns of four rows, assembled
//! by loads of 16 bytes; three such vectors are multiplied with all tokens before they are
//! discarded.

use core::arch::x86_64::*;

use super::super::transpose::transpose_quarters;
use super::{from_zero, places, quad, rest_mask, store};
use crate::kernel::integer::ProductI8;

/// Rows that are multiplied together: three vectors of four.
const ROWS: usize = 12;
/// Up to this many tokens transposing does not pay.
pub(in super::super) const MOST_TOKENS: usize = 8;

/// The whole product.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn product(mut product: ProductI8<'_>) {
    let mut row = 0;
    while row < product.rows {
        let mut token = 0;
        while token < product.tokens {
            let count = (product.tokens - token).min(MOST_TOKENS);
            with_constant!(count, T => tile::<T>(&mut product, token, row), 1 2 3 4 5 6 7 8);
            token += count;
        }
        row += ROWS;
    }
}

/// `T` tokens × 12 rows.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn tile<const T: usize>(product: &mut ProductI8<'_>, token: usize, row: usize) {
    let ProductI8 { x, cols, .. } = *product;
    let ones = _mm512_set1_epi8(1);
    let mut row_sums = [_mm512_setzero_si512(); 4];
    let mut sums = [[_mm512_setzero_si512(); 4]; T];
    // SAFETY: `ProductI8::new` checked that `cols` codes start at every token · stride; token + T ≤
    // tokens, and for the rows as `places` says; masks cover no more than `cols`.
    unsafe {
        let codes = x.codes.as_ptr().add(token * x.stride);
        let places: [*const u8; ROWS] = places(product, row);
        let vector = |v: usize| [places[v], places[v + 3], places[v + 6], places[v + 9]];
        let ahead = ROWS * product.w.stride;
        let mut c = 0;
        while c + 16 <= cols {
            // In four steps a cache line of each of the twelve rows.
            unroll_4!(3, i => {
                let place = places[c / 16 % 4 * 3 + i].wrapping_add(c + ahead);
                _mm_prefetch::<_MM_HINT_T0>(place.cast());
            });
            let mut ws = [_mm512_setzero_si512(); 3];
            unroll_4!(3, v => {
                ws[v] = quad(vector(v), c, None);
                row_sums[v] = _mm512_dpbusd_epi32(row_sums[v], ones, ws[v]);
            });
            unroll!(T, t => {
                let x = _mm_loadu_si128(codes.add(t * x.stride + c).cast());
                let x = _mm512_broadcast_i32x4(x);
                unroll_4!(3, v => {
                    sums[t][v] = _mm512_dpbusd_epi32(sums[t][v], x, ws[v]);
                });
            });
            c += 16;
        }
        if let Some(mask) = rest_mask(cols) {
            unroll_4!(3, v => {
                let w = quad(vector(v), c, Some(mask));
                row_sums[v] = _mm512_dpbusd_epi32(row_sums[v], ones, w);
                unroll!(T, t => {
                    let x = _mm_maskz_loadu_epi8(mask, codes.add(t * x.stride + c).cast());
                    sums[t][v] = _mm512_dpbusd_epi32(sums[t][v], _mm512_broadcast_i32x4(x), w);
                });
            });
        }
    }
    let mut totals = [_mm512_setzero_si512(); T];
    unroll!(T, t => {
        totals[t] = add_quads(sums[t]);
    });
    // SAFETY: token + T ≤ tokens.
    unsafe {
        let totals = from_zero(product, token, add_quads(row_sums), totals);
        store(product, token, row, ROWS, &totals);
    }
}

/// The sums of the quarters of the first three of four vectors: lane 3 · j + v is that of quarter j
/// of vector v.
#[target_feature(enable = "avx512f")]
#[inline]
fn add_quads(vectors: [__m512i; 4]) -> __m512i {
    let [a, b, c, d] = transpose_quarters(vectors);
    let sums = _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d));
    // Every fourth lane belongs to the missing vector.
    _mm512_maskz_compress_epi32(0x7777, sums)
}
