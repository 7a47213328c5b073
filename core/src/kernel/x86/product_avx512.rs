//! x · Wᵀ in f32 with AVX-512.
//!
//! A vector of weights holds four columns of four rows, a vector of activations the same four columns of one token,
//! four times: 24 accumulators of 6 tokens × 16 rows, each with four partial sums of four outputs. Partial sums cost one
//! shuffle per output and part of the columns.
//!
//! Up to [`DIRECT_TOKENS`] tokens the vectors of weights are put together where they are multiplied, by loads of 16 bytes
//! alone. More tokens share a panel: 16 rows × [`PART_COLS`] columns on the stack, which the first tile of tokens fills
//! while it multiplies, two shuffles a vector, and which stays in L1 while the others pass; meanwhile the weights after it are fetched to L2. At 8 tokens memory is the limit, at 128
//! the multipliers are busy nine tenths of the time. Beside 24 multiplications a step has 17 instructions: where the core's
//! other thread is busy, it is instructions that it has too few of.
//!
//! An output is the sum of its parts of the columns in order, bias first, each part `(s₀ + s₂) + (s₁ + s₃)` of the sums
//! over every fourth column: the same bits however many tokens are computed together.

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::ahead::Ahead;
use super::transpose::transpose_whole_quarters;
use super::vector::first_lanes;
use crate::kernel::product::{Floats, Product};

/// Lanes of a vector.
const LANES: usize = 16;
/// Columns that are summed up before they are added to the output.
const PART_COLS: usize = 384;
/// Rows of a panel: four vectors of four.
const ROWS: usize = 16;
/// Rows that are multiplied together without a panel: three vectors of four.
const DIRECT_ROWS: usize = 12;
/// Up to this many tokens a panel does not pay.
const DIRECT_TOKENS: usize = 8;
/// The most tokens of a tile with a panel.
const TILE_TOKENS: usize = 6;

/// See [`Product`].
pub(super) fn product_f32(product: Product<'_>) {
    // SAFETY: a table is handed out only after the CPU was asked for its features.
    unsafe { if product.tokens <= DIRECT_TOKENS { directly(product) } else { by_panels(product) } }
}

/// The part of a product that is computed at a time.
#[derive(Clone, Copy)]
struct Part {
    row: usize,
    /// At most the rows of a tile.
    rows: usize,
    column: usize,
    cols: usize,
}

/// Calls `$body` with every [`Part`] of `$rows` rows, the columns of a row first.
macro_rules! for_parts {
    ($product:expr, $rows:expr, $part:ident => $body:block) => {{
        let mut row = 0;
        while row < $product.rows {
            let mut column = 0;
            while column < $product.cols {
                let $part = Part {
                    row,
                    rows: ($product.rows - row).min($rows),
                    column,
                    cols: ($product.cols - column).min(PART_COLS),
                };
                $body
                column += PART_COLS;
            }
            row += $rows;
        }
    }};
}

#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn directly(mut product: Product<'_>) {
    let tokens = product.tokens;
    for_parts!(product, DIRECT_ROWS, part => {
        with_constant!(tokens, T => direct_tile::<T>(&mut product, part), 1 2 3 4 5 6 7 8);
    });
}

