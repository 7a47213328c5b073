//! Any number of tokens × 16 rows at a time: 24 accumulators of 6 tokens × 16 rows, each with four
//! partial sums of four outputs. The partial sums cost one shuffle per output and part of the
//! columns.
//!
//! A vector of weights holds four columns of four rows. Tokens share a panel of them: 16 rows ×
//! [`PART_COLS`] columns on the stack, which the first tile of tokens fills while it multiplies,
//! with two shuffles per vector, and which stays in L1 for the others; meanwhile the next weights
//! are prefetched to L2. At 128 tokens the multipliers are busy nine tenths of the time.

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::super::prefetcher::Prefetcher;
use super::super::transpose::transpose_whole_quarters;
use super::super::vector::first_lanes;
use super::super::width::LANES;
use super::{PART_COLS, Part, add_quads, for_parts, places, rest_mask, store, weights};
use crate::kernel::product::Product;

/// Rows of a panel: four vectors of four.
const ROWS: usize = 16;
/// The largest number of tokens in a tile.
const TILE_TOKENS: usize = 6;

/// The product of the rows from `first_row` on.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn product(mut product: Product<'_>, first_row: usize) {
    let mut panel = Panel::new();
    for_parts!(product, first_row, ROWS, part => {
        // SAFETY: `for_parts` stays below rows and cols.
        let places = unsafe { places(&product, part) };
        let mut source = Source { panel: &mut panel, places, ahead: ahead(&product, part) };
        let mut tiles = product.tokens.div_ceil(TILE_TOKENS);
        let mut token = 0;
        while token < product.tokens {
            let count = (product.tokens - token).div_ceil(tiles.max(1));
            let arguments = (&mut product, part, token, &mut source);
            if token == 0 {
                with_constant!(count, T => panel_tile::<T, true>(arguments), 1 2 3 4 5 6);
            } else {
                with_constant!(count, T => panel_tile::<T, false>(arguments), 1 2 3 4 5 6);
            }
            token += count.max(1);
            tiles -= 1;
        }
    });
}

const _: () = assert!(PART_COLS.is_multiple_of(LANES));

/// 16 rows: for every four columns, four vectors; quarter j of vector v is of row 4 · j + v.
#[repr(C, align(64))]
struct Panel([MaybeUninit<f32>; ROWS * PART_COLS]);

impl Panel {
    #[inline(always)]
    const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; ROWS * PART_COLS])
    }
}

/// The source of the weights for the tiles of a part.
struct Source<'p> {
    panel: &'p mut Panel,
    /// The starts of the rows.
    places: [*const f32; ROWS],
    /// The weights after them.
    ahead: Prefetcher,
}

impl Source<'_> {
    /// Puts 16 columns of the rows into the panel, zeros from `cols` on.
    ///
    /// # Safety
    ///
    /// `cols` columns must be readable from each place; the first of the 16 must be one of them and
    /// of the panel.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
    #[inline]
    unsafe fn fill(&mut self, column: usize, cols: usize) {
        let mask = first_lanes(cols - column);
        unroll_4!(4, v => {
            let mut rows = [_mm512_setzero_si512(); 4];
            // SAFETY: upheld by the caller; the mask covers the existing columns. Parts of the
            // panel are multiples of 16 columns.
            unsafe {
                unroll_4!(4, j => {
                    let row = self.places[4 * j + v].add(column);
                    rows[j] = _mm512_maskz_loadu_epi32(mask, row.cast());
                });
                let panel: *mut f32 = self.panel.0.as_mut_ptr().cast();
                let quads = transpose_whole_quarters(rows);
                unroll_4!(4, i => {
                    let quad = panel.add((column + 4 * i) * ROWS + v * LANES);
                    _mm512_store_si512(quad.cast(), quads[i]);
                });
            }
        });
    }

    /// The four vectors of four of a part's `cols` columns, from the panel; the first tile, which
    /// takes all columns in order, fills it first.
    ///
    /// # Safety
    ///
    /// `cols` columns must be readable from each place and fit the panel, and the first of the four
    /// must be one of them; the first tile must have taken them before.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
    #[inline]
    unsafe fn quads<const FIRST: bool>(&mut self, column: usize, cols: usize) -> [__m512; 4] {
        if FIRST && column.is_multiple_of(LANES) {
            // SAFETY: upheld by the caller.
            unsafe { self.fill(column, cols) };
        }
        let mut quads = [_mm512_setzero_ps(); 4];
        unroll_4!(4, v => {
            // SAFETY: upheld by the caller; the panel is aligned to 64 and so are its vectors.
            quads[v] = unsafe {
                _mm512_load_ps(self.panel.0.as_ptr().cast::<f32>().add(column * ROWS + v * LANES))
            };
        });
        quads
    }
}

/// The weights of the part after this one.
fn ahead(product: &Product<'_>, part: Part) -> Prefetcher {
    let after = part.column + part.cols;
    let (row, column) = if after < product.cols { (part.row, after) } else { (part.row + ROWS, 0) };
    let bytes = (product.cols - column).min(PART_COLS) * 4;
    let place = weights(product).wrapping_add(row * product.cols + column);
    let calls = product.tokens.div_ceil(TILE_TOKENS) * (part.cols / 4);
    Prefetcher::new(place.cast(), ROWS, bytes, product.cols * 4, calls)
}

/// A pointer that stays in a register: the compiler would compute one token's from another's in
/// every step of a loop.
#[inline(always)]
fn in_register(mut place: *const f32) -> *const f32 {
    // SAFETY: an empty instruction.
    unsafe {
        asm!("/* {} */", inout(reg) place, options(pure, readonly, nostack, preserves_flags));
    }
    place
}

/// `T` tokens × the 16 rows of a panel, which the first tile fills.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn panel_tile<const T: usize, const FIRST: bool>(
    (product, part, token, source): (&mut Product<'_>, Part, usize, &mut Source<'_>),
) {
    let stride = product.cols;
    let mut totals = [_mm512_setzero_ps(); T];
    // SAFETY: `Product::new` checked that x has tokens × cols elements; token + T ≤ tokens, and the
    // part is inside the product. `part.cols` numbers are readable from each place, and the first
    // tile of a part is the first called.
    unsafe {
        let x = product.x.as_ptr().add(token * stride + part.column);
        let xs: [*const f32; T] = core::array::from_fn(|t| in_register(x.add(t * stride)));
        let mut sums = [[_mm512_setzero_ps(); 4]; T];
        // A copy, whose countdown stays in a register.
        let mut ahead = source.ahead;
        let mut c = 0;
        while c + 4 <= part.cols {
            let ws = source.quads::<FIRST>(c, part.cols);
            ahead.fetch();
            unroll!(T, t => {
                let x = _mm512_broadcast_f32x4(_mm_loadu_ps(xs[t].add(c)));
                unroll_4!(4, v => {
                    sums[t][v] = _mm512_fmadd_ps(x, ws[v], sums[t][v]);
                });
            });
            c += 4;
        }
        source.ahead = ahead;
        if let Some(mask) = rest_mask(part.cols) {
            let ws = source.quads::<FIRST>(c, part.cols);
            unroll!(T, t => {
                let x = _mm512_broadcast_f32x4(_mm_maskz_loadu_ps(mask, xs[t].add(c)));
                unroll_4!(4, v => {
                    sums[t][v] = _mm512_fmadd_ps(x, ws[v], sums[t][v]);
                });
            });
        }
        unroll!(T, t => {
            totals[t] = add_quads(sums[t]);
        });
    }
    store(product, part, token, &totals);
}
