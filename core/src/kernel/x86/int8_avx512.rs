//! Integer products with AVX512-VNNI.
//!
//! Few tokens run along the columns, as on AVX2; from [`PANEL_TOKENS`] on, with panels of rows.

use core::arch::x86_64::*;

use super::panel::{self, Ahead, LANES, Panel, ROWS, VECTORS, lane_mask};
use crate::kernel::integer::{Base, MultiplyI16, ProductI8};

/// Bytes, and columns, of a vector.
const BYTES: usize = 64;
/// From this many tokens on a panel pays.
const PANEL_TOKENS: usize = 16;
/// Rows that are multiplied with all tokens before the next are touched, without a panel.
const ROWS_BLOCK: usize = 32;
/// How far ahead weights are fetched.
const PREFETCH_BYTES: usize = 16 << 10;

/// See [`ProductI8`].
pub(super) fn product(product: ProductI8<'_>) {
    // SAFETY: a table is handed out only after the CPU was asked for its features.
    unsafe {
        if product.tokens >= PANEL_TOKENS && product.cols <= 4 * panel::GROUPS {
            by_panels(product);
        } else {
            by_rows(product);
        }
    }
}

/// Tiles of 4 tokens × 4 rows, 16 accumulators along the columns.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn by_rows(mut product: ProductI8<'_>) {
    let mut row = 0;
    while row < product.rows {
        let end = product.rows.min(row + ROWS_BLOCK);
        let mut sums = [0; ROWS_BLOCK];
        for (index, sums) in sums.chunks_exact_mut(16).enumerate() {
            // SAFETY: 16 numbers may be written.
            unsafe {
                let sixteen = row_sums(&product, row + index * 16, end);
                _mm512_storeu_si512(sums.as_mut_ptr().cast(), sixteen);
            }
        }
        let mut token = 0;
        while token < product.tokens {
            token += match product.tokens - token {
                1 => band::<1>(&mut product, token, row, end, &sums),
                2 => band::<2>(&mut product, token, row, end, &sums),
                3 => band::<3>(&mut product, token, row, end, &sums),
                _ => band::<4>(&mut product, token, row, end, &sums),
            };
        }
        row = end;
    }
}

/// The sums of the codes of up to 16 rows from `row` on, below `end`.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn row_sums(product: &ProductI8<'_>, row: usize, end: usize) -> __m512i {
    let ones = _mm512_set1_epi8(1);
    let mut sums = [[_mm512_setzero_si512(); 4]; 4];
    for (index, sum) in sums.as_flattened_mut().iter_mut().enumerate() {
        if row + index >= end {
            break;
        }
        let mut c = 0;
        while c < product.cols {
            let mask = byte_mask(product.cols - c);
            // SAFETY: `ProductI8::new` checked that `cols` bytes lie from row · stride on; the mask covers no more.
            let weights = unsafe {
                let place = product.w.codes.as_ptr().add((row + index) * product.w.stride + c);
                _mm512_maskz_loadu_epi8(mask, place.cast())
            };
            *sum = _mm512_dpbusd_epi32(*sum, ones, weights);
            c += BYTES;
        }
    }
    reduce(sums)
}

/// A mask of the first `count` bytes of a vector.
#[inline(always)]
fn byte_mask(count: usize) -> __mmask64 {
    if count >= BYTES { u64::MAX } else { (1 << count) - 1 }
}

/// Scales and zeros of 4 tokens, each four times.
#[derive(Clone, Copy)]
struct Tokens {
    scales: __m512,
    zeros: __m512i,
}

