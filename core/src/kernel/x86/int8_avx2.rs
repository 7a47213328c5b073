//! Integer products with 256-bit vectors: `vpmaddubsw` on AVX2, `vpdpbusd` on AVX-VNNI.

use core::arch::x86_64::*;

use crate::kernel::integer::{MultiplyI16, ProductBase, ProductI8};
use crate::kernel::summary::RowSummary;

/// The instructions that differ between AVX2 and AVX-VNNI.
trait Dot {
    /// Adds the products of unsigned codes below 128 and signed bytes, four by four, to 32-bit
    /// sums.
    ///
    /// # Safety
    ///
    /// The CPU must have the instructions.
    unsafe fn bytes(sum: __m256i, codes: __m256i, weights: __m256i) -> __m256i;

    /// Adds the products of signed words, two by two, to 32-bit sums.
    ///
    /// # Safety
    ///
    /// The CPU must have the instructions.
    unsafe fn words(sum: __m256i, a: __m256i, b: __m256i) -> __m256i;
}

struct Avx2;

impl Dot for Avx2 {
    #[inline(always)]
    unsafe fn bytes(sum: __m256i, codes: __m256i, weights: __m256i) -> __m256i {
        // SAFETY: upheld by the caller. A pair of products is at most 2 · 127 · 128 and does not saturate.
        unsafe {
            let pairs = _mm256_maddubs_epi16(codes, weights);
            _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
        }
    }

    #[inline(always)]
    unsafe fn words(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: upheld by the caller.
        unsafe { _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)) }
    }
}

struct AvxVnni;

impl Dot for AvxVnni {
    #[inline(always)]
    unsafe fn bytes(sum: __m256i, codes: __m256i, weights: __m256i) -> __m256i {
        // SAFETY: upheld by the caller.
        unsafe { _mm256_dpbusd_avx_epi32(sum, codes, weights) }
    }

    #[inline(always)]
    unsafe fn words(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: upheld by the caller.
        unsafe { _mm256_dpwssd_avx_epi32(sum, a, b) }
    }
}

const LANES: usize = 32;
/// Rows that are multiplied with all tokens before the next block.
const ROWS_BLOCK: usize = 32;

macro_rules! entries {
    ($product:ident, $multiply:ident, $dot:ty, $features:literal) => {
        /// See [`ProductI8`]: tiles of 4 tokens × 2 rows, 8 accumulators along the columns.
        pub(super) fn $product(product: ProductI8<'_>) {
            #[target_feature(enable = $features)]
            fn inner(product: ProductI8<'_>) {
                // SAFETY: this function has the features of the table.
                unsafe { product_rows::<$dot>(product) }
            }
            // SAFETY: a table is returned only after its CPU features were detected.
            unsafe { inner(product) }
        }

        /// See [`MultiplyI16`]: tiles of 4 rows of A × 16 columns of B.
        pub(super) fn $multiply(multiply: MultiplyI16<'_>) {
            #[target_feature(enable = $features)]
            fn inner(multiply: MultiplyI16<'_>) {
                // SAFETY: this function has the features of the table.
                unsafe { multiply_strips::<$dot>(multiply) }
            }
            // SAFETY: as above.
            unsafe { inner(multiply) }
        }
    };
}

entries!(product_avx2, multiply_avx2, Avx2, "avx2");
entries!(product_avxvnni, multiply_avxvnni, AvxVnni, "avx2,avxvnni");

#[inline(always)]
unsafe fn product_rows<D: Dot>(mut product: ProductI8<'_>) {
    let mut row = 0;
    while row < product.rows {
        let end = product.rows.min(row + ROWS_BLOCK);
        let mut made = [RowSummary::EMPTY; ROWS_BLOCK];
        let summaries = product.summaries(row..end, summarize_row, &mut made);
        let mut token = 0;
        while token < product.tokens {
            // SAFETY: upheld by the caller.
            token += unsafe {
                match product.tokens - token {
                    1 => band::<D, 1>(&mut product, token, row, summaries),
                    2 => band::<D, 2>(&mut product, token, row, summaries),
                    3 => band::<D, 3>(&mut product, token, row, summaries),
                    _ => band::<D, 4>(&mut product, token, row, summaries),
                }
            };
        }
        row = end;
    }
}

