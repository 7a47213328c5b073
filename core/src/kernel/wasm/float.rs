//! f32 products with 128-bit vectors.

use core::arch::wasm32::*;
use core::ops::Range;

use super::ahead::Ahead;
use super::{Instructions, band_tokens, load_part, reduce_f32, store_part};
use crate::kernel::product::{Floats, Multiply, Product};

const LANES: usize = 4;
/// Rows that are multiplied with all tokens before the next are touched: 24 rows of 384 f32 fill L1.
const ROWS_BLOCK: usize = 24;
/// Up to so many tokens it is memory that products wait for, see [`product_of_few`].
const FEW_TOKENS: usize = 32;

/// Pairs of rows: the first of each pair is `distance` from that of the one before, the second `apart` from the first.
#[derive(Clone, Copy)]
struct Pairs {
    first: usize,
    count: usize,
    distance: usize,
    apart: usize,
}

/// See [`Product`]: tiles of [`Instructions::TILE_TOKENS`] tokens × 2 rows, so that all sums stay in the 16 registers of
/// x86-64.
pub(super) fn product<I: Instructions>(mut product: Product<'_>) {
    let mut row = match product.tokens {
        1..=FEW_TOKENS => product_of_few::<I>(&mut product),
        _ => 0,
    };
    while row < product.rows {
        let end = product.rows.min(row + ROWS_BLOCK);
        let mut ahead = ahead_of::<I>(&product, row..end);
        let pairs = Pairs { first: row, count: (end - row) / 2, distance: 2, apart: 1 };
        bands::<I>(&mut product, 0, pairs, &mut ahead);
        // Matrices with an odd number of rows are rare: no tiles are made for them, which would be as much code again.
        if (end - row) % 2 == 1 {
            for token in 0..product.tokens {
                tile::<I, 1, 1>(&mut product, token, end - 1, 1);
            }
        }
        row = end;
    }
}

/// At least one token and the rows in fours; returns how many rows that are. Of every four the first two tokens come first, a tile
/// that is half loads of rows: a CPU has only so many instructions under way, and the more of them wait for memory together the
/// better. The four are a quarter of the matrix apart, so that each is one of four long stretches, which CPUs fetch ahead by
/// themselves.
fn product_of_few<I: Instructions>(product: &mut Product<'_>) -> usize {
    let quarter = product.rows / 4;
    for row in 0..quarter {
        let first = if product.tokens == 1 {
            tile::<I, 1, 4>(product, 0, row, quarter)
        } else {
            tile::<I, 2, 4>(product, 0, row, quarter)
        };
        let pairs = Pairs { first: row, count: 2, distance: 2 * quarter, apart: quarter };
        bands::<I>(product, first, pairs, &mut Ahead::nothing());
    }
    4 * quarter
}

/// The rows after these, as many, for the tiles of all tokens but the first.
fn ahead_of<'a, I: Instructions>(product: &Product<'a>, rows: Range<usize>) -> Ahead<'a> {
    // Numbers in memory were put there just now.
    let Floats::Bytes(bytes) = product.weights else { return Ahead::nothing() };
    let row_bytes = product.cols * size_of::<f32>();
    let next_end = product.rows.min(rows.end + rows.len());
    let next = bytes.get(rows.end * row_bytes..next_end * row_bytes);
    let tiles = product.tokens.div_ceil(I::TILE_TOKENS).saturating_sub(1) * rows.len().div_ceil(2);
    Ahead::new(next.unwrap_or_default(), tiles)
}

/// The tokens from `token` on against pairs of rows.
fn bands<I: Instructions>(
    product: &mut Product<'_>,
    mut token: usize,
    rows: Pairs,
    ahead: &mut Ahead<'_>,
) {
    while token < product.tokens {
        token += match band_tokens(product.tokens - token, I::TILE_TOKENS) {
            1 => band::<I, 1>(product, token, rows, ahead),
            2 => band::<I, 2>(product, token, rows, ahead),
            3 => band::<I, 3>(product, token, rows, ahead),
            5 => band::<I, 5>(product, token, rows, ahead),
            6 => band::<I, 6>(product, token, rows, ahead),
            _ => band::<I, 4>(product, token, rows, ahead),
        };
    }
}