/// `T` tokens from `token` against the rows `row..end`; returns `T`.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn band<const T: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    end: usize,
    sums: &[i32; ROWS_BLOCK],
) -> usize {
    let (mut scales, mut zeros) = ([[0.0_f32; 4]; 4], [[0_i32; 4]; 4]);
    for t in 0..T {
        scales[t] = [product.x.scales[token + t]; 4];
        zeros[t] = [i32::from(product.x.zeros[token + t]); 4];
    }
    // SAFETY: both are 16 numbers.
    let tokens = unsafe {
        Tokens {
            scales: _mm512_loadu_ps(scales.as_ptr().cast()),
            zeros: _mm512_loadu_si512(zeros.as_ptr().cast()),
        }
    };
    let mut next = row;
    while next < end {
        let left = end - next;
        let mut four = [0; 4];
        four[..left.min(4)].copy_from_slice(&sums[next - row..][..left.min(4)]);
        next += match left {
            1 => tile::<T, 1>(product, token, next, tokens, four),
            2 => tile::<T, 2>(product, token, next, tokens, four),
            3 => tile::<T, 3>(product, token, next, tokens, four),
            _ => tile::<T, 4>(product, token, next, tokens, four),
        };
    }
    T
}

/// `T` tokens × `R` rows of the output, both at most 4; returns `R`.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn tile<const T: usize, const R: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    tokens: Tokens,
    row_sums: [i32; 4],
) -> usize {
    let ProductI8 { x, w, cols, .. } = *product;
    // SAFETY: `ProductI8::new` checked that `cols` codes lie from every token · stride and row · stride on, that scales
    // and zeros are as many as tokens and rows, and that the last element of the output lies inside it;
    // token + T ≤ tokens and row + R ≤ rows. Masks cover no more than `cols`.
    unsafe {
        let codes = x.codes.as_ptr().add(token * x.stride);
        let weights = w.codes.as_ptr().add(row * w.stride);
        let mut sums = [[_mm512_setzero_si512(); 4]; 4];
        let whole = cols - cols % BYTES;
        let mut c = 0;
        while c < whole {
            let mut xs = [_mm512_setzero_si512(); T];
            unroll_4!(T, t => {
                xs[t] = _mm512_loadu_si512(codes.add(t * x.stride + c).cast());
            });
            unroll_4!(R, r => {
                let place = weights.add(r * w.stride + c);
                let part = _mm512_loadu_si512(place.cast());
                if token == 0 {
                    _mm_prefetch::<_MM_HINT_T0>(place.wrapping_add(PREFETCH_BYTES).cast());
                }
                unroll_4!(T, t => {
                    sums[r][t] = _mm512_dpbusd_epi32(sums[r][t], xs[t], part);
                });
            });
            c += BYTES;
        }
        if c < cols {
            // A masked load costs a slot of the multipliers: only here.
            let mask = byte_mask(cols - c);
            for (r, sums) in sums.iter_mut().enumerate().take(R) {
                let part = _mm512_maskz_loadu_epi8(mask, weights.add(r * w.stride + c).cast());
                for (t, sum) in sums.iter_mut().enumerate().take(T) {
                    let x = _mm512_maskz_loadu_epi8(mask, codes.add(t * x.stride + c).cast());
                    *sum = _mm512_dpbusd_epi32(*sum, x, part);
                }
            }
        }
        store_tile::<T, R>(product, token, row, tokens, row_sums, sums);
    }
    R
}

