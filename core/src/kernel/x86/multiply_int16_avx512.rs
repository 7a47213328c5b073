//! Products of 16-bit integers with AVX512-VNNI.

use core::arch::asm;
use core::arch::x86_64::*;

use super::vector::first_lanes;
use crate::kernel::integer::MultiplyI16;

/// 32-bit lanes of a vector.
const LANES: usize = 16;

/// `sums` and the products of pairs. The compiler turns the intrinsic into two instructions with a
/// longer latency than the second of them, which halves the throughput.
#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn add_products(mut sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: it uses only registers.
    unsafe {
        asm!(
            "vpdpwssd {sums}, {a}, {b}",
            sums = inout(zmm_reg) sums,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sums
}

/// See [`MultiplyI16`]: tiles of 6 rows of A × 64 columns of B, or 12 × 32.
pub(super) fn multiply(multiply: MultiplyI16<'_>) {
    // SAFETY: a table is returned only after its CPU features were detected.
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

/// All rows of A against up to `V` vectors of columns from `column`, the last one partial only with
/// `PART`; returns the number of columns.
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
    // SAFETY: `MultiplyI16::new` checked that `pairs` pairs start at every row · stride in A, that
    // each of `pairs` lines of B has a pair for every column, and that the output has its rows; row
    // + M ≤ rows, and masks cover no more than the columns.
    unsafe {
        let a = multiply.a.as_ptr().add(row * multiply.a_stride * 4);
        let b = multiply.b.as_ptr().add(column * 4);
        let last = first_lanes(left - (V - 1) * LANES);
        let mut sums = [[_mm512_setzero_si512(); V]; M];
        for pair in 0..multiply.pairs {
            let line: *const i32 = b.add(pair * multiply.b_stride * 4).cast();
            let mut bs = [_mm512_setzero_si512(); V];
            unroll_4!(V, v => {
                let place = line.add(v * LANES);
                // A masked load costs a multiplier slot, so it is used only where needed.
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
                    sums[m][v] = add_products(sums[m][v], a, bs[v]);
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
