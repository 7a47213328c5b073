//! x · Wᵀ of 7-bit activations and 8-bit weights with AVX512-VNNI.
//!
//! Up to [`DIRECT_TOKENS`] tokens a vector of weights holds 16 columns of four rows, put together by loads of 16 bytes
//! alone; three such vectors meet all tokens before they are forgotten. More tokens share a panel of 32 rows on the
//! stack, whose vectors hold four columns of 16 rows: sums then need no reduction across lanes, which would cost a tenth
//! of the products of 384 columns.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::ahead::Ahead;
use super::transpose::transpose_quarters;
use super::vector::first_lanes;
use crate::kernel::integer::{Base, ProductI8};

/// 32-bit lanes of a vector.
pub(super) const LANES: usize = 16;
/// Bytes of a vector.
pub(super) const BYTES: usize = 64;
/// Rows that are multiplied together without a panel: three vectors of four.
const DIRECT_ROWS: usize = 12;
/// Up to this many tokens a panel does not pay.
pub(super) const DIRECT_TOKENS: usize = 8;
/// Rows of a panel: two vectors.
pub(super) const PANEL_ROWS: usize = 2 * LANES;
/// The most columns of a panel: 48 KiB on the stack.
pub(super) const PANEL_COLS: usize = 1536;
/// The most tokens of a tile with a panel.
const TILE_TOKENS: usize = 12;

/// See [`ProductI8`].
pub(super) fn product(product: ProductI8<'_>) {
    // SAFETY: a table is handed out only after the CPU was asked for its features.
    unsafe {
        if product.tokens <= DIRECT_TOKENS || product.cols > PANEL_COLS {
            directly(product);
        } else {
            by_panels(product);
        }
    }
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn directly(mut product: ProductI8<'_>) {
    let mut row = 0;
    while row < product.rows {
        let mut token = 0;
        while token < product.tokens {
            let count = (product.tokens - token).min(DIRECT_TOKENS);
            with_constant!(count, T => direct_tile::<T>(&mut product, token, row), 1 2 3 4 5 6 7 8);
            token += count;
        }
        row += DIRECT_ROWS;
    }
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn by_panels(mut product: ProductI8<'_>) {
    let mut panel = Panel::new();
    let mut row = 0;
    while row < product.rows {
        // SAFETY: row is below the number of rows; cols ≤ PANEL_COLS.
        unsafe { panel.fill(&product, row) };
        let w = product.w;
        let next = w.codes.as_ptr().wrapping_add((row + PANEL_ROWS) * w.stride);
        let calls = product.tokens.div_ceil(TILE_TOKENS) * (product.cols / 16);
        let mut ahead = Ahead::new(next, PANEL_ROWS, product.cols, w.stride, calls);
        let mut tiles = product.tokens.div_ceil(TILE_TOKENS);
        let mut token = 0;
        while token < product.tokens {
            let count = (product.tokens - token).div_ceil(tiles.max(1)).max(1);
            with_constant!(
                count, T => panel_tile::<T>(&mut product, token, row, &panel, &mut ahead),
                1 2 3 4 5 6 7 8 9 10 11 12
            );
            token += count;
            tiles -= 1;
        }
        row += PANEL_ROWS;
    }
}

/// Where the `N` rows from `row` on begin; rows beyond the last are the last.
///
/// # Safety
///
/// `row` is below the number of rows.
#[inline(always)]
unsafe fn places<const N: usize>(product: &ProductI8<'_>, row: usize) -> [*const u8; N] {
    core::array::from_fn(|index| {
        let row = (row + index).min(product.rows - 1);
        // SAFETY: `ProductI8::new` checked that `cols` codes lie from row · stride on.
        unsafe { product.w.codes.as_ptr().add(row * product.w.stride) }
    })
}

/// 16 columns of four rows, `mask` saying which of the columns there are.
///
/// # Safety
///
/// Those can be read from each of the places on.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn quad(places: [*const u8; 4], column: usize, mask: Option<__mmask16>) -> __m512i {
    let [a, b, c, d] = places;
    // SAFETY: the caller's.
    unsafe {
        let load = |place: *const u8| match mask {
            None => _mm_loadu_si128(place.add(column).cast()),
            Some(mask) => _mm_maskz_loadu_epi8(mask, place.add(column).cast()),
        };
        let joined = _mm512_castsi128_si512(load(a));
        let joined = _mm512_inserti32x4::<1>(joined, load(b));
        let joined = _mm512_inserti32x4::<2>(joined, load(c));
        _mm512_inserti32x4::<3>(joined, load(d))
    }
}

/// A mask of the columns that are left over of 16; `None` if there are none.
#[inline(always)]
fn rest_mask(cols: usize) -> Option<__mmask16> {
    let rest = cols % 16;
    (rest != 0).then_some((1 << rest) - 1)
}

/// For every four columns, two vectors of 16 rows × 4 codes; and the sums of the rows' codes.
#[repr(C, align(64))]
pub(super) struct Panel {
    pub(super) codes: [MaybeUninit<u8>; PANEL_ROWS * PANEL_COLS],
    pub(super) sums: [[i32; LANES]; 2],
}

impl Panel {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self {
            codes: [const { MaybeUninit::uninit() }; PANEL_ROWS * PANEL_COLS],
            sums: [[0; LANES]; 2],
        }
    }

    /// Fills the panel with the rows from `row` on, columns completed by zeros to a multiple of 16.
    ///
    /// # Safety
    ///
    /// `row` is below the number of rows, and there are at most [`PANEL_COLS`] columns.
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    #[inline]
    pub(super) unsafe fn fill(&mut self, product: &ProductI8<'_>, row: usize) {
        let panel: *mut u8 = self.codes.as_mut_ptr().cast();
        let ones = _mm512_set1_epi8(1);
        for (vector, sums) in self.sums.iter_mut().enumerate() {
            let mut parts = [_mm512_setzero_si512(); 4];
            // SAFETY: the caller's, for a row at or before the last; 16 columns of 32 rows lie inside the panel, which is
            // aligned to 64.
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
fn panel_tile<const T: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    panel: &Panel,
    ahead: &mut Ahead,
) {
    let ProductI8 { x, cols, .. } = *product;
    let mut sums = [[_mm512_setzero_si512(); 2]; T];
    // SAFETY: `ProductI8::new` checked that `cols` codes lie from every token · stride on; token + T ≤ tokens. The panel is
    // filled as far as `cols` rounded up to 16.
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
        store(product, token, row, LANES, from_zero(product, token, first, halves[0]));
        store(product, token, row + LANES, LANES, from_zero(product, token, second, halves[1]));
    }
}

/// `T` tokens × 12 rows.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn direct_tile<const T: usize>(product: &mut ProductI8<'_>, token: usize, row: usize) {
    let ProductI8 { x, cols, .. } = *product;
    let ones = _mm512_set1_epi8(1);
    let mut row_sums = [_mm512_setzero_si512(); 4];
    let mut sums = [[_mm512_setzero_si512(); 4]; T];
    // SAFETY: as in `panel_tile`, and for the rows as `places` says; masks cover no more than `cols`.
    unsafe {
        let codes = x.codes.as_ptr().add(token * x.stride);
        let places: [*const u8; DIRECT_ROWS] = places(product, row);
        let vector = |v: usize| [places[v], places[v + 3], places[v + 6], places[v + 9]];
        let ahead = DIRECT_ROWS * product.w.stride;
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
        store(product, token, row, DIRECT_ROWS, totals);
    }
}

