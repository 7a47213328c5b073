//! AVX-512 (F, BW, DQ, VL): 16 lanes, 32 registers.

use core::arch::x86_64::*;

use super::{int8_avx2, int8_avx512};
use crate::kernel::Kernels;
use crate::kernel::product::{Floats, Multiply, Product};

/// The AVX-512 table; integers run with 256-bit vectors.
pub(super) const TABLE: Kernels = Kernels {
    name: "avx512",
    product_f32,
    multiply_f32,
    product_i8: int8_avx2::product_avx2,
    multiply_i16: int8_avx2::multiply_avx2,
    quantize,
    quantize_rows,
    quantize_columns,
    softmax_i16,
    softmax,
    gelu,
    add_layer_norm,
};

/// The same with AVX512-VNNI for integers.
pub(super) const TABLE_VNNI: Kernels = Kernels {
    name: "avx512vnni",
    product_i8: int8_avx512::product,
    multiply_i16: int8_avx512::multiply,
    ..TABLE
};

super::row_operations!("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl");

const LANES: usize = 16;
/// Rows that are multiplied with all tokens before the next are touched: 24 rows of 384 f32 fill L1.
const ROWS_BLOCK: usize = 24;

/// See [`Product`]: tiles of 4 tokens × 6 rows, 24 accumulators along the columns.
fn product_f32(product: Product<'_>) {
    // SAFETY: this table is handed out only after the CPU was asked for these features.
    unsafe { product_f32_avx512(product) }
}

#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn product_f32_avx512(mut product: Product<'_>) {
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
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn band<const T: usize>(product: &mut Product<'_>, token: usize, mut row: usize, end: usize) {
    while row < end {
        row += match end - row {
            1 => tile::<T, 1>(product, token, row),
            2 => tile::<T, 2>(product, token, row),
            3..=5 => tile::<T, 3>(product, token, row),
            _ => tile::<T, 6>(product, token, row),
        };
    }
}

/// `T` tokens × `R` rows of the output; returns `R`.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn tile<const T: usize, const R: usize>(
    product: &mut Product<'_>,
    token: usize,
    row: usize,
) -> usize {
    let cols = product.cols;
    let weights: *const f32 = match product.weights {
        Floats::Bytes(bytes) => bytes.as_ptr().cast(),
        Floats::Values(values) => values.as_ptr(),
    };
    // SAFETY: `Product::new` checked that x has tokens × cols elements, the weights rows × cols, the bias rows, and
    // that the last element of the output lies inside it; token + T ≤ tokens and row + R ≤ rows. Loads are unaligned.
    unsafe {
        let x = product.x.as_ptr().add(token * cols);
        let w = weights.add(row * cols);
        let mut sums = [[_mm512_setzero_ps(); T]; R];
        let whole = cols - cols % LANES;
        let mut c = 0;
        while c < whole {
            let mut xs = [_mm512_setzero_ps(); T];
            for (t, value) in xs.iter_mut().enumerate() {
                *value = _mm512_loadu_ps(x.add(t * cols + c));
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let w = _mm512_loadu_ps(w.add(r * cols + c));
                for (sum, &x) in sums.iter_mut().zip(&xs) {
                    *sum = _mm512_fmadd_ps(x, w, *sum);
                }
            }
            c += LANES;
        }
        if c < cols {
            let mask = mask(cols - c);
            for (r, sums) in sums.iter_mut().enumerate() {
                let w = _mm512_maskz_loadu_ps(mask, w.add(r * cols + c));
                for (t, sum) in sums.iter_mut().enumerate() {
                    let x = _mm512_maskz_loadu_ps(mask, x.add(t * cols + c));
                    *sum = _mm512_fmadd_ps(x, w, *sum);
                }
            }
        }
        let out = product.out.as_mut_ptr();
        let strides = product.strides;
        for (r, sums) in sums.iter().enumerate() {
            let mut four = [_mm512_setzero_ps(); 4];
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
    R
}

/// The sums of the lanes of four vectors.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn reduce([a, b, c, d]: [__m512; 4]) -> __m128 {
    let halves =
        |x: __m512| _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps::<1>(x));
    let sums =
        _mm256_hadd_ps(_mm256_hadd_ps(halves(a), halves(b)), _mm256_hadd_ps(halves(c), halves(d)));
    _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps::<1>(sums))
}

/// A mask whose first `count` (at most 16) lanes are set.
#[inline(always)]
fn mask(count: usize) -> __mmask16 {
    u16::MAX >> (LANES - count.clamp(1, LANES))
}

/// See [`Multiply`]: tiles of 6 rows of A × 64 columns of B, or 12 × 32.
fn multiply_f32(multiply: Multiply<'_>) {
    // SAFETY: this table is handed out only after the CPU was asked for these features.
    unsafe { multiply_f32_avx512(multiply) }
}

#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn multiply_f32_avx512(mut multiply: Multiply<'_>) {
    let mut column = 0;
    while column < multiply.n {
        column += match multiply.n - column {
            1..=16 => strip::<1>(&mut multiply, column),
            17..=48 => strip::<2>(&mut multiply, column),
            _ => strip::<4>(&mut multiply, column),
        };
    }
}

/// All rows of A against up to `V` vectors of columns from `column`; returns how many columns.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn strip<const V: usize>(multiply: &mut Multiply<'_>, column: usize) -> usize {
    let mut row = 0;
    while row < multiply.m {
        row += match multiply.m - row {
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
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn corner<const M: usize, const V: usize>(
    multiply: &mut Multiply<'_>,
    row: usize,
    column: usize,
) -> usize {
    let last = mask((multiply.n - column).min(V * LANES) - (V - 1) * LANES);
    // SAFETY: `Multiply::new` checked that every element of [m, k], [k, n] and [m, n] lies in its slice; row + M ≤ m,
    // and the mask covers exactly the columns of the last vector that are below n.
    unsafe {
        let a = multiply.a.data.as_ptr().add(row * multiply.a.stride);
        let b = multiply.b.data.as_ptr().add(column);
        let mut sums = [[_mm512_setzero_ps(); V]; M];
        for k in 0..multiply.k {
            let line = b.add(k * multiply.b.stride);
            let mut bs = [_mm512_setzero_ps(); V];
            for (v, value) in bs.iter_mut().enumerate() {
                let mask = if v + 1 < V { u16::MAX } else { last };
                *value = _mm512_maskz_loadu_ps(mask, line.add(v * LANES));
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let a = _mm512_set1_ps(*a.add(m * multiply.a.stride + k));
                for (sum, &b) in sums.iter_mut().zip(&bs) {
                    *sum = _mm512_fmadd_ps(a, b, *sum);
                }
            }
        }
        let out = multiply.out.as_mut_ptr().add(row * multiply.out_stride + column);
        for (m, sums) in sums.iter().enumerate() {
            for (v, &sum) in sums.iter().enumerate() {
                let mask = if v + 1 < V { u16::MAX } else { last };
                _mm512_mask_storeu_ps(out.add(m * multiply.out_stride + v * LANES), mask, sum);
            }
        }
    }
    M
}