#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn by_panels(mut product: Product<'_>) {
    let mut panel = Panel::new();
    for_parts!(product, ROWS, part => {
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

/// Where the weights of a product begin.
fn weights(product: &Product<'_>) -> *const f32 {
    match product.weights {
        Floats::Bytes(bytes) => bytes.as_ptr().cast(),
        Floats::Values(values) => values.as_ptr(),
    }
}

/// Where the `N` rows of a part begin; rows beyond the last are the last.
///
/// # Safety
///
/// The part lies inside the product and has at least one row.
#[inline(always)]
unsafe fn places<const N: usize>(product: &Product<'_>, part: Part) -> [*const f32; N] {
    let weights = weights(product);
    core::array::from_fn(|index| {
        let row = part.row + index.min(part.rows - 1);
        // SAFETY: `Product::new` checked that the weights hold rows × cols numbers.
        unsafe { weights.add(row * product.cols + part.column) }
    })
}

/// Four columns of four rows, `mask` saying which of the four columns there are.
///
/// # Safety
///
/// Those can be read from each of the places on. Needs AVX-512.
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
#[inline]
unsafe fn quad(places: [*const f32; 4], column: usize, mask: Option<__mmask8>) -> __m512 {
    let [a, b, c, d] = places;
    // SAFETY: the caller's.
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

/// A mask of the columns that are left over of quads; `None` if there are none.
#[inline(always)]
fn rest_mask(cols: usize) -> Option<__mmask8> {
    let rest = cols % 4;
    (rest != 0).then_some((1 << rest) - 1)
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

/// What the tiles of a part take their weights from.
struct Source<'p> {
    panel: &'p mut Panel,
    /// Where the rows begin.
    places: [*const f32; ROWS],
    /// The weights after them.
    ahead: Ahead,
}

impl Source<'_> {
    /// Puts 16 columns of the rows into the panel, zeros from `cols` on.
    ///
    /// # Safety
    ///
    /// `cols` columns can be read from each of the places on; the first of the 16 is one of them and of the panel.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
    #[inline]
    unsafe fn fill(&mut self, column: usize, cols: usize) {
        let mask = first_lanes(cols - column);
        unroll_4!(4, v => {
            let mut rows = [_mm512_setzero_si512(); 4];
            // SAFETY: the caller's; the mask covers the columns there are. Parts of the panel are whole times 16 columns.
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

    /// The four vectors of four of a part's `cols` columns, from the panel; the first tile, which takes all columns in order,
    /// fills it before.
    ///
    /// # Safety
    ///
    /// `cols` columns can be read from each of the places on and lie inside the panel, and there is the first of the four; the
    /// first tile has taken them before.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
    #[inline]
    unsafe fn quads<const FIRST: bool>(&mut self, column: usize, cols: usize) -> [__m512; 4] {
        if FIRST && column.is_multiple_of(LANES) {
            // SAFETY: the caller's.
            unsafe { self.fill(column, cols) };
        }
        let mut quads = [_mm512_setzero_ps(); 4];
        unroll_4!(4, v => {
            // SAFETY: the caller's; the panel is aligned to 64 and so are its vectors.
            quads[v] = unsafe {
                _mm512_load_ps(self.panel.0.as_ptr().cast::<f32>().add(column * ROWS + v * LANES))
            };
        });
        quads
    }
}

/// The weights of the part after this one.
fn ahead(product: &Product<'_>, part: Part) -> Ahead {
    let after = part.column + part.cols;
    let (row, column) = if after < product.cols { (part.row, after) } else { (part.row + ROWS, 0) };
    let bytes = (product.cols - column).min(PART_COLS) * 4;
    let place = weights(product).wrapping_add(row * product.cols + column);
    let calls = product.tokens.div_ceil(TILE_TOKENS) * (part.cols / 4);
    Ahead::new(place.cast(), ROWS, bytes, product.cols * 4, calls)
}

/// A place that stays in a register: the compiler would compute one token's from another's in every step of a loop.
#[inline(always)]
fn in_register(mut place: *const f32) -> *const f32 {
    // SAFETY: nothing happens.
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
    // SAFETY: `Product::new` checked that x has tokens × cols elements; token + T ≤ tokens, and the part lies inside the
    // product. `part.cols` numbers can be read from each place on, and the first tile of a part is the first called.
    unsafe {
        let x = product.x.as_ptr().add(token * stride + part.column);
        let xs: [*const f32; T] = core::array::from_fn(|t| in_register(x.add(t * stride)));
        let mut sums = [[_mm512_setzero_ps(); 4]; T];
        // Here its countdown stays in a register.
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

/// All `T` tokens × 12 rows.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn direct_tile<const T: usize>(product: &mut Product<'_>, part: Part) {
    let stride = product.cols;
    let mut totals = [_mm512_setzero_ps(); T];
    // SAFETY: as in `panel_tile`; `part.cols` numbers can be read from each place on.
    unsafe {
        let x = product.x.as_ptr().add(part.column);
        let places: [*const f32; DIRECT_ROWS] = places(product, part);
        let vector = |v: usize| [places[v], places[v + 3], places[v + 6], places[v + 9]];
        // From a column of this part to the same of the part after it.
        let last = part.column + part.cols >= stride;
        let ahead = if last { DIRECT_ROWS * stride - part.column } else { PART_COLS };
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
            // Every fourth lane belongs to the vector that is not there.
            totals[t] = _mm512_maskz_compress_ps(0x7777, add_quads(sums[t]));
        });
    }
    store(product, part, 0, &totals);
}

/// The sums of the quarters of four vectors: lane 4 · j + v is that of quarter j of vector v.
#[target_feature(enable = "avx512f")]
#[inline]
fn add_quads([a, b, c, d]: [__m512; 4]) -> __m512 {
    let pairs =
        |a, b| _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)));
    let (ab, cd) = (pairs(a, b), pairs(c, d));
    _mm512_add_ps(
        _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd)),
        _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)),
    )
}

/// Adds the sums of a part to the bias, or to the output after the first part; a vector a token, a lane a row.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn store<const T: usize>(
    product: &mut Product<'_>,
    part: Part,
    token: usize,
    totals: &[__m512; T],
) {
    let strides = product.strides;
    let mask: __mmask16 = first_lanes(part.rows);
    // SAFETY: `Product::new` checked that the bias has `rows` elements and that the last element of the output lies
    // inside it; token + T ≤ tokens, and the mask covers the part's rows alone.
    unsafe {
        let bias = _mm512_maskz_loadu_ps(mask, product.bias.as_ptr().add(part.row));
        let place = token * strides.token + part.row * strides.row;
        let out = product.out.as_mut_ptr().add(place);
        if strides.row == 1 {
            for (t, &total) in totals.iter().enumerate() {
                let out = out.add(t * strides.token);
                let base = if part.column == 0 { bias } else { _mm512_maskz_loadu_ps(mask, out) };
                _mm512_mask_storeu_ps(out, mask, _mm512_add_ps(base, total));
            }
            return;
        }
        let mut lanes = [[0.0_f32; LANES]; T];
        for (lanes, &total) in lanes.iter_mut().zip(totals) {
            let total = if part.column == 0 { _mm512_add_ps(bias, total) } else { total };
            _mm512_storeu_ps(lanes.as_mut_ptr(), total);
        }
        for r in 0..part.rows {
            for (t, lanes) in lanes.iter().enumerate() {
                let place = out.add(t * strides.token + r * strides.row);
                *place = if part.column == 0 { lanes[r] } else { *place + lanes[r] };
            }
        }
    }
}
