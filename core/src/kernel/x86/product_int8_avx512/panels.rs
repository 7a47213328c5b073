//! More tokens than fit lanes: 32 rows at a time share a panel on the stack, whose vectors hold
//! four columns of 16 rows.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::super::prefetcher::Prefetcher;
use super::super::transpose::transpose_quarters;
use super::super::width::{BYTES, LANES};
use super::{from_zero, places, quad, rest_mask, store};
use crate::kernel::integer::ProductI8;
use crate::kernel::pieces::even_size;

/// Rows of a panel: two vectors.
pub(in super::super) const PANEL_ROWS: usize = 2 * LANES;
/// The largest number of columns of a panel: 48 KiB on the stack.
pub(in super::super) const PANEL_COLS: usize = 1536;
/// The largest number of tokens in a tile.
const TILE_TOKENS: usize = 12;

/// The largest number of tokens for which panels are filled: the codes of more would be read from
/// beyond L2, again for every panel.
const TOKENS_AT_ONCE: usize = 512;

/// The whole product.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn product(mut product: ProductI8<'_>) {
    let mut panel = Panel::new();
    let at_once = even_size(product.tokens, TOKENS_AT_ONCE);
    for first in (0..product.tokens).step_by(at_once.max(1)) {
        let end = product.tokens.min(first + at_once);
        let mut row = 0;
        while row < product.rows {
            // SAFETY: row is below the number of rows; cols ≤ PANEL_COLS.
            unsafe { panel.fill(&product, row) };
            let w = product.w;
            let next = w.codes.as_ptr().wrapping_add((row + PANEL_ROWS) * w.stride);
            let mut tiles = (end - first).div_ceil(TILE_TOKENS);
            let calls = tiles * (product.cols / 16);
            let mut ahead = Prefetcher::new(next, PANEL_ROWS, product.cols, w.stride, calls);
            let mut token = first;
            while token < end {
                let count = (end - token).div_ceil(tiles.max(1)).max(1);
                with_constant!(
                    count, T => tile::<T>(&mut product, token, row, &panel, &mut ahead),
                    1 2 3 4 5 6 7 8 9 10 11 12
                );
                token += count;
                tiles -= 1;
            }
            row += PANEL_ROWS;
        }
    }
}

/// For every four columns, two vectors of 16 rows × 4 codes; and the sums of the rows' codes.
#[repr(C, align(64))]
pub(in super::super) struct Panel {
    pub(in super::super) codes: [MaybeUninit<u8>; PANEL_ROWS * PANEL_COLS],
    pub(in super::super) sums: [[i32; LANES]; 2],
}

impl Panel {
    #[inline(always)]
    pub(in super::super) const fn new() -> Self {
        Self {
            codes: [const { MaybeUninit::uninit() }; PANEL_ROWS * PANEL_COLS],
            sums: [[0; LANES]; 2],
        }
    }

    /// Fills the panel with the rows from `row` on, columns padded with zeros to a multiple of 16.
    ///
    /// # Safety
    ///
    /// `row` must be below the number of rows, and there must be at most [`PANEL_COLS`] columns.
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    #[inline]
    pub(in super::super) unsafe fn fill(&mut self, product: &ProductI8<'_>, row: usize) {
        let panel: *mut u8 = self.codes.as_mut_ptr().cast();
        let ones = _mm512_set1_epi8(1);
        for (vector, sums) in self.sums.iter_mut().enumerate() {
            let mut parts = [_mm512_setzero_si512(); 4];
            // SAFETY: upheld by the caller, for a row at or before the last; 16 columns of 32 rows
            // are inside the panel, which is aligned to 64.
            unsafe {
                let first = (row + vector * LANES).min(product.rows - 1);
                let places: [*const u8; LANES] = places(product, first);
                let mut c = 0;
                while c < product.cols {
                    let mask = if c + 16 <= product.cols { None } else { rest_mask(product.cols) };
                    let mut lines = [_mm512_setzero_si512(); 4];
                    unroll_4!(4, i => {
                        let four = [places[i], places[i + 4], places[i + 8], places[i + 12]];
                        lines[i] = quad(four, c, mask);
                    });
                    let groups = transpose_quarters(lines);
                    unroll_4!(4, i => {
                        parts[i] = _mm512_dpbusd_epi32(parts[i], ones, groups[i]);
                        let at = ((c / 4 + i) * 2 + vector) * BYTES;
                        _mm512_store_si512(panel.add(at).cast(), groups[i]);
                    });
                    c += 16;
                }
                let [a, b, c, d] = parts;
                let sum = _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d));
                _mm512_storeu_si512(sums.as_mut_ptr().cast(), sum);
            }
        }
    }
}

/// `T` tokens × the 32 rows of a panel.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn tile<const T: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    panel: &Panel,
    ahead: &mut Prefetcher,
) {
    let ProductI8 { x, cols, .. } = *product;
    let mut sums = [[_mm512_setzero_si512(); 2]; T];
    // SAFETY: `ProductI8::new` checked that `cols` codes start at every token · stride; token + T ≤
    // tokens. The panel is filled as far as `cols` rounded up to 16.
    unsafe {
        let codes = x.codes.as_ptr().add(token * x.stride);
        let place: *const u8 = panel.codes.as_ptr().cast();
        let mut c = 0;
        while c + 4 <= cols {
            let w0 = _mm512_load_si512(place.add(c / 4 * 2 * BYTES).cast());
            let w1 = _mm512_load_si512(place.add((c / 4 * 2 + 1) * BYTES).cast());
            if c % 16 == 0 {
                ahead.fetch();
            }
            unroll!(T, t => {
                let x: *const i32 = codes.add(t * x.stride + c).cast();
                let x = _mm512_set1_epi32(x.read_unaligned());
                sums[t][0] = _mm512_dpbusd_epi32(sums[t][0], x, w0);
                sums[t][1] = _mm512_dpbusd_epi32(sums[t][1], x, w1);
            });
            c += 4;
        }
        if c < cols {
            let w0 = _mm512_load_si512(place.add(c / 4 * 2 * BYTES).cast());
            let w1 = _mm512_load_si512(place.add((c / 4 * 2 + 1) * BYTES).cast());
            unroll!(T, t => {
                let mut last = [0; 4];
                core::ptr::copy_nonoverlapping(
                    codes.add(t * x.stride + c), last.as_mut_ptr(), cols - c,
                );
                let x = _mm512_set1_epi32(i32::from_le_bytes(last));
                sums[t][0] = _mm512_dpbusd_epi32(sums[t][0], x, w0);
                sums[t][1] = _mm512_dpbusd_epi32(sums[t][1], x, w1);
            });
        }
    }
    let [first, second] = &panel.sums;
    let mut halves = [[_mm512_setzero_si512(); T]; 2];
    unroll!(T, t => {
        [halves[0][t], halves[1][t]] = sums[t];
    });
    // SAFETY: 16 numbers can be read; token + T ≤ tokens.
    unsafe {
        let first = _mm512_loadu_si512(first.as_ptr().cast());
        let second = _mm512_loadu_si512(second.as_ptr().cast());
        store(product, token, row, LANES, &from_zero(product, token, first, halves[0]));
        store(product, token, row + LANES, LANES, &from_zero(product, token, second, halves[1]));
    }
}
