//! 12 rows at a time × up to 32 tokens: 24 accumulators of two vectors of tokens × 12 rows.
//!
//! A vector of activations holds four columns of 16 tokens; tokens are transposed once for all
//! rows. Four weights at a time are broadcast from memory to all lanes. Idle lanes cost as much as
//! used ones.

use core::arch::x86_64::*;

use super::super::packed_tokens::PackedTokens;
use super::super::prefetcher::Prefetcher;
use super::super::transpose::{transpose_quarters, transpose_whole_quarters};
use super::super::vector::first_lanes;
use super::super::width::{BYTES, LANES};
use super::PANEL_COLS;
use crate::kernel::integer::{ProductBase, ProductI8};

/// With more tokens, sharing a panel of weights is faster.
const MOST_TOKENS: usize = 64;
/// Rows of a tile, at most.
const ROWS: usize = 12;
/// Tokens of a tile, at most: two vectors.
const TILE_TOKENS: usize = 2 * LANES;

/// Returns true if the product can and should be computed in this way.
pub(super) fn suit(product: &ProductI8<'_>) -> bool {
    let few_tokens = product.tokens <= MOST_TOKENS || product.cols > PANEL_COLS;
    few_tokens && product.rows.is_multiple_of(4) && PackedTokens::have_room(product.cols)
}

/// The whole product, which must [`suit`].
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn product(mut product: ProductI8<'_>) {
    let mut packed = PackedTokens::new();
    let at_once = PackedTokens::most_tokens(product.cols);
    for token in (0..product.tokens).step_by(at_once) {
        let count = (product.tokens - token).min(at_once);
        // SAFETY: `suit` checked that there is room for the columns; token + count ≤ tokens.
        unsafe { packed.fill::<false>(&product, token, count) };
        let tokens = Tokens { first: token, count, packed: &packed };
        let mut row = 0;
        while row < product.rows {
            // SAFETY: the rows exist, since their number is a multiple of 4.
            row += unsafe {
                match product.rows - row {
                    0..8 => some_rows::<4>(&mut product, tokens, row),
                    8..ROWS => some_rows::<8>(&mut product, tokens, row),
                    _ => some_rows::<ROWS>(&mut product, tokens, row),
                }
            };
        }
    }
}

/// Tokens that are packed.
#[derive(Clone, Copy)]
struct Tokens<'p> {
    first: usize,
    count: usize,
    packed: &'p PackedTokens,
}

/// `R` rows from `row` on; returns `R`.
///
/// # Safety
///
/// The rows must exist.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
unsafe fn some_rows<const R: usize>(
    product: &mut ProductI8<'_>,
    tokens: Tokens<'_>,
    row: usize,
) -> usize {
    let (w, cols) = (product.w, product.cols);
    let next = w.codes.as_ptr().wrapping_add((row + R) * w.stride);
    let calls = tokens.count.div_ceil(TILE_TOKENS) * (cols / 4);
    let mut ahead = Prefetcher::new(next, ROWS, cols, w.stride, calls);
    // SAFETY: upheld by the caller.
    unsafe {
        let sums = negative_sums::<R>(product, row);
        let mut token = 0;
        while token < tokens.count {
            match tokens.count - token {
                0..=LANES => tile::<R, 1>(product, tokens, token, (row, &sums), &mut ahead),
                _ => tile::<R, 2>(product, tokens, token, (row, &sums), &mut ahead),
            }
            token += TILE_TOKENS;
        }
    }
    R
}

/// Bits of a code of zero that fit a 16-bit factor in addition to the code.
const UPPER_BITS: u32 = 6;

