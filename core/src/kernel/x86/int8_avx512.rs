//! Integer products with AVX512-VNNI.
//!
//! Few tokens run along the columns, as on AVX2. From [`PANEL_TOKENS`] on, 32 rows at a time are first re-ordered into a
//! panel on the stack, so that a vector holds four columns of 16 rows: sums then need no reduction across lanes, which
//! would cost as much as half the products of 384 columns. The panel costs one pass over the weights per call.

use core::arch::x86_64::*;

use crate::kernel::integer::{Base, MultiplyI16, ProductI8};

/// Bytes, and columns, of a vector.
const BYTES: usize = 64;
/// 32-bit sums of a vector.
const LANES: usize = 16;
/// From this many tokens on a panel pays.
const PANEL_TOKENS: usize = 16;
/// Vectors side by side in a panel.
const PANEL_VECTORS: usize = 2;
/// Rows of a panel.
const PANEL_ROWS: usize = PANEL_VECTORS * LANES;
/// The most columns of a panel: 48 KiB on the stack.
const PANEL_COLS: usize = 1536;
/// Rows that are multiplied with all tokens before the next are touched, without a panel.
const ROWS_BLOCK: usize = 32;

/// See [`ProductI8`].
pub(super) fn product(product: ProductI8<'_>) {
    // SAFETY: a table is handed out only after the CPU was asked for its features.
    unsafe {
        if product.tokens >= PANEL_TOKENS && product.cols <= PANEL_COLS {
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
        let mut sums = [0_i32; ROWS_BLOCK];
        for (index, sum) in sums.iter_mut().enumerate().take(end - row) {
            *sum = row_sum(&product, row + index);
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

/// The sum of a row's codes.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn row_sum(product: &ProductI8<'_>, row: usize) -> i32 {
    let ones = _mm512_set1_epi8(1);
    let mut sum = _mm512_setzero_si512();
    let mut c = 0;
    while c < product.cols {
        let mask = byte_mask(product.cols - c);
        // SAFETY: `ProductI8::new` checked that `cols` bytes lie from row · stride on; the mask covers no more.
        let weights = unsafe {
            let place = product.w.codes.as_ptr().add(row * product.w.stride + c);
            _mm512_maskz_loadu_epi8(mask, place.cast())
        };
        sum = _mm512_dpbusd_epi32(sum, ones, weights);
        c += BYTES;
    }
    _mm512_reduce_add_epi32(sum)
}

/// A mask of the first `count` bytes of a vector.
#[inline(always)]
fn byte_mask(count: usize) -> __mmask64 {
    if count >= BYTES { u64::MAX } else { (1 << count) - 1 }
}

/// A mask of the first `count` lanes of a vector.
#[inline(always)]
fn lane_mask(count: usize) -> __mmask16 {
    if count >= LANES { u16::MAX } else { (1 << count) - 1 }
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
    let mut next = row;
    while next < end {
        let row_sums = sums.get(next - row..end - row).unwrap_or_default();
        next += match end - next {
            1 => tile::<T, 1>(product, token, next, row_sums),
            2 => tile::<T, 2>(product, token, next, row_sums),
            3 => tile::<T, 3>(product, token, next, row_sums),
            _ => tile::<T, 4>(product, token, next, row_sums),
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
    row_sums: &[i32],
) -> usize {
    let ProductI8 { x, w, cols, strides, .. } = *product;
    // SAFETY: `ProductI8::new` checked that `cols` codes lie from every token · stride and row · stride on, that scales
    // and zeros are as many as tokens and rows, and that the last element of the output lies inside it;
    // token + T ≤ tokens and row + R ≤ rows. Masks cover no more than `cols`.
    unsafe {
        let codes = x.codes.as_ptr().add(token * x.stride);
        let weights = w.codes.as_ptr().add(row * w.stride);
        let mut sums = [[_mm512_setzero_si512(); 4]; 4];
        let mut c = 0;
        while c < cols {
            let mask = byte_mask(cols - c);
            let mut xs = [_mm512_setzero_si512(); T];
            for (t, part) in xs.iter_mut().enumerate() {
                *part = _mm512_maskz_loadu_epi8(mask, codes.add(t * x.stride + c).cast());
            }
            for (r, sums) in sums.iter_mut().enumerate().take(R) {
                let part = _mm512_maskz_loadu_epi8(mask, weights.add(r * w.stride + c).cast());
                for (sum, &x) in sums.iter_mut().zip(&xs) {
                    *sum = _mm512_dpbusd_epi32(*sum, x, part);
                }
            }
            c += BYTES;
        }
        let mut zeros = [0_i32; 4];
        let mut scales = [0.0_f32; 4];
        for t in 0..T {
            zeros[t] = i32::from(*x.zeros.as_ptr().add(token + t));
            scales[t] = *x.scales.as_ptr().add(token + t);
        }
        let mut totals = [[0_i32; 4]; 4];
        _mm512_storeu_si512(totals.as_mut_ptr().cast(), reduce(sums));
        let (zeros, scales) =
            (_mm_loadu_si128(zeros.as_ptr().cast()), _mm_loadu_ps(scales.as_ptr()));
        for (r, (totals, &row_sum)) in totals.iter().zip(row_sums).enumerate().take(R) {
            let total = _mm_loadu_si128(totals.as_ptr().cast());
            let correction = _mm_mullo_epi32(zeros, _mm_set1_epi32(row_sum));
            let total = _mm_cvtepi32_ps(_mm_sub_epi32(total, correction));
            let row_scale = _mm_set1_ps(*w.scales.as_ptr().add(row + r));
            let mut lanes = [0.0_f32; 4];
            _mm_storeu_ps(lanes.as_mut_ptr(), _mm_mul_ps(total, _mm_mul_ps(scales, row_scale)));
            for (t, &value) in lanes.iter().enumerate().take(T) {
                let at = (token + t) * strides.token + (row + r) * strides.row;
                let place = product.out.as_mut_ptr().add(at);
                let base = match product.base {
                    Base::Bias(bias) => *bias.as_ptr().add(row + r),
                    Base::Output => *place,
                };
                *place = base + value;
            }
        }
    }
    R
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

/// A panel: for every four columns, [`PANEL_VECTORS`] vectors of 16 rows × 4 codes.
#[repr(C, align(64))]
struct Panel([core::mem::MaybeUninit<u8>; PANEL_ROWS * PANEL_COLS]);

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn by_panels(mut product: ProductI8<'_>) {
    let mut panel = Panel([const { core::mem::MaybeUninit::uninit() }; PANEL_ROWS * PANEL_COLS]);
    let mut row = 0;
    while row < product.rows {
        let sums = fill_panel(&product, row, &mut panel);
        let vectors = (product.rows - row).div_ceil(LANES).min(PANEL_VECTORS);
        let mut token = 0;
        while token < product.tokens {
            let left = product.tokens - token;
            token += match (left, vectors) {
                (12.., 2) => panel_tile::<12, 2>(&mut product, token, row, &panel, &sums),
                (6.., 2) => panel_tile::<6, 2>(&mut product, token, row, &panel, &sums),
                (3.., 2) => panel_tile::<3, 2>(&mut product, token, row, &panel, &sums),
                (_, 2) => panel_tile::<1, 2>(&mut product, token, row, &panel, &sums),
                (12.., _) => panel_tile::<12, 1>(&mut product, token, row, &panel, &sums),
                (_, _) => panel_tile::<1, 1>(&mut product, token, row, &panel, &sums),
            };
        }
        row += PANEL_ROWS;
    }
}

/// Re-orders the rows from `row` on into `panel`; returns the sums of the rows' codes.
///
/// Rows beyond the last are copies of the last, columns are completed by zeros to a multiple of 16.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn fill_panel(product: &ProductI8<'_>, row: usize, panel: &mut Panel) -> [__m512i; PANEL_VECTORS] {
    let ProductI8 { w, cols, rows, .. } = *product;
    let ones = _mm512_set1_epi8(1);
    let mut sums = [_mm512_setzero_si512(); PANEL_VECTORS];
    for (vector, sum) in sums.iter_mut().enumerate() {
        let first = row + vector * LANES;
        if first >= rows {
            break;
        }
        let place = |index: usize| {
            let row = (first + index).min(rows - 1);
            // SAFETY: row is below the number of rows.
            unsafe { w.codes.as_ptr().add(row * w.stride) }
        };
        let places: [*const u8; LANES] = core::array::from_fn(place);
        let mut c = 0;
        while c < cols {
            let mask = if cols - c >= 16 { u16::MAX } else { (1 << (cols - c)) - 1 };
            // Vector i: 16 columns of the rows i, i + 4, i + 8, i + 12.
            let mut lines = [_mm512_setzero_si512(); 4];
            for (i, line) in lines.iter_mut().enumerate() {
                // SAFETY: the mask covers no more than the columns from c on.
                let quarter = |j: usize| unsafe {
                    _mm_maskz_loadu_epi8(mask, places[i + 4 * j].add(c).cast())
                };
                let joined = _mm512_castsi128_si512(quarter(0));
                let joined = _mm512_inserti32x4::<1>(joined, quarter(1));
                let joined = _mm512_inserti32x4::<2>(joined, quarter(2));
                *line = _mm512_inserti32x4::<3>(joined, quarter(3));
            }
            // In every quarter the four lines' 4 × 4 groups of four codes are transposed.
            let [a, b, c0, d] = lines;
            let ab = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
            let cd = (_mm512_unpacklo_epi32(c0, d), _mm512_unpackhi_epi32(c0, d));
            let groups = [
                _mm512_unpacklo_epi64(ab.0, cd.0),
                _mm512_unpackhi_epi64(ab.0, cd.0),
                _mm512_unpacklo_epi64(ab.1, cd.1),
                _mm512_unpackhi_epi64(ab.1, cd.1),
            ];
            for (i, &group) in groups.iter().enumerate() {
                *sum = _mm512_dpbusd_epi32(*sum, ones, group);
                let at = ((c / 4 + i) * PANEL_VECTORS + vector) * BYTES;
                // SAFETY: cols ≤ PANEL_COLS, a multiple of 16, so the group lies inside the panel; it is aligned to 64.
                unsafe { _mm512_store_si512(panel.0.as_mut_ptr().add(at).cast(), group) };
            }
            c += 16;
        }
    }
    sums
}

/// `T` tokens × `V` vectors of rows; returns `T`.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn panel_tile<const T: usize, const V: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    panel: &Panel,
    row_sums: &[__m512i; PANEL_VECTORS],
) -> usize {
    let ProductI8 { x, w, cols, strides, .. } = *product;
    // SAFETY: `ProductI8::new` checked that `cols` codes lie from every token · stride on, that scales and zeros are as
    // many as tokens and rows, and that the last element of the output lies inside it; token + T ≤ tokens; the panel is
    // filled as far as `cols` rounded up to 16 for V vectors of rows, and masks cover no more than the rows there are.
    unsafe {
        let codes = x.codes.as_ptr().add(token * x.stride);
        let panel: *const u8 = panel.0.as_ptr().cast();
        let mut sums = [[_mm512_setzero_si512(); V]; T];
        let groups = cols / 4;
        for group in 0..groups {
            let mut ws = [_mm512_setzero_si512(); V];
            for (v, part) in ws.iter_mut().enumerate() {
                *part = _mm512_load_si512(panel.add((group * PANEL_VECTORS + v) * BYTES).cast());
            }
            for (t, sums) in sums.iter_mut().enumerate() {
                let place: *const i32 = codes.add(t * x.stride + group * 4).cast();
                let x = _mm512_set1_epi32(place.read_unaligned());
                for (sum, &w) in sums.iter_mut().zip(&ws) {
                    *sum = _mm512_dpbusd_epi32(*sum, x, w);
                }
            }
        }
        if !cols.is_multiple_of(4) {
            for (t, sums) in sums.iter_mut().enumerate() {
                let mut last = [0; 4];
                let place = codes.add(t * x.stride + groups * 4);
                core::ptr::copy_nonoverlapping(place, last.as_mut_ptr(), cols % 4);
                let x = _mm512_set1_epi32(i32::from_le_bytes(last));
                for (v, sum) in sums.iter_mut().enumerate() {
                    let place = panel.add((groups * PANEL_VECTORS + v) * BYTES);
                    *sum = _mm512_dpbusd_epi32(*sum, x, _mm512_load_si512(place.cast()));
                }
            }
        }
        for v in 0..V {
            let first = row + v * LANES;
            let mask = lane_mask(product.rows.saturating_sub(first));
            let row_scales = _mm512_maskz_loadu_ps(mask, w.scales.as_ptr().add(first));
            let bias = match product.base {
                Base::Bias(bias) => _mm512_maskz_loadu_ps(mask, bias.as_ptr().add(first)),
                Base::Output => _mm512_setzero_ps(),
            };
            for (t, sums) in sums.iter().enumerate() {
                let zero = i32::from(*x.zeros.as_ptr().add(token + t));
                let correction = _mm512_mullo_epi32(_mm512_set1_epi32(zero), row_sums[v]);
                let total = _mm512_cvtepi32_ps(_mm512_sub_epi32(sums[v], correction));
                let scale = _mm512_set1_ps(*x.scales.as_ptr().add(token + t));
                let value = _mm512_mul_ps(total, _mm512_mul_ps(scale, row_scales));
                let at = (token + t) * strides.token + first * strides.row;
                let place = product.out.as_mut_ptr().add(at);
                store(place, strides.row, mask, value, bias, matches!(product.base, Base::Output));
            }
        }
    }
    T
}

/// Stores 16 numbers `stride` apart, added to `base`, or to what is there.
///
/// # Safety
///
/// The elements that the mask covers lie inside one slice that may be written.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
unsafe fn store(
    place: *mut f32,
    stride: usize,
    mask: __mmask16,
    value: __m512,
    base: __m512,
    accumulate: bool,
) {
    // SAFETY: the caller's.
    unsafe {
        if stride == 1 {
            let base = if accumulate { _mm512_maskz_loadu_ps(mask, place) } else { base };
            _mm512_mask_storeu_ps(place, mask, _mm512_add_ps(base, value));
            return;
        }
        let (mut values, mut bases) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        _mm512_storeu_ps(values.as_mut_ptr(), value);
        _mm512_storeu_ps(bases.as_mut_ptr(), base);
        for (lane, (value, base)) in values.into_iter().zip(bases).enumerate() {
            if mask & (1 << lane) != 0 {
                let place = place.add(lane * stride);
                *place = if accumulate { *place } else { base } + value;
            }
        }
    }
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
            1..=16 => strip::<1>(&mut multiply, column),
            17..=48 => strip::<2>(&mut multiply, column),
            _ => strip::<4>(&mut multiply, column),
        };
    }
}

/// All rows of A against up to `V` vectors of columns from `column`; returns how many columns.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn strip<const V: usize>(multiply: &mut MultiplyI16<'_>, column: usize) -> usize {
    let rows = multiply.rows.len();
    let mut row = 0;
    while row < rows {
        row += match rows - row {
            1 => corner::<1, V>(multiply, row, column),
            2 => corner::<2, V>(multiply, row, column),
            3..=5 => corner::<3, V>(multiply, row, column),
            12.. if V <= 2 => corner::<12, V>(multiply, row, column),
            _ => corner::<6, V>(multiply, row, column),
        };
    }
    V * LANES
}

/// `M` rows × `V` vectors of the output; returns `M`.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn corner<const M: usize, const V: usize>(
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
        let mut masks = [u16::MAX; V];
        masks[V - 1] = lane_mask(left - (V - 1) * LANES);
        let mut sums = [[_mm512_setzero_si512(); V]; M];
        for pair in 0..multiply.pairs {
            let line: *const i32 = b.add(pair * multiply.b_stride * 4).cast();
            let mut bs = [_mm512_setzero_si512(); V];
            for (v, part) in bs.iter_mut().enumerate() {
                *part = _mm512_maskz_loadu_epi32(masks[v], line.add(v * LANES));
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let place: *const i32 = a.add((m * multiply.a_stride + pair) * 4).cast();
                let a = _mm512_set1_epi32(place.read_unaligned());
                for (sum, &b) in sums.iter_mut().zip(&bs) {
                    *sum = _mm512_dpwssd_epi32(*sum, a, b);
                }
            }
        }
        let columns = multiply.columns.as_ptr().add(column);
        let out = multiply.out.as_mut_ptr().add(row * multiply.out_stride + column);
        for (m, sums) in sums.iter().enumerate() {
            let factor = _mm512_set1_ps(*multiply.rows.as_ptr().add(row + m));
            for (v, &sum) in sums.iter().enumerate() {
                let columns = _mm512_maskz_loadu_ps(masks[v], columns.add(v * LANES));
                let value = _mm512_mul_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), columns), factor);
                let place = out.add(m * multiply.out_stride + v * LANES);
                _mm512_mask_storeu_ps(place, masks[v], value);
            }
        }
    }
    M
}
