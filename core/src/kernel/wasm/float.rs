//! f32 products with 128-bit vectors.

use core::arch::wasm32::*;
use core::ops::Range;

use super::ahead::Ahead;
use super::{Instructions, band_tokens, load_part, reduce_f32, store_part};
use crate::kernel::product::{Floats, Multiply, Product};

const LANES: usize = 4;
/// Rows that are multiplied with all tokens before the next are touched: 24 rows of 384 f32 fill L1.
const ROWS_BLOCK: usize = 24;
/// Up to so many tokens, two bands, each pair of rows is multiplied with all of them: what is computed for the second band
/// hides how the next rows come from memory.
const FEW_TOKENS: usize = 8;

/// See [`Product`]: tiles of [`Instructions::TILE_TOKENS`] tokens × 2 rows, so that all sums stay in the 16 registers of
/// x86-64.
pub(super) fn product<I: Instructions>(mut product: Product<'_>) {
    let block = if product.tokens <= FEW_TOKENS { 2 } else { ROWS_BLOCK };
    let mut row = 0;
    while row < product.rows {
        let end = product.rows.min(row + block);
        let mut ahead = ahead_of::<I>(&product, row..end);
        let mut token = 0;
        while token < product.tokens {
            token += match band_tokens(product.tokens - token, I::TILE_TOKENS) {
                1 => band::<I, 1>(&mut product, token, row, end, &mut ahead),
                2 => band::<I, 2>(&mut product, token, row, end, &mut ahead),
                3 => band::<I, 3>(&mut product, token, row, end, &mut ahead),
                5 => band::<I, 5>(&mut product, token, row, end, &mut ahead),
                6 => band::<I, 6>(&mut product, token, row, end, &mut ahead),
                _ => band::<I, 4>(&mut product, token, row, end, &mut ahead),
            };
        }
        row = end;
    }
}

/// The rows after these, as many, for the tiles of all tokens but the first; of few tokens nothing, which lose more by it than
/// they gain.
fn ahead_of<'a, I: Instructions>(product: &Product<'a>, rows: Range<usize>) -> Ahead<'a> {
    if product.tokens <= FEW_TOKENS {
        return Ahead::nothing();
    }
    // Numbers in memory were put there just now.
    let Floats::Bytes(bytes) = product.weights else { return Ahead::nothing() };
    let row_bytes = product.cols * size_of::<f32>();
    let next_end = product.rows.min(rows.end + rows.len());
    let next = bytes.get(rows.end * row_bytes..next_end * row_bytes);
    let tiles = (product.tokens.div_ceil(I::TILE_TOKENS) - 1) * rows.len().div_ceil(2);
    Ahead::new(next.unwrap_or_default(), tiles)
}

/// `T` tokens from `token` against the rows `row..end`; returns `T`.
fn band<I: Instructions, const T: usize>(
    product: &mut Product<'_>,
    token: usize,
    mut row: usize,
    end: usize,
    ahead: &mut Ahead<'_>,
) -> usize {
    while row + 2 <= end {
        // The first tokens have these rows themselves to wait for.
        if token > 0 {
            ahead.touch();
        }
        tile::<I, T, 2>(product, token, row);
        row += 2;
    }
    // Matrices with an odd number of rows are rare: no tiles are made for them, which would be as much code again.
    if row < end {
        for token in token..token + T {
            tile::<I, 1, 1>(product, token, row);
        }
    }
    T
}

fn tile<I: Instructions, const T: usize, const R: usize>(
    product: &mut Product<'_>,
    token: usize,
    row: usize,
) {
    let cols = product.cols;
    let weights: *const f32 = match product.weights {
        Floats::Bytes(bytes) => bytes.as_ptr().cast(),
        Floats::Values(values) => values.as_ptr(),
    };
    // SAFETY: `Product::new` checked that x has tokens × cols elements, the weights rows × cols, the bias rows, and
    // that the last element of the output lies inside it; token + T ≤ tokens and row + R ≤ rows. WebAssembly loads
    // at any address.
    unsafe {
        let x = product.x.as_ptr().add(token * cols);
        let w = weights.add(row * cols);
        let mut sums = [[f32x4_splat(0.0); T]; R];
        let mut c = 0;
        // Not unrolled: the compiler would have the tokens' parts of both steps live at once, more than there are
        // registers.
        while c + LANES <= cols {
            let mut ws = [f32x4_splat(0.0); R];
            unroll_4!(R, r => { ws[r] = v128_load(w.add(r * cols + c).cast()); });
            unroll!(T, t => {
                let x = v128_load(x.add(t * cols + c).cast());
                unroll_4!(R, r => { sums[r][t] = I::multiply_add(x, ws[r], sums[r][t]); });
            });
            c += LANES;
        }
        if c < cols {
            for (r, sums) in sums.iter_mut().enumerate() {
                let w = load_part(w.add(r * cols + c).cast(), (cols - c) * 4);
                for (t, sum) in sums.iter_mut().enumerate() {
                    let x = load_part(x.add(t * cols + c).cast(), (cols - c) * 4);
                    *sum = I::multiply_add(x, w, *sum);
                }
            }
        }
        let out = product.out.as_mut_ptr();
        let strides = product.strides;
        for (r, sums) in sums.iter().enumerate() {
            let bias = f32x4_splat(*product.bias.as_ptr().add(row + r));
            let mut values = [0.0_f32; 8];
            for (fours, values) in sums.chunks(4).zip(values.as_chunks_mut::<4>().0) {
                let mut four = [f32x4_splat(0.0); 4];
                for (slot, &sum) in four.iter_mut().zip(fours) {
                    *slot = sum;
                }
                v128_store(values.as_mut_ptr().cast(), f32x4_add(reduce_f32(four), bias));
            }
            for (t, &value) in values.iter().enumerate().take(T) {
                *out.add((token + t) * strides.token + (row + r) * strides.row) = value;
            }
        }
    }
}

/// See [`Multiply`]: tiles of 4 rows of A × 8 columns of B.
pub(super) fn multiply<I: Instructions>(mut multiply: Multiply<'_>) {
    let mut column = 0;
    while column < multiply.n {
        match multiply.n - column {
            1..=LANES => strip::<I, 1>(&mut multiply, column),
            _ => strip::<I, 2>(&mut multiply, column),
        }
        column += 2 * LANES;
    }
}

/// All rows of A against up to `V` vectors of columns from `column`.
fn strip<I: Instructions, const V: usize>(multiply: &mut Multiply<'_>, column: usize) {
    let mut row = 0;
    while row < multiply.m {
        row += match multiply.m - row {
            1 => corner::<I, 1, V>(multiply, row, column),
            2..=3 => corner::<I, 2, V>(multiply, row, column),
            _ => corner::<I, 4, V>(multiply, row, column),
        };
    }
}

/// `M` rows × `V` vectors of the output; returns `M`.
#[inline(always)]
fn corner<I: Instructions, const M: usize, const V: usize>(
    multiply: &mut Multiply<'_>,
    row: usize,
    column: usize,
) -> usize {
    let last = (multiply.n - column).min(V * LANES) - (V - 1) * LANES;
    // SAFETY: `Multiply::new` checked that every element of [m, k], [k, n] and [m, n] lies in its slice; row + M ≤ m,
    // and of the last vector exactly the columns below n are touched.
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
