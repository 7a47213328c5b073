//! AVX2 with FMA: 8 lanes, 16 registers.

use core::arch::x86_64::*;

use super::{blocks, groups, int8_avx2, unpack};
use crate::kernel::Kernels;
use crate::kernel::product::{FloatOperand, Multiply, Product};

/// The AVX2 table.
pub(super) const TABLE: Kernels = Kernels {
    name: "avx2",
    product_f32,
    multiply_f32,
    product_i8: int8_avx2::product_avx2,
    summarize_row: Some(int8_avx2::summarize_row),
    product_groups: groups::product_avx2,
    product_blocks: Some(blocks::product_avx2),
    quantize_groups,
    unpack_codes: unpack::unpack,
    dequantize_groups,
    multiply_i16: int8_avx2::multiply_avx2,
    quantize,
    quantize_rows,
    quantize_columns,
    softmax_i16,
    softmax,
    gelu,
    swiglu,
    add_f32: Some(add_f32),
    add_layer_norm,
};

/// The same with AVX-VNNI for integers.
pub(super) const TABLE_VNNI: Kernels = Kernels {
    name: "avxvnni",
    product_i8: int8_avx2::product_avxvnni,
    product_groups: groups::product_avxvnni,
    product_blocks: Some(blocks::product_avxvnni),
    multiply_i16: int8_avx2::multiply_avxvnni,
    ..TABLE
};

row_operations!(super::vector::Avx2, "avx2,fma");

const LANES: usize = 8;
/// Rows that are multiplied with all tokens before the next block: 24 rows of 384 f32 fill L1.
const ROWS_BLOCK: usize = 24;

/// See [`Product`]: tiles of 4 tokens × 3 rows, 12 accumulators along the columns.
fn product_f32(product: Product<'_>) {
    // SAFETY: this table is returned only after AVX2 and FMA were detected.
    unsafe { product_f32_avx2(product) }
}

#[target_feature(enable = "avx2,fma")]
fn product_f32_avx2(mut product: Product<'_>) {
    let mut row = 0;
    while row < product.rows {
        let end = product.rows.min(row + ROWS_BLOCK);
        let mut token = 0;
        while token + 4 <= product.tokens {
            band::<4>(&mut product, token, row, end);
            token += 4;
        }
        match product.tokens - token {
            1 => band::<1>(&mut product, token, row, end),
            2 => band::<2>(&mut product, token, row, end),
            3 => band::<3>(&mut product, token, row, end),
            _ => {}
        }
        row = end;
    }
}

/// `T` tokens from `token` against the rows `row..end`.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn band<const T: usize>(product: &mut Product<'_>, token: usize, mut row: usize, end: usize) {
    while row + 3 <= end {
        tile::<T, 3>(product, token, row);
        row += 3;
    }
    match end - row {
        1 => tile::<T, 1>(product, token, row),
        2 => tile::<T, 2>(product, token, row),
        _ => {}
    }
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn tile<const T: usize, const R: usize>(product: &mut Product<'_>, token: usize, row: usize) {
    let cols = product.cols;
    let weights: *const f32 = match product.weights {
        FloatOperand::Bytes(bytes) => bytes.as_ptr().cast(),
        FloatOperand::Values(values) => values.as_ptr(),
    };
    // SAFETY: `Product::new` checked that x has tokens × cols elements, the weights rows × cols,
    // the bias rows, and that the last element of the output is inside it; token + T ≤ tokens and
    // row + R ≤ rows. Loads are unaligned.
    unsafe {
        let x = product.x.as_ptr().add(token * cols);
        let w = weights.add(row * cols);
        let mut sums = [[_mm256_setzero_ps(); T]; R];
        let whole = cols - cols % LANES;
        let mut c = 0;
        while c < whole {
            // 12 sums, 3 rows and one token: all 16 registers.
            let mut ws = [_mm256_setzero_ps(); R];
            unroll_4!(R, r => {
                ws[r] = _mm256_loadu_ps(w.add(r * cols + c));
            });
            unroll_4!(T, t => {
                let x = _mm256_loadu_ps(x.add(t * cols + c));
                unroll_4!(R, r => {
                    sums[r][t] = _mm256_fmadd_ps(x, ws[r], sums[r][t]);
                });
            });
            c += LANES;
        }
        if c < cols {
            let mask = mask(cols - c);
            for (r, sums) in sums.iter_mut().enumerate() {
                let w = _mm256_maskload_ps(w.add(r * cols + c), mask);
                for (t, sum) in sums.iter_mut().enumerate() {
                    let x = _mm256_maskload_ps(x.add(t * cols + c), mask);
                    *sum = _mm256_fmadd_ps(x, w, *sum);
                }
            }
        }
        let out = product.out.as_mut_ptr();
        let strides = product.strides;
        for (r, sums) in sums.iter().enumerate() {
            let mut four = [_mm256_setzero_ps(); 4];
            for (slot, &sum) in four.iter_mut().zip(sums) {
                *slot = sum;
            }
            let bias = _mm_set1_ps(*product.bias.as_ptr().add(row + r));
            let mut lanes = [0.0_f32; 4];
            _mm_storeu_ps(lanes.as_mut_ptr(), _mm_add_ps(reduce(four), bias));
            for (t, &value) in lanes.iter().enumerate().take(T) {
                *out.add((token + t) * strides.token + (row + r) * strides.row) = value;
            }
        }
    }
}

