//! Up to 8 tokens × 12 rows at a time. A vector of weights holds four columns of four rows,
//! assembled by loads of 16 bytes just before it is multiplied; a vector of activations holds the
//! same four columns of one token, four times.

use core::arch::x86_64::*;

use super::{PART_COLS, Part, add_quads, for_parts, places, rest_mask, store};
use crate::kernel::product::Product;

/// Rows that are multiplied together: three vectors of four.
const ROWS: usize = 12;
/// The most tokens of a tile.
pub(super) const MOST_TOKENS: usize = 8;

/// The whole product.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn product(mut product: Product<'_>) {
    let tokens = product.tokens;
    for_parts!(product, 0, ROWS, part => {
        with_constant!(tokens, T => tile::<T>(&mut product, part), 1 2 3 4 5 6 7 8);
    });
}

/// Four columns of four rows; `mask` covers the existing columns.
///
/// # Safety
///
/// The columns of the mask must be readable from each place. Needs AVX-512.
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
#[inline]
unsafe fn quad(places: [*const f32; 4], column: usize, mask: Option<__mmask8>) -> __m512 {
    let [a, b, c, d] = places;
    // SAFETY: upheld by the caller.
    unsafe {
        let load = |place: *const f32| match mask {
            None => _mm_loadu_ps(place.add(column)),
            Some(mask) => _mm_maskz_loadu_ps(mask, place.add(column)),
        };
        let joined = _mm512_castps128_ps512(load(a));
        let joined = _mm512_insertf32x4::<1>(joined, load(b));
        let joined = _mm512_insertf32x4::<2>(joined, load(c));
        _mm512_insertf32x4::<3>(joined, load(d))
    }
}

/// All `T` tokens × 12 rows.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn tile<const T: usize>(product: &mut Product<'_>, part: Part) {
    let stride = product.cols;
    let mut totals = [_mm512_setzero_ps(); T];
    // SAFETY: `Product::new` checked that x has tokens × cols elements; there are T tokens, and the
    // part is inside the product, so that `part.cols` numbers are readable from each place.
    unsafe {
        let x = product.x.as_ptr().add(part.column);
        let places: [*const f32; ROWS] = places(product, part);
        let vector = |v: usize| [places[v], places[v + 3], places[v + 6], places[v + 9]];
        // From a column of this part to the same of the part after it.
        let last = part.column + part.cols >= stride;
        let ahead = if last { ROWS * stride - part.column } else { PART_COLS };
        let mut sums = [[_mm512_setzero_ps(); 4]; T];
        let mut c = 0;
        while c + 4 <= part.cols {
            // In four steps a cache line of each of the twelve rows.
            unroll_4!(3, i => {
                let place = places[c / 4 % 4 * 3 + i].wrapping_add(c + ahead);
                _mm_prefetch::<_MM_HINT_T0>(place.cast());
            });
            let mut ws = [_mm512_setzero_ps(); 3];
            unroll_4!(3, v => {
                ws[v] = quad(vector(v), c, None);
            });
            unroll!(T, t => {
                let x = _mm512_broadcast_f32x4(_mm_loadu_ps(x.add(t * stride + c)));
                unroll_4!(3, v => {
                    sums[t][v] = _mm512_fmadd_ps(x, ws[v], sums[t][v]);
                });
            });
            c += 4;
        }
        if let Some(mask) = rest_mask(part.cols) {
            unroll_4!(3, v => {
                let w = quad(vector(v), c, Some(mask));
                unroll!(T, t => {
                    let x = _mm_maskz_loadu_ps(mask, x.add(t * stride + c));
                    sums[t][v] = _mm512_fmadd_ps(_mm512_broadcast_f32x4(x), w, sums[t][v]);
                });
            });
        }
        unroll!(T, t => {
            // Every fourth lane belongs to the missing vector.
            totals[t] = _mm512_maskz_compress_ps(0x7777, add_quads(sums[t]));
        });
    }
    store(product, part, 0, &totals);
}