/// Makes numbers of `T` × `R` sums, `sums[row][token]`, and stores them.
///
/// # Safety
///
/// As in [`tile`].
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
unsafe fn store_tile<const T: usize, const R: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    tokens: Tokens,
    row_sums: [i32; 4],
    sums: [[__m512i; 4]; 4],
) {
    let strides = product.strides;
    // SAFETY: the caller's; vectors of four are stored only where four are there, and masks cover R rows.
    unsafe {
        let [a, b, c, d] = sums;
        let by_token: [[__m512i; 4]; 4] = core::array::from_fn(|t| [a[t], b[t], c[t], d[t]]);
        let mask = lane_mask(R) as __mmask8;
        let row_sums = _mm512_broadcast_i32x4(_mm_loadu_si128(row_sums.as_ptr().cast()));
        let row_scales = _mm_maskz_loadu_ps(mask, product.w.scales.as_ptr().add(row));
        let correction = _mm512_mullo_epi32(tokens.zeros, row_sums);
        let total = _mm512_cvtepi32_ps(_mm512_sub_epi32(reduce(by_token), correction));
        let scales = _mm512_mul_ps(tokens.scales, _mm512_broadcast_f32x4(row_scales));
        let mut values = [[0.0_f32; 4]; 4];
        _mm512_storeu_ps(values.as_mut_ptr().cast(), _mm512_mul_ps(total, scales));
        let bias = match product.base {
            Base::Bias(bias) => Some(_mm_maskz_loadu_ps(mask, bias.as_ptr().add(row))),
            Base::Output => None,
        };
        let out = product.out.as_mut_ptr().add(token * strides.token + row * strides.row);
        for (t, values) in values.iter().enumerate().take(T) {
            let place = out.add(t * strides.token);
            let values = _mm_loadu_ps(values.as_ptr());
            if strides.row == 1 && R == 4 {
                let base = bias.unwrap_or_else(|| _mm_loadu_ps(place));
                _mm_storeu_ps(place, _mm_add_ps(base, values));
                continue;
            }
            let (mut bases, mut lanes) = ([0.0_f32; 4], [0.0_f32; 4]);
            _mm_storeu_ps(lanes.as_mut_ptr(), values);
            _mm_storeu_ps(bases.as_mut_ptr(), bias.unwrap_or_else(|| _mm_setzero_ps()));
            for (r, (&base, &value)) in bases.iter().zip(&lanes).enumerate().take(R) {
                let place = place.add(r * strides.row);
                *place = if bias.is_some() { base } else { *place } + value;
            }
        }
    }
}

/// The sums of the lanes of 16 vectors, in their order.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn reduce(rows: [[__m512i; 4]; 4]) -> __m512i {
    let mut quarters = [_mm512_setzero_si512(); 4];
    for (quarter, [a, b, c, d]) in quarters.iter_mut().zip(rows) {
        let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        *quarter = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    }
    let halves = |a: __m512i, b: __m512i| {
        _mm512_add_epi32(_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0xdd>(a, b))
    };
    let [a, b, c, d] = quarters;
    halves(halves(a, b), halves(c, d))
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn by_panels(mut product: ProductI8<'_>) {
    let mut panel = Panel::new();
    let mut row = 0;
    while row < product.rows {
        let rows = (product.rows - row).min(ROWS);
        let w = product.w;
        // SAFETY: `ProductI8::new` checked that `cols` codes lie from each row · stride on; cols ≤ 4 · GROUPS.
        let sums = unsafe {
            panel.fill(w.codes.as_ptr().add(row * w.stride), w.stride, rows, product.cols);
            panel_sums(&panel, product.cols.div_ceil(4), rows)
        };
        let next = w.codes.as_ptr().wrapping_add((row + ROWS) * w.stride);
        let next_rows = product.rows.saturating_sub(row + ROWS).min(ROWS);
        let steps = product.tokens.div_ceil(12);
        let mut ahead = Ahead::new(next, w.stride, next_rows, product.cols, steps);
        let vectors = rows.div_ceil(LANES);
        panel::tiles!(panel_tile, product.tokens, vectors, ahead, &mut product, row, &panel, &sums);
        row += ROWS;
    }
}

/// The sums of the rows' codes.
///
/// # Safety
///
/// The panel is filled with `groups` groups of `rows` rows.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
unsafe fn panel_sums(panel: &Panel, groups: usize, rows: usize) -> [__m512i; VECTORS] {
    let ones = _mm512_set1_epi8(1);
    let mut sums = [_mm512_setzero_si512(); VECTORS];
    for (vector, sum) in sums.iter_mut().enumerate().take(rows.div_ceil(LANES)) {
        for group in 0..groups {
            // SAFETY: the caller's.
            *sum = _mm512_dpbusd_epi32(*sum, ones, unsafe { panel.get(group, vector) });
        }
    }
    sums
}

