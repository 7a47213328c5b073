//! f32 products of two matrices, for attention, with 128-bit vectors.

use core::arch::wasm32::*;

use super::instructions::Instructions;
use super::lanes::{LANES, load_part, store_part};
use crate::kernel::product::Multiply;

/// See [`Multiply`]: tiles of 4 rows of A × 8 columns of B.
pub(super) fn multiply<I: Instructions>(mut multiply: Multiply<'_>) {
    let mut column = 0;
    while column < multiply.n {
        column += match (multiply.n - column).checked_sub(2 * LANES) {
            None => strip::<I, 1>(&mut multiply, column),
            Some(_) => strip::<I, 2>(&mut multiply, column),
        };
    }
}

/// All rows of A against `V` vectors of columns from `column`: two whole ones, or one that may be
/// partial; returns the number of columns in `V` vectors.
fn strip<I: Instructions, const V: usize>(multiply: &mut Multiply<'_>, column: usize) -> usize {
    let mut row = 0;
    while row < multiply.m {
        row += match multiply.m - row {
            1 => corner::<I, 1, V>(multiply, row, column),
            2..=3 => corner::<I, 2, V>(multiply, row, column),
            _ => corner::<I, 4, V>(multiply, row, column),
        };
    }
    V * LANES
}

/// `M` rows × `V` vectors of the output; returns `M`.
#[inline(always)]
fn corner<I: Instructions, const M: usize, const V: usize>(
    multiply: &mut Multiply<'_>,
    row: usize,
    column: usize,
) -> usize {
    // Two vectors are known to be whole: otherwise the loop would contain a call for partial ones,
    // for which sums would be spilled.
    let last = if V == 1 { (multiply.n - column).min(LANES) } else { LANES };
    // SAFETY: `Multiply::new` checked that every element of [m, k], [k, n] and [m, n] is in its
    // slice; row + M ≤ m, and of the last vector exactly the columns below n are touched.
    unsafe {
        let a = multiply.a.data.as_ptr().add(row * multiply.a.stride);
        let b = multiply.b.data.as_ptr().add(column);
        let mut sums = [[f32x4_splat(0.0); V]; M];
        for k in 0..multiply.k {
            let line = b.add(k * multiply.b.stride);
            let mut bs = [f32x4_splat(0.0); V];
            for (v, value) in bs.iter_mut().enumerate() {
                let place: *const v128 = line.add(v * LANES).cast();
                *value = if v + 1 < V || last == LANES {
                    v128_load(place)
                } else {
                    load_part(place.cast(), last * 4)
                };
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let a = v128_load32_splat(a.add(m * multiply.a.stride + k).cast());
                for (sum, &b) in sums.iter_mut().zip(&bs) {
                    *sum = I::multiply_add(a, b, *sum);
                }
            }
        }
        let out = multiply.out.as_mut_ptr().add(row * multiply.out_stride + column);
        for (m, sums) in sums.iter().enumerate() {
            for (v, &sum) in sums.iter().enumerate() {
                let place: *mut v128 = out.add(m * multiply.out_stride + v * LANES).cast();
                if v + 1 < V || last == LANES {
                    v128_store(place, sum);
                } else {
                    store_part(place.cast(), sum, last * 4);
                }
            }
        }
    }
    M
}
