//! f32 products of a single token, such as the query of a search or a causal model's next token:
//! lanes are columns, of four rows at a time. Memory bandwidth is the bottleneck.

use core::arch::wasm32::*;

use super::instructions::Instructions;
use super::lanes::{LANES, transpose};
use super::rows::{Rows, row_weights};
use crate::kernel::product::Product;

/// Rows of a tile.
const TILE_ROWS: usize = 4;

/// A token and all rows.
pub(super) fn product<I: Instructions>(product: &mut Product<'_>, token: usize) {
    for rows in Rows::tiles(0..product.rows, TILE_ROWS) {
        tile::<I>(product, token, rows);
    }
}

#[inline(never)] // see the module
fn tile<I: Instructions>(product: &mut Product<'_>, token: usize, rows: Rows) {
    let cols = product.cols;
    // SAFETY: `Product::new` checked that x has tokens × cols elements, the weights rows × cols,
    // the bias rows, and that the last element of the output is inside it; the token and the rows
    // exist.
    unsafe {
        let mut x = product.x.as_ptr().add(token * cols);
        let mut weights = [x; TILE_ROWS];
        unroll_4!(TILE_ROWS, r => { weights[r] = row_weights(product, rows.at(r)); });
        let mut sums = [f32x4_splat(0.0); TILE_ROWS];
        let end = x.add(cols);
        let end_of_vectors = x.add(cols / LANES * LANES);
        while x != end_of_vectors {
            let columns = v128_load(x.cast());
            unroll_4!(TILE_ROWS, r => {
                sums[r] = I::multiply_add(columns, v128_load(weights[r].cast()), sums[r]);
                weights[r] = weights[r].add(LANES);
            });
            x = x.add(LANES);
        }
        let [a, b, c, d] = transpose(sums);
        let mut sums = f32x4_add(f32x4_add(a, b), f32x4_add(c, d));
        while x != end {
            let [a, b, c, d] = weights.map(|weights| weights.read_unaligned());
            sums = I::multiply_add(f32x4_splat(*x), f32x4(a, b, c, d), sums);
            weights = weights.map(|weights| weights.add(1));
            x = x.add(1);
        }
        let [a, b, c, d] = [0, 1, 2, 3].map(|r| *product.bias.as_ptr().add(rows.at(r)));
        let sums = f32x4_add(sums, f32x4(a, b, c, d));
        let out = product.out.as_mut_ptr().add(token * product.strides.token);
        let place = |r: usize| out.add(rows.at(r) * product.strides.row).cast::<u32>();
        v128_store32_lane::<0>(sums, place(0));
        v128_store32_lane::<1>(sums, place(1));
        v128_store32_lane::<2>(sums, place(2));
        v128_store32_lane::<3>(sums, place(3));
    }
}
