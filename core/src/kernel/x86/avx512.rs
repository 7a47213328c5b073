//! AVX-512 (F, BW, DQ, VL): 16 lanes, 32 registers.

use core::arch::x86_64::*;

use super::product_avx512::product_f32;
use super::vector::first_lanes;
use super::{
    blocks, groups, int8_avx2, multiply_int16_avx512, product_int8_amx, product_int8_avx512, unpack,
};
use crate::kernel::Kernels;
use crate::kernel::product::Multiply;

/// The AVX-512 table; integers run with 256-bit vectors.
pub(super) const TABLE: Kernels = Kernels {
    name: "avx512",
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

/// The same with AVX512-VNNI for integers.
pub(super) const TABLE_VNNI: Kernels = Kernels {
    name: "avx512vnni",
    product_i8: product_int8_avx512::product,
    summarize_row: None,
    product_groups: groups::product_avx512vnni,
    product_blocks: Some(blocks::product_avx512vnni),
    multiply_i16: multiply_int16_avx512::multiply,
    ..TABLE
};

/// The same with AMX for products of bytes.
pub(super) const TABLE_AMX: Kernels =
    Kernels { name: "avx512amx", product_i8: product_int8_amx::product, ..TABLE_VNNI };

row_operations!(super::vector::Avx512, "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl");

/// Lanes of a vector.
const LANES: usize = 16;

/// See [`Multiply`]: tiles of 6 rows of A × 64 columns of B, or 12 × 32.
fn multiply_f32(multiply: Multiply<'_>) {
    // SAFETY: this table is returned only after these features were detected.
    unsafe { multiply_f32_avx512(multiply) }
}

#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn multiply_f32_avx512(mut multiply: Multiply<'_>) {
    let mut column = 0;
    while column < multiply.n {
        column += match multiply.n - column {
            1..=16 => strip::<1, true>(&mut multiply, column),
            32 => strip::<2, false>(&mut multiply, column),
            17..=48 => strip::<2, true>(&mut multiply, column),
            49..=63 => strip::<4, true>(&mut multiply, column),
            _ => strip::<4, false>(&mut multiply, column),
        };
    }
}

/// All rows of A against up to `V` vectors of columns from `column`, the last one partial only with
/// `PART`; returns the number of columns.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn strip<const V: usize, const PART: bool>(multiply: &mut Multiply<'_>, column: usize) -> usize {
    let mut row = 0;
    while row < multiply.m {
        row += match multiply.m - row {
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
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn corner<const M: usize, const V: usize, const PART: bool>(
    multiply: &mut Multiply<'_>,
    row: usize,
    column: usize,
) -> usize {
    let last = first_lanes((multiply.n - column).min(V * LANES) - (V - 1) * LANES);
    // SAFETY: `Multiply::new` checked that every element of [m, k], [k, n] and [m, n] is in its
    // slice; row + M ≤ m, and the mask covers exactly the columns of the last vector that are below
    // n.
    unsafe {
        let a = multiply.a.data.as_ptr().add(row * multiply.a.stride);
        let b = multiply.b.data.as_ptr().add(column);
        let mut sums = [[_mm512_setzero_ps(); V]; M];
        for k in 0..multiply.k {
            let line = b.add(k * multiply.b.stride);
            let mut bs = [_mm512_setzero_ps(); V];
            unroll_4!(V, v => {
                // A masked load costs a multiplier slot, so it is used only where needed.
                bs[v] = if PART && v + 1 == V {
                    _mm512_maskz_loadu_ps(last, line.add(v * LANES))
                } else {
                    _mm512_loadu_ps(line.add(v * LANES))
                };
            });
            unroll!(M, m => {
                let a = _mm512_set1_ps(*a.add(m * multiply.a.stride + k));
                unroll_4!(V, v => {
                    sums[m][v] = _mm512_fmadd_ps(a, bs[v], sums[m][v]);
                });
            });
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