/// `T` tokens × `V` vectors of rows.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn panel_tile<const T: usize, const V: usize>(
    token: usize,
    product: &mut ProductI8<'_>,
    row: usize,
    panel: &Panel,
    row_sums: &[__m512i; VECTORS],
) {
    let ProductI8 { x, w, cols, strides, rows, .. } = *product;
    // SAFETY: `ProductI8::new` checked that `cols` codes lie from every token · stride on, that scales and zeros are as
    // many as tokens and rows, and that the last element of the output lies inside it; token + T ≤ tokens; the panel is
    // filled as far as `cols` for V vectors of rows, and masks cover no more than the rows there are.
    unsafe {
        let mut totals = [[_mm512_setzero_ps(); V]; T];
        {
            let sums = panel_sums_of_products::<T, V>(
                x.codes.as_ptr().add(token * x.stride),
                x.stride,
                cols,
                panel,
            );
            for (t, (totals, sums)) in totals.iter_mut().zip(&sums).enumerate() {
                let zero = _mm512_set1_epi32(i32::from(*x.zeros.as_ptr().add(token + t)));
                for ((total, &sum), &row_sum) in totals.iter_mut().zip(sums).zip(row_sums) {
                    let sum = _mm512_sub_epi32(sum, _mm512_mullo_epi32(zero, row_sum));
                    *total = _mm512_cvtepi32_ps(sum);
                }
            }
        }
        let mut values = [[0.0_f32; LANES]; V];
        for (t, totals) in totals.iter().enumerate() {
            for (value, &total) in values.iter_mut().zip(totals) {
                _mm512_storeu_ps(value.as_mut_ptr(), total);
            }
            let scale = _mm512_set1_ps(*x.scales.as_ptr().add(token + t));
            for (v, value) in values.iter().enumerate() {
                let first = row + v * LANES;
                let count = (rows - first).min(LANES);
                let mask = lane_mask(count);
                let row_scales = _mm512_maskz_loadu_ps(mask, w.scales.as_ptr().add(first));
                let place = (token + t) * strides.token + first * strides.row;
                let place = product.out.as_mut_ptr().add(place);
                let base = match product.base {
                    Base::Bias(bias) => _mm512_maskz_loadu_ps(mask, bias.as_ptr().add(first)),
                    Base::Output => panel::gather(place, strides.row, count),
                };
                let total = _mm512_loadu_ps(value.as_ptr());
                let value = _mm512_mul_ps(total, _mm512_mul_ps(scale, row_scales));
                panel::scatter(place, strides.row, count, _mm512_add_ps(base, value));
            }
        }
    }
}

/// The sums of products of `T` tokens with the rows of a panel.
///
/// # Safety
///
/// `cols` codes lie from each of `T` tokens, `stride` apart, on; the panel is filled as far for `V` vectors of rows.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
unsafe fn panel_sums_of_products<const T: usize, const V: usize>(
    codes: *const u8,
    stride: usize,
    cols: usize,
    panel: &Panel,
) -> [[__m512i; V]; T] {
    let mut sums = [[_mm512_setzero_si512(); V]; T];
    let groups = cols / 4;
    // SAFETY: the caller's.
    unsafe {
        for group in 0..groups {
            let mut ws = [_mm512_setzero_si512(); V];
            unroll_4!(V, v => {
                ws[v] = panel.get(group, v);
            });
            unroll!(T, t => {
                let place: *const i32 = codes.add(t * stride + group * 4).cast();
                let x = _mm512_set1_epi32(place.read_unaligned());
                unroll_4!(V, v => {
                    sums[t][v] = _mm512_dpbusd_epi32(sums[t][v], x, ws[v]);
                });
            });
        }
        if !cols.is_multiple_of(4) {
            for (t, sums) in sums.iter_mut().enumerate() {
                let mut last = [0; 4];
                let place = codes.add(t * stride + groups * 4);
                core::ptr::copy_nonoverlapping(place, last.as_mut_ptr(), cols % 4);
                let x = _mm512_set1_epi32(i32::from_le_bytes(last));
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = _mm512_dpbusd_epi32(*sum, x, panel.get(groups, v));
                }
            }
        }
    }
    sums
}