/// The sums of the lanes of four vectors.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn reduce([a, b, c, d]: [__m256; 4]) -> __m128 {
    let sums = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps::<1>(sums))
}

/// A mask whose first `count` (below 8) lanes are set.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn mask(count: usize) -> __m256i {
    const ONES: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: count ≤ 8, so the eight elements read start at 0 … 8.
    unsafe { _mm256_loadu_si256(ONES.as_ptr().add(LANES - count.min(LANES)).cast()) }
}

/// See [`Multiply`]: tiles of 6 rows of A × 16 columns of B.
fn multiply_f32(multiply: Multiply<'_>) {
    // SAFETY: this table is returned only after AVX2 and FMA were detected.
    unsafe { multiply_f32_avx2(multiply) }
}

#[target_feature(enable = "avx2,fma")]
fn multiply_f32_avx2(mut multiply: Multiply<'_>) {
    let mut column = 0;
    while column < multiply.n {
        match multiply.n - column {
            1..=8 => strip::<1>(&mut multiply, column),
            _ => strip::<2>(&mut multiply, column),
        }
        column += 2 * LANES;
    }
}

/// All rows of A against up to `V` vectors of columns from `column`.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn strip<const V: usize>(multiply: &mut Multiply<'_>, column: usize) {
    let mut row = 0;
    while row < multiply.m {
        row += match multiply.m - row {
            1 => corner::<1, V>(multiply, row, column),
            2 => corner::<2, V>(multiply, row, column),
            3..=5 => corner::<3, V>(multiply, row, column),
            _ => corner::<6, V>(multiply, row, column),
        };
    }
}

/// `M` rows × `V` vectors of the output; returns `M`.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn corner<const M: usize, const V: usize>(
    multiply: &mut Multiply<'_>,
    row: usize,
    column: usize,
) -> usize {
    let last = (multiply.n - column).min(V * LANES) - (V - 1) * LANES;
    let mask = mask(last);
    // SAFETY: `Multiply::new` checked that every element of [m, k], [k, n] and [m, n] is in its
    // slice; row + M ≤ m, and the mask covers exactly the columns of the last vector that are below
    // n.
    unsafe {
        let a = multiply.a.data.as_ptr().add(row * multiply.a.stride);
        let b = multiply.b.data.as_ptr().add(column);
        let mut sums = [[_mm256_setzero_ps(); V]; M];
        for k in 0..multiply.k {
            let line = b.add(k * multiply.b.stride);
            let mut bs = [_mm256_setzero_ps(); V];
            unroll_4!(V, v => {
                bs[v] = if v + 1 < V {
                    _mm256_loadu_ps(line.add(v * LANES))
                } else {
                    _mm256_maskload_ps(line.add(v * LANES), mask)
                };
            });
            unroll!(M, m => {
                let a = _mm256_broadcast_ss(&*a.add(m * multiply.a.stride + k));
                unroll_4!(V, v => {
                    sums[m][v] = _mm256_fmadd_ps(a, bs[v], sums[m][v]);
                });
            });
        }
        let out = multiply.out.as_mut_ptr().add(row * multiply.out_stride + column);
        for (m, sums) in sums.iter().enumerate() {
            for (v, &sum) in sums.iter().enumerate() {
                let place = out.add(m * multiply.out_stride + v * LANES);
                if v + 1 < V {
                    _mm256_storeu_ps(place, sum);
                } else {
                    _mm256_maskstore_ps(place, mask, sum);
                }
            }
        }
    }
    M
}