/// The negated sums of the codes of `R` rows, as factors for [`times_zeros`].
///
/// # Safety
///
/// The rows from `row` on must exist.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
unsafe fn negative_sums<const R: usize>(product: &ProductI8<'_>, row: usize) -> [i32; LANES] {
    let ones = _mm512_set1_epi8(1);
    let w = product.w;
    let mut sums = [_mm512_setzero_si512(); ROWS];
    // SAFETY: `ProductI8::new` checked that `cols` codes, a multiple of 64, start at every row ·
    // stride.
    unsafe {
        let place = w.codes.as_ptr().add(row * w.stride);
        for column in (0..product.cols).step_by(BYTES) {
            unroll!(R, r => {
                let codes = _mm512_loadu_si512(place.add(r * w.stride + column).cast());
                sums[r] = _mm512_dpbusd_epi32(sums[r], ones, codes);
            });
        }
    }
    let mut quarters = [_mm512_setzero_si512(); 4];
    unroll_4!(3, four => {
        let [a, b, c, d] = [sums[4 * four], sums[4 * four + 1], sums[4 * four + 2], sums[4 * four + 3]];
        quarters[four] = add(transpose_quarters([a, b, c, d]));
    });
    let negative =
        _mm512_sub_epi32(_mm512_setzero_si512(), add(transpose_whole_quarters(quarters)));
    let upper = _mm512_slli_epi32::<16>(_mm512_srai_epi32::<UPPER_BITS>(negative));
    let lower = _mm512_and_si512(negative, _mm512_set1_epi32((1 << UPPER_BITS) - 1));
    let mut factors = [0; LANES];
    // SAFETY: 16 numbers are written.
    unsafe { _mm512_storeu_si512(factors.as_mut_ptr().cast(), _mm512_or_si512(upper, lower)) };
    factors
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add([a, b, c, d]: [__m512i; 4]) -> __m512i {
    _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d))
}

/// The codes of zero of 16 tokens times a row's factor of [`negative_sums`]: a product of 24 bits
/// and 8 as two of 16 bits, in one instruction, where a 32-bit product takes three.
#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn times_zeros(zeros: __m512i, factor: i32) -> __m512i {
    let both = _mm512_or_si512(zeros, _mm512_slli_epi32::<{ 16 + UPPER_BITS }>(zeros));
    _mm512_dpwssd_epi32(_mm512_setzero_si512(), both, _mm512_set1_epi32(factor))
}

/// `R` rows × up to `V` vectors of tokens, `token` the first of them.
///
/// # Safety
///
/// The rows from `row` on must exist, and every vector must have a token.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
unsafe fn tile<const R: usize, const V: usize>(
    product: &mut ProductI8<'_>,
    tokens: Tokens<'_>,
    token: usize,
    (row, negative_sums): (usize, &[i32; LANES]),
    ahead: &mut Prefetcher,
) {
    let ProductI8 { w, cols, x, .. } = *product;
    let left = tokens.count - token;
    let lines = tokens.packed.lines(token, cols);
    let token = tokens.first + token;
    let mut sums = [[_mm512_setzero_si512(); V]; R];
    // SAFETY: `ProductI8::new` checked that there is a zero for each token, and that `cols` codes,
    // a multiple of 4, start at every row · stride; the caller has the rows, and the packed lines
    // of 64 bytes.
    unsafe {
        unroll_4!(V, v => {
            let mask = first_lanes(left - v * LANES);
            let zeros = x.zeros.as_ptr().add(token + v * LANES);
            let zeros = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, zeros.cast()));
            unroll!(R, r => { sums[r][v] = times_zeros(zeros, negative_sums[r]); });
        });
        let place = w.codes.as_ptr().add(row * w.stride);
        // Each of the other rows is one or two strides from one of these, which addressing modes
        // can express.
        let thirds: [*const u8; ROWS / 3] =
            core::array::from_fn(|third| place.wrapping_add(third * 3 * w.stride));
        let mut c = 0;
        while c < cols {
            let mut xs = [_mm512_setzero_si512(); V];
            unroll_4!(V, v => {
                xs[v] = _mm512_load_si512(lines.add(v * LANES * cols + c * LANES).cast());
            });
            ahead.fetch();
            unroll!(R, r => {
                let four: *const i32 = thirds[r / 3].add(r % 3 * w.stride + c).cast();
                let four = _mm512_set1_epi32(four.read_unaligned());
                unroll_4!(V, v => { sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], xs[v], four); });
            });
            c += 4;
        }
        unroll_4!(V, v => {
            let mut of_rows = [_mm512_setzero_si512(); ROWS];
            unroll!(R, r => { of_rows[r] = sums[r][v]; });
            let tokens = (token + v * LANES, (left - v * LANES).min(LANES));
            store_by_rows::<R>(product, tokens, row, &of_rows);
        });
    }
}