/// The sum of a row's codes; this table treats no rows as small.
pub(super) fn summarize_row(codes: &[u8]) -> RowSummary {
    #[target_feature(enable = "avx2")]
    fn sum(codes: &[u8]) -> i32 {
        let (steps, rest) = codes.as_chunks::<LANES>();
        let ones = _mm256_set1_epi8(1);
        // SAFETY: this function has AVX2; reads stay within the slices.
        unsafe {
            let last = load_part(rest.as_ptr(), rest.len());
            let mut sum = Avx2::bytes(_mm256_setzero_si256(), ones, last);
            for step in steps {
                sum = Avx2::bytes(sum, ones, load(step.as_ptr()));
            }
            _mm_cvtsi128_si32(reduce([sum, sum, sum, sum]))
        }
    }
    // SAFETY: tables with this function are returned only after AVX2 was detected.
    RowSummary::new(unsafe { sum(codes) }, false)
}

/// `T` tokens from `token` against the rows from `row` that have summaries; returns `T`.
#[inline(always)]
unsafe fn band<D: Dot, const T: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    mut row: usize,
    summaries: &[RowSummary],
) -> usize {
    let (pairs, last) = summaries.as_chunks::<2>();
    for &summaries in pairs {
        // SAFETY: upheld by the caller.
        unsafe { tile::<D, T, 2>(product, token, row, summaries) };
        row += 2;
    }
    if let &[summary] = last {
        // SAFETY: upheld by the caller.
        unsafe { tile::<D, T, 1>(product, token, row, [summary]) };
    }
    T
}

#[inline(always)]
unsafe fn tile<D: Dot, const T: usize, const R: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    summaries: [RowSummary; R],
) {
    let ProductI8 { x, w, cols, strides, .. } = *product;
    // SAFETY: `ProductI8::new` checked that `cols` codes start at every token · stride and row ·
    // stride, that scales and zeros match tokens and rows, and that the last element of the output
    // is inside it; token + T ≤ tokens and row + R ≤ rows. Loads are unaligned.
    unsafe {
        let codes = x.codes.as_ptr().add(token * x.stride);
        let weights = w.codes.as_ptr().add(row * w.stride);
        let mut sums = [[_mm256_setzero_si256(); T]; R];
        let mut c = 0;
        while c + LANES <= cols {
            let mut xs = [_mm256_setzero_si256(); T];
            for (t, x_part) in xs.iter_mut().enumerate() {
                *x_part = load(codes.add(t * x.stride + c));
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let weights = load(weights.add(r * w.stride + c));
                for (sum, &x) in sums.iter_mut().zip(&xs) {
                    *sum = D::bytes(*sum, x, weights);
                }
            }
            c += LANES;
        }
        if c < cols {
            for (r, sums) in sums.iter_mut().enumerate() {
                let weights = load_part(weights.add(r * w.stride + c), cols - c);
                for (t, sum) in sums.iter_mut().enumerate() {
                    let x = load_part(codes.add(t * x.stride + c), cols - c);
                    *sum = D::bytes(*sum, x, weights);
                }
            }
        }
        let mut scales = [0.0_f32; 4];
        let mut zeros = [0_i32; 4];
        for t in 0..T {
            scales[t] = *x.scales.as_ptr().add(token + t);
            zeros[t] = i32::from(*x.zeros.as_ptr().add(token + t));
        }
        let scales = _mm_loadu_ps(scales.as_ptr());
        let zeros = _mm_loadu_si128(zeros.as_ptr().cast());
        for (r, sums) in sums.iter().enumerate() {
            let mut four = [_mm256_setzero_si256(); 4];
            for (slot, &sum) in four.iter_mut().zip(sums) {
                *slot = sum;
            }
            let correction = _mm_mullo_epi32(zeros, _mm_set1_epi32(summaries[r].sum()));
            let sum = _mm_cvtepi32_ps(_mm_sub_epi32(reduce(four), correction));
            let row_scale = _mm_set1_ps(*w.scales.as_ptr().add(row + r));
            let mut lanes = [0.0_f32; 4];
            _mm_storeu_ps(lanes.as_mut_ptr(), _mm_mul_ps(sum, _mm_mul_ps(scales, row_scale)));
            for (t, &value) in lanes.iter().enumerate().take(T) {
                let place = product
                    .out
                    .as_mut_ptr()
                    .add((token + t) * strides.token + (row + r) * strides.row);
                let base = match product.base {
                    ProductBase::Bias(bias) => *bias.as_ptr().add(row + r),
                    ProductBase::Output => *place,
                };
                *place = base + value;
            }
        }
    }
}

/// Loads 32 bytes.
///
/// # Safety
///
/// They must be readable.
#[inline(always)]
unsafe fn load(place: *const u8) -> __m256i {
    // SAFETY: upheld by the caller.
    unsafe { _mm256_loadu_si256(place.cast()) }
}