/// See [`MultiplyI16`]: tiles of 6 rows of A × 64 columns of B, or 12 × 32.
pub(super) fn multiply(multiply: MultiplyI16<'_>) {
    // SAFETY: a table is handed out only after the CPU was asked for its features.
    unsafe { multiply_strips(multiply) }
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn multiply_strips(mut multiply: MultiplyI16<'_>) {
    let columns = multiply.columns.len();
    let mut column = 0;
    while column < columns {
        column += match columns - column {
            1..=16 => strip::<1, true>(&mut multiply, column),
            32 => strip::<2, false>(&mut multiply, column),
            17..=48 => strip::<2, true>(&mut multiply, column),
            49..=63 => strip::<4, true>(&mut multiply, column),
            _ => strip::<4, false>(&mut multiply, column),
        };
    }
}

/// All rows of A against up to `V` vectors of columns from `column`, the last only in `PART`; returns how many columns.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn strip<const V: usize, const PART: bool>(multiply: &mut MultiplyI16<'_>, column: usize) -> usize {
    let rows = multiply.rows.len();
    let mut row = 0;
    while row < rows {
        row += match rows - row {
            1 => corner::<1, V, PART>(multiply, row, column),
            2 => corner::<2, V, PART>(multiply, row, column),
            3..=5 => corner::<3, V, PART>(multiply, row, column),
            12.. if V <= 2 => corner::<12, V, PART>(multiply, row, column),
            _ => corner::<6, V, PART>(multiply, row, column),
        };
    }
    V * LANES
}

/// `M` rows × `V` vectors of the output; returns `M`.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn corner<const M: usize, const V: usize, const PART: bool>(
    multiply: &mut MultiplyI16<'_>,
    row: usize,
    column: usize,
) -> usize {
    let left = multiply.columns.len() - column;
    // SAFETY: `MultiplyI16::new` checked that `pairs` pairs lie from row · stride on in A, one pair a column in each of
    // `pairs` lines of B, and the output's rows in theirs; row + M ≤ rows, and masks cover no more than the columns.
    unsafe {
        let a = multiply.a.as_ptr().add(row * multiply.a_stride * 4);
        let b = multiply.b.as_ptr().add(column * 4);
        let last = lane_mask(left - (V - 1) * LANES);
        let mut sums = [[_mm512_setzero_si512(); V]; M];
        for pair in 0..multiply.pairs {
            let line: *const i32 = b.add(pair * multiply.b_stride * 4).cast();
            let mut bs = [_mm512_setzero_si512(); V];
            unroll_4!(V, v => {
                let place = line.add(v * LANES);
                // A masked load costs a slot of the multipliers: only where it is needed.
                bs[v] = if PART && v + 1 == V {
                    _mm512_maskz_loadu_epi32(last, place)
                } else {
                    _mm512_loadu_epi32(place)
                };
            });
            unroll!(M, m => {
                let place: *const i32 = a.add((m * multiply.a_stride + pair) * 4).cast();
                let a = _mm512_set1_epi32(place.read_unaligned());
                unroll_4!(V, v => {
                    sums[m][v] = _mm512_dpwssd_epi32(sums[m][v], a, bs[v]);
                });
            });
        }
        let columns = multiply.columns.as_ptr().add(column);
        let out = multiply.out.as_mut_ptr().add(row * multiply.out_stride + column);
        unroll!(M, m => {
            let factor = _mm512_set1_ps(*multiply.rows.as_ptr().add(row + m));
            unroll_4!(V, v => {
                let mask = if v + 1 == V { last } else { u16::MAX };
                let columns = _mm512_maskz_loadu_ps(mask, columns.add(v * LANES));
                let sum = _mm512_cvtepi32_ps(sums[m][v]);
                let value = _mm512_mul_ps(_mm512_mul_ps(sum, columns), factor);
                let place = out.add(m * multiply.out_stride + v * LANES);
                _mm512_mask_storeu_ps(place, mask, value);
            });
        });
    }
    M
}