/// `T` tokens from `token` against pairs of rows; returns `T`.
#[inline(never)] // see the module
fn band<I: Instructions, const T: usize>(
    product: &mut Product<'_>,
    token: usize,
    rows: Pairs,
    ahead: &mut Ahead<'_>,
) -> usize {
    for pair in 0..rows.count {
        // The first tokens have these rows themselves to wait for.
        if token > 0 {
            ahead.touch();
        }
        tile::<I, T, 2>(product, token, rows.first + pair * rows.distance, rows.apart);
    }
    T
}

/// `T` tokens from `token` × `R` rows from `row`, each `apart` from the one before; returns `T`.
fn tile<I: Instructions, const T: usize, const R: usize>(
    product: &mut Product<'_>,
    token: usize,
    row: usize,
    apart: usize,
) -> usize {
    let cols = product.cols;
    let weights: *const f32 = match product.weights {
        Floats::Bytes(bytes) => bytes.as_ptr().cast(),
        Floats::Values(values) => values.as_ptr(),
    };
    // SAFETY: `Product::new` checked that x has tokens × cols elements, the weights rows × cols, the bias rows, and
    // that the last element of the output lies inside it; token + T ≤ tokens and row + (R − 1) · apart < rows.
    // WebAssembly loads at any address.
    unsafe {
        let x = product.x.as_ptr().add(token * cols);
        let w = weights.add(row * cols);
        let stride = apart * cols;
        let mut sums = [[f32x4_splat(0.0); T]; R];
        let mut c = 0;
        // Not unrolled: the compiler would have the tokens' parts of both steps live at once, more than there are
        // registers.
        while c + LANES <= cols {
            let mut ws = [f32x4_splat(0.0); R];
            unroll_4!(R, r => { ws[r] = v128_load(w.add(r * stride + c).cast()); });
            unroll!(T, t => {
                let x = v128_load(x.add(t * cols + c).cast());
                unroll_4!(R, r => { sums[r][t] = I::multiply_add(x, ws[r], sums[r][t]); });
            });
            c += LANES;
        }
        if c < cols {
            for (r, sums) in sums.iter_mut().enumerate() {
                let w = load_part(w.add(r * stride + c).cast(), (cols - c) * 4);
                for (t, sum) in sums.iter_mut().enumerate() {
                    let x = load_part(x.add(t * cols + c).cast(), (cols - c) * 4);
                    *sum = I::multiply_add(x, w, *sum);
                }
            }
        }
        let out = product.out.as_mut_ptr();
        let strides = product.strides;
        for (r, sums) in sums.iter().enumerate() {
            let row = row + r * apart;
            let bias = f32x4_splat(*product.bias.as_ptr().add(row));
            let mut values = [0.0_f32; 8];
            for (fours, values) in sums.chunks(4).zip(values.as_chunks_mut::<4>().0) {
                let mut four = [f32x4_splat(0.0); 4];
                for (slot, &sum) in four.iter_mut().zip(fours) {
                    *slot = sum;
                }
                v128_store(values.as_mut_ptr().cast(), f32x4_add(reduce_f32(four), bias));
            }
            for (t, &value) in values.iter().enumerate().take(T) {
                *out.add((token + t) * strides.token + row * strides.row) = value;
            }
        }
    }
    T
}

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

/// All rows of A against `V` vectors of columns from `column`, two whole ones or one that may be a part; returns how many columns
/// `V` vectors have.
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
    // Two are known to be whole: else the loop would have a call in it, for parts, and sums would be put away for that.
    let last = if V == 1 { (multiply.n - column).min(LANES) } else { LANES };
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
