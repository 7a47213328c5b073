//! Products of 16-bit integers, for attention, with 128-bit vectors.

use core::arch::wasm32::*;

use super::lanes::{LANES, load_part, store_part};
use crate::kernel::integer::MultiplyI16;

/// See [`MultiplyI16`]: tiles of 4 rows of A × 8 columns of B.
pub(super) fn multiply(mut multiply: MultiplyI16<'_>) {
    let columns = multiply.columns.len();
    let mut column = 0;
    while column < columns {
        column += match (columns - column).checked_sub(2 * LANES) {
            None => strip::<1>(&mut multiply, column),
            Some(_) => strip::<2>(&mut multiply, column),
        };
    }
}

/// All rows of A against `V` vectors of columns from `column`: two whole ones, or one that may be
/// partial; returns the number of columns in `V` vectors.
fn strip<const V: usize>(multiply: &mut MultiplyI16<'_>, column: usize) -> usize {
    let rows = multiply.rows.len();
    let mut row = 0;
    while row < rows {
        row += match rows - row {
            1 => corner::<1, V>(multiply, row, column),
            2..=3 => corner::<2, V>(multiply, row, column),
            _ => corner::<4, V>(multiply, row, column),
        };
    }
    V * LANES
}

/// `M` rows × `V` vectors of the output; returns `M`.
#[inline(always)]
fn corner<const M: usize, const V: usize>(
    multiply: &mut MultiplyI16<'_>,
    row: usize,
    column: usize,
) -> usize {
    // Two vectors are known to be whole: otherwise the loop would contain a call for partial ones,
    // for which sums would be spilled.
    let last = if V == 1 { (multiply.columns.len() - column).min(LANES) } else { LANES };
    // SAFETY: `MultiplyI16::new` checked that `pairs` pairs start at every row · stride in A, that
    // each of `pairs` lines of B has a pair for every column, and that the output has its rows; row
    // + M ≤ rows, and of the last vector exactly the existing columns are touched.
    unsafe {
        let a = multiply.a.as_ptr().add(row * multiply.a_stride * 4);
        let b = multiply.b.as_ptr().add(column * 4);
        let mut sums = [[i32x4_splat(0); V]; M];
        for pair in 0..multiply.pairs {
            let line = b.add(pair * multiply.b_stride * 4);
            let mut bs = [i32x4_splat(0); V];
            for (v, value) in bs.iter_mut().enumerate() {
                let place = line.add(v * 16);
                *value = if v + 1 < V || last == LANES {
                    v128_load(place.cast())
                } else {
                    load_part(place, last * 4)
                };
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let a = v128_load32_splat(a.add((m * multiply.a_stride + pair) * 4).cast());
                for (sum, &b) in sums.iter_mut().zip(&bs) {
                    *sum = i32x4_add(*sum, i32x4_dot_i16x8(a, b));
                }
            }
        }
        let columns = multiply.columns.as_ptr().add(column);
        let out = multiply.out.as_mut_ptr().add(row * multiply.out_stride + column);
        for (m, sums) in sums.iter().enumerate() {
            let factor = f32x4_splat(*multiply.rows.as_ptr().add(row + m));
            for (v, &sum) in sums.iter().enumerate() {
                let place: *mut v128 = out.add(m * multiply.out_stride + v * LANES).cast();
                let columns: *const v128 = columns.add(v * LANES).cast();
                let sum = f32x4_convert_i32x4(sum);
                if v + 1 < V || last == LANES {
                    let scaled = f32x4_mul(f32x4_mul(sum, v128_load(columns)), factor);
                    v128_store(place, scaled);
                } else {
                    let columns = load_part(columns.cast(), last * 4);
                    let scaled = f32x4_mul(f32x4_mul(sum, columns), factor);
                    store_part(place.cast(), scaled, last * 4);
                }
            }
        }
    }
    M
}