/// `count` (below 32) bytes, then zeros.
///
/// # Safety
///
/// `count` bytes must be readable.
#[inline(always)]
unsafe fn load_part(place: *const u8, count: usize) -> __m256i {
    let mut bytes = [0_u8; LANES];
    // SAFETY: upheld by the caller; count is below 32.
    unsafe {
        core::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), count.min(LANES));
        load(bytes.as_ptr())
    }
}

/// The sums of the lanes of four vectors.
#[inline(always)]
unsafe fn reduce([a, b, c, d]: [__m256i; 4]) -> __m128i {
    // SAFETY: the calling function has AVX2.
    unsafe {
        let sums = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums))
    }
}

/// Columns of a vector of 32-bit sums.
const COLUMNS: usize = 8;

#[inline(always)]
unsafe fn multiply_strips<D: Dot>(mut multiply: MultiplyI16<'_>) {
    let columns = multiply.columns.len();
    let mut column = 0;
    while column < columns {
        // SAFETY: upheld by the caller.
        unsafe {
            match columns - column {
                1..=COLUMNS => strip::<D, 1>(&mut multiply, column),
                _ => strip::<D, 2>(&mut multiply, column),
            }
        }
        column += 2 * COLUMNS;
    }
}

/// All rows of A against up to `V` vectors of columns from `column`.
#[inline(always)]
unsafe fn strip<D: Dot, const V: usize>(multiply: &mut MultiplyI16<'_>, column: usize) {
    let rows = multiply.rows.len();
    let mut row = 0;
    while row < rows {
        // SAFETY: upheld by the caller.
        row += unsafe {
            match rows - row {
                1 => corner::<D, 1, V>(multiply, row, column),
                2..=3 => corner::<D, 2, V>(multiply, row, column),
                _ => corner::<D, 4, V>(multiply, row, column),
            }
        };
    }
}

/// `M` rows × `V` vectors of the output; returns `M`.
#[inline(always)]
unsafe fn corner<D: Dot, const M: usize, const V: usize>(
    multiply: &mut MultiplyI16<'_>,
    row: usize,
    column: usize,
) -> usize {
    let last = (multiply.columns.len() - column).min(V * COLUMNS) - (V - 1) * COLUMNS;
    // SAFETY: `MultiplyI16::new` checked that `pairs` pairs start at every row · stride in A, that
    // each of `pairs` lines of B has a pair for every column, and that the output has its rows; row
    // + M ≤ rows, and the mask covers exactly the existing columns of the last vector.
    unsafe {
        let mask = mask(last);
        let a = multiply.a.as_ptr().add(row * multiply.a_stride * 4);
        let b = multiply.b.as_ptr().add(column * 4);
        let mut sums = [[_mm256_setzero_si256(); V]; M];
        for pair in 0..multiply.pairs {
            let line: *const i32 = b.add(pair * multiply.b_stride * 4).cast();
            let mut bs = [_mm256_setzero_si256(); V];
            unroll_4!(V, v => {
                let place = line.add(v * COLUMNS);
                bs[v] =
                    if v + 1 < V { load(place.cast()) } else { _mm256_maskload_epi32(place, mask) };
            });
            unroll_4!(M, m => {
                let place: *const i32 = a.add((m * multiply.a_stride + pair) * 4).cast();
                let a = _mm256_set1_epi32(place.read_unaligned());
                unroll_4!(V, v => {
                    sums[m][v] = D::words(sums[m][v], a, bs[v]);
                });
            });
        }
        let columns = multiply.columns.as_ptr().add(column);
        let out = multiply.out.as_mut_ptr().add(row * multiply.out_stride + column);
        for (m, sums) in sums.iter().enumerate() {
            let factor = _mm256_set1_ps(*multiply.rows.as_ptr().add(row + m));
            for (v, &sum) in sums.iter().enumerate() {
                let place = out.add(m * multiply.out_stride + v * COLUMNS);
                let columns = columns.add(v * COLUMNS);
                let sum = _mm256_cvtepi32_ps(sum);
                if v + 1 < V {
                    let scaled = _mm256_mul_ps(sum, _mm256_loadu_ps(columns));
                    _mm256_storeu_ps(place, _mm256_mul_ps(scaled, factor));
                } else {
                    let scaled = _mm256_mul_ps(sum, _mm256_maskload_ps(columns, mask));
                    _mm256_maskstore_ps(place, mask, _mm256_mul_ps(scaled, factor));
                }
            }
        }
    }
    M
}

/// A mask whose first `count` (at most 8) lanes are set.
#[inline(always)]
unsafe fn mask(count: usize) -> __m256i {
    const ONES: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: count ≤ 8, so the eight elements read start at 0 … 8.
    unsafe { load(ONES.as_ptr().add(COLUMNS - count.min(COLUMNS)).cast()) }
}