/// Converts Σ (x − zero) · w of `count` tokens from `token` on and `R` rows from `row` on to
/// floats, a vector per row, and stores them.
///
/// # Safety
///
/// The tokens, at most 16, and rows must exist.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
unsafe fn store_by_rows<const R: usize>(
    product: &mut ProductI8<'_>,
    (token, count): (usize, usize),
    row: usize,
    sums: &[__m512i; ROWS],
) {
    let ProductI8 { x, w, base, strides, .. } = *product;
    let mask = first_lanes(count);
    let mut values = [_mm512_setzero_ps(); ROWS];
    // SAFETY: `ProductI8::new` checked that scales and the bias are as many as tokens and rows, and
    // that the last element of the output is inside it; the masks cover no more than the tokens
    // and rows that the caller has.
    unsafe {
        let scales = _mm512_maskz_loadu_ps(mask, x.scales.as_ptr().add(token));
        unroll!(R, r => {
            let row_scale = _mm512_set1_ps(*w.scales.as_ptr().add(row + r));
            values[r] = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[r]), _mm512_mul_ps(scales, row_scale));
        });
        if let ProductBase::Bias(bias) = base {
            let bias = bias.as_ptr().add(row);
            unroll!(R, r => { values[r] = _mm512_add_ps(_mm512_set1_ps(*bias.add(r)), values[r]); });
        }
        let to_output = matches!(base, ProductBase::Output);
        let put = |place: *mut f32, mask: __mmask16, value: __m512| {
            let base =
                if to_output { _mm512_maskz_loadu_ps(mask, place) } else { _mm512_set1_ps(-0.0) };
            _mm512_mask_storeu_ps(place, mask, _mm512_add_ps(base, value));
        };
        let out = product.out.as_mut_ptr().add(token * strides.token + row * strides.row);
        if strides.token == 1 {
            unroll!(R, r => { put(out.add(r * strides.row), mask, values[r]); });
        } else if strides.row == 1 {
            let mut fours = [[_mm512_setzero_si512(); 4]; 3];
            unroll_4!(3, four => {
                let four_rows = [0, 1, 2, 3].map(|r| _mm512_castps_si512(values[4 * four + r]));
                fours[four] = transpose_quarters(four_rows);
            });
            unroll_4!(4, t => {
                let quarters = [fours[0][t], fours[1][t], fours[2][t], _mm512_setzero_si512()];
                let quarters = transpose_whole_quarters(quarters);
                unroll_4!(4, quarter => {
                    let t = 4 * quarter + t;
                    if t < count {
                        let value = _mm512_castsi512_ps(quarters[quarter]);
                        put(out.add(t * strides.token), first_lanes(R), value);
                    }
                });
            });
        } else {
            let mut lanes = [[0.0_f32; LANES]; ROWS];
            unroll!(R, r => { _mm512_storeu_ps(lanes[r].as_mut_ptr(), values[r]); });
            for (r, lanes) in lanes.iter().enumerate().take(R) {
                for (t, &value) in lanes.iter().enumerate().take(count) {
                    let place = out.add(t * strides.token + r * strides.row);
                    *place = if to_output { *place + value } else { value };
                }
            }
        }
    }
}