/// The sums of the quarters of the first three of four vectors: lane 3 · j + v is that of quarter j of vector v.
#[target_feature(enable = "avx512f")]
#[inline]
fn add_quads(vectors: [__m512i; 4]) -> __m512i {
    let [a, b, c, d] = transpose_quarters(vectors);
    let sums = _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d));
    // Every fourth lane belongs to the vector that is not there.
    _mm512_maskz_compress_epi32(0x7777, sums)
}

/// Σ (x − zero) · w from the sums of x · w of the tokens from `token` on and those of the codes of the rows.
///
/// # Safety
///
/// There are so many tokens.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) unsafe fn from_zero<const T: usize>(
    product: &ProductI8<'_>,
    token: usize,
    row_sums: __m512i,
    sums: [__m512i; T],
) -> [__m512i; T] {
    let mut centred = sums;
    for (t, sum) in centred.iter_mut().enumerate() {
        // SAFETY: `ProductI8::new` checked that there are as many zeros as tokens.
        let zero = unsafe { *product.x.zeros.as_ptr().add(token + t) };
        let zero = _mm512_set1_epi32(i32::from(zero));
        *sum = _mm512_sub_epi32(*sum, _mm512_mullo_epi32(zero, row_sums));
    }
    centred
}

/// Makes numbers of Σ (x − zero) · w of the tokens from `token` on and up to `rows` rows from `row` on, and stores them.
///
/// # Safety
///
/// There are as many tokens as `sums`.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
pub(super) unsafe fn store(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    rows: usize,
    sums: impl IntoIterator<Item = __m512i>,
) {
    let ProductI8 { x, w, strides, .. } = *product;
    let rows = product.rows.saturating_sub(row).min(rows);
    if rows == 0 {
        return;
    }
    let mask: __mmask16 = first_lanes(rows);
    // SAFETY: `ProductI8::new` checked that scales, zeros and the bias are as many as tokens and rows, and that the last
    // element of the output lies inside it; the caller has as many tokens as sums, and the mask covers no more than the
    // rows there are.
    unsafe {
        let row_scales = _mm512_maskz_loadu_ps(mask, w.scales.as_ptr().add(row));
        let bias = match product.base {
            Base::Bias(bias) => Some(_mm512_maskz_loadu_ps(mask, bias.as_ptr().add(row))),
            Base::Output => None,
        };
        let out = product.out.as_mut_ptr().add(token * strides.token + row * strides.row);
        for (t, sum) in sums.into_iter().enumerate() {
            let scale = _mm512_set1_ps(*x.scales.as_ptr().add(token + t));
            let value = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scale, row_scales));
            let out = out.add(t * strides.token);
            if strides.row == 1 {
                let base = bias.unwrap_or_else(|| _mm512_maskz_loadu_ps(mask, out));
                _mm512_mask_storeu_ps(out, mask, _mm512_add_ps(base, value));
                continue;
            }
            let (mut bases, mut values) = ([0.0_f32; LANES], [0.0_f32; LANES]);
            _mm512_storeu_ps(bases.as_mut_ptr(), bias.unwrap_or_else(|| _mm512_setzero_ps()));
            _mm512_storeu_ps(values.as_mut_ptr(), value);
            for (r, (&base, &value)) in bases.iter().zip(&values).enumerate().take(rows) {
                let out = out.add(r * strides.row);
                *out = if bias.is_some() { base } else { *out } + value;
            }
        }
    }
}
