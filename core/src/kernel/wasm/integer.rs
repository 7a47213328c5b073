//! Integer products with 128-bit vectors.

use core::arch::wasm32::*;
use core::mem::MaybeUninit;

use super::{Dot, band_tokens, load_part, reduce_i32, store_part};
#[cfg(target_feature = "relaxed-simd")]
use super::{Relaxed, RelaxedPairs, adds_pairs};
use crate::kernel::integer::{Base, MultiplyI16, ProductI8};
use crate::kernel::portable;

/// Rows that are multiplied with all tokens before the next are touched.
const ROWS_BLOCK: usize = 32;

/// The most columns whose codes are made ready for a tile; models quantise groups of fewer.
const MAX_READY_COLS: usize = 4096;
/// Vectors of a tile's tokens: four with 8 codes a vector, or six with 16.
const READY: usize = 4 * MAX_READY_COLS / 8;
/// The codes of a tile's tokens, made ready.
type Ready = [MaybeUninit<v128>; READY];

/// See [`ProductI8`], with the instructions of relaxed SIMD that the CPU is fast with.
#[cfg(target_feature = "relaxed-simd")]
pub(super) fn product_relaxed(with: ProductI8<'_>) {
    if adds_pairs() { product::<RelaxedPairs>(with) } else { product::<Relaxed>(with) }
}

/// See [`ProductI8`]: tiles of [`Dot::TILE_TOKENS`] tokens × 2 rows, whose sums lie along the columns.
pub(super) fn product<D: Dot>(mut product: ProductI8<'_>) {
    const { assert!(D::TILE_TOKENS * MAX_READY_COLS / D::CODES <= READY) };
    if product.cols > MAX_READY_COLS {
        return portable::product_i8(product);
    }
    let mut ready: Ready = [MaybeUninit::uninit(); READY];
    let mut row = 0;
    while row < product.rows {
        let end = product.rows.min(row + ROWS_BLOCK);
        let mut sums = [0_i32; ROWS_BLOCK];
        for (index, sum) in sums.iter_mut().enumerate().take(end - row) {
            *sum = row_sum::<D>(&product, row + index);
        }
        let mut token = 0;
        while token < product.tokens {
            token += match band_tokens(product.tokens - token, D::TILE_TOKENS) {
                1 => band::<D, 1>(&mut product, token, row, end, &sums, &mut ready),
                2 => band::<D, 2>(&mut product, token, row, end, &sums, &mut ready),
                3 => band::<D, 3>(&mut product, token, row, end, &sums, &mut ready),
                5 => band::<D, 5>(&mut product, token, row, end, &sums, &mut ready),
                6 => band::<D, 6>(&mut product, token, row, end, &sums, &mut ready),
                _ => band::<D, 4>(&mut product, token, row, end, &sums, &mut ready),
            };
        }
        row = end;
    }
}

/// The sum of a row's codes.
#[inline(always)]
fn row_sum<D: Dot>(product: &ProductI8<'_>, row: usize) -> i32 {
    // SAFETY: `ProductI8::new` checked that `cols` bytes lie from row · stride on; the ones are 16 bytes.
    unsafe {
        let w = product.w.codes.as_ptr().add(row * product.w.stride);
        let ones = D::codes([1_u8; 16].as_ptr());
        let mut sum = i32x4_splat(0);
        let mut c = 0;
        while c + D::CODES <= product.cols {
            sum = D::dot(sum, ones, D::codes(w.add(c)));
            c += D::CODES;
        }
        if c < product.cols {
            sum = D::dot(sum, ones, codes_part::<D>(w.add(c), product.cols - c));
        }
        i32x4_extract_lane::<0>(reduce_i32([sum, sum, sum, sum]))
    }
}

/// `T` tokens from `token` against the rows `row..end`; returns `T`.
#[inline(never)] // see the module
fn band<D: Dot, const T: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    end: usize,
    sums: &[i32; ROWS_BLOCK],
    ready: &mut Ready,
) -> usize {
    make_ready::<D, T>(product, token, ready);
    let mut next = row;
    while next + 2 <= end {
        tile::<D, T, 2>(product, token, next, [sums[next - row], sums[next - row + 1]], ready);
        next += 2;
    }
    if next < end {
        tile::<D, T, 1>(product, token, next, [sums[next - row]], ready);
    }
    T
}

/// Puts the codes of `T` tokens one after the other in the form that [`Dot::dot`] wants, whole vectors for each,
/// the last filled up with zeros: what all rows of a band need is done once.
#[inline(always)]
fn make_ready<D: Dot, const T: usize>(product: &ProductI8<'_>, token: usize, ready: &mut Ready) {
    let ProductI8 { x, cols, .. } = *product;
    // SAFETY: `ProductI8::new` checked that `cols` codes lie from every token · stride on; T tokens take no more than
    // READY vectors, one for every `CODES` (8 or 16) columns.
    unsafe {
        let mut place: *mut v128 = ready.as_mut_ptr().cast();
        for t in 0..T {
            let codes = x.codes.as_ptr().add((token + t) * x.stride);
            let mut c = 0;
            while c + D::CODES <= cols {
                v128_store(place, D::codes(codes.add(c)));
                place = place.add(1);
                c += D::CODES;
            }
            if c < cols {
                v128_store(place, codes_part::<D>(codes.add(c), cols - c));
                place = place.add(1);
            }
        }
    }
}

#[inline(always)]
fn tile<D: Dot, const T: usize, const R: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    row_sums: [i32; R],
    ready: &Ready,
) {
    let ProductI8 { w, cols, .. } = *product;
    // SAFETY: `make_ready` has written the codes of T tokens, `vectors` vectors each. `ProductI8::new` checked that `cols`
    // codes lie from every row · stride on, that scales and zeros are as many as tokens and rows, and that the last
    // element of the output lies inside it; token + T ≤ tokens and row + R ≤ rows.
    unsafe {
        let vectors = cols.div_ceil(D::CODES);
        let codes: *const v128 = ready.as_ptr().cast();
        let weights = w.codes.as_ptr().add(row * w.stride);
        let mut sums = [[i32x4_splat(0); T]; R];
        let whole = cols / D::CODES;
        for at in 0..whole {
            let mut ws = [i32x4_splat(0); R];
            unroll_4!(R, r => { ws[r] = D::codes(weights.add(r * w.stride + at * D::CODES)); });
            unroll!(T, t => {
                let x = v128_load(codes.add(t * vectors + at));
                unroll_4!(R, r => { sums[r][t] = D::dot(sums[r][t], x, ws[r]); });
            });
        }
        // Apart from the loop: a copy of some bytes inside it would halve its speed.
        if whole < vectors {
            for (r, sums) in sums.iter_mut().enumerate() {
                let place = weights.add(r * w.stride + whole * D::CODES);
                let weights = codes_part::<D>(place, cols - whole * D::CODES);
                for (t, sum) in sums.iter_mut().enumerate() {
                    *sum = D::dot(*sum, v128_load(codes.add(t * vectors + whole)), weights);
                }
            }
        }
        unroll_4!(R, r => {
            put_4::<T, 0>(product, token, row + r, row_sums[r], sums[r]);
            if T > 4 {
                put_4::<T, 4>(product, token, row + r, row_sums[r], sums[r]);
            }
        });
    }
}

/// Writes one row's outputs of up to four of `T` tokens, from the `FIRST` on.
///
/// # Safety
///
/// Those of a tile: `token + T` ≤ tokens and `row` < rows.
#[inline(always)]
unsafe fn put_4<const T: usize, const FIRST: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    row_sum: i32,
    sums: [v128; T],
) {
    let ProductI8 { x, w, strides, .. } = *product;
    let count = T.saturating_sub(FIRST).min(4);
    let token = token + FIRST;
    // SAFETY: the caller's; `ProductI8::new` checked that there are as many scales and zeros as tokens and rows, and that
    // the last element of the output lies inside it.
    unsafe {
        let mut four = [i32x4_splat(0); 4];
        let mut scales = [0.0_f32; 4];
        let mut zeros = [0_i32; 4];
        unroll_4!(count, t => {
            four[t] = sums[FIRST + t];
            scales[t] = *x.scales.as_ptr().add(token + t);
            zeros[t] = i32::from(*x.zeros.as_ptr().add(token + t));
        });
        let zeros = v128_load(zeros.as_ptr().cast());
        let sum = i32x4_sub(reduce_i32(four), i32x4_mul(zeros, i32x4_splat(row_sum)));
        let row_scale = f32x4_splat(*w.scales.as_ptr().add(row));
        let scale = f32x4_mul(v128_load(scales.as_ptr().cast()), row_scale);
        let scaled = f32x4_mul(f32x4_convert_i32x4(sum), scale);
        let out = product.out.as_mut_ptr().add(token * strides.token + row * strides.row);
        let mut values = [0.0_f32; 4];
        let base = match product.base {
            Base::Bias(bias) => v128_load32_splat(bias.as_ptr().add(row).cast()),
            Base::Output => {
                unroll_4!(count, t => { values[t] = *out.add(t * strides.token); });
                v128_load(values.as_ptr().cast())
            }
        };
        v128_store(values.as_mut_ptr().cast(), f32x4_add(base, scaled));
        unroll_4!(count, t => { *out.add(t * strides.token) = values[t]; });
    }
}

/// `count` codes, fewer than a step takes, then zeros.
///
/// # Safety
///
/// `count` bytes can be read at `place`.
#[inline(always)]
unsafe fn codes_part<D: Dot>(place: *const u8, count: usize) -> v128 {
    // SAFETY: the caller's; `D::codes` reads at most the 16 bytes of a vector.
    unsafe {
        let bytes = load_part(place, count);
        D::codes((&raw const bytes).cast())
    }
}

/// Columns of a vector of 32-bit sums.
const COLUMNS: usize = 4;

/// See [`MultiplyI16`]: tiles of 4 rows of A × 8 columns of B.
pub(super) fn multiply(mut multiply: MultiplyI16<'_>) {
    let columns = multiply.columns.len();
    let mut column = 0;
    while column < columns {
        match columns - column {
            1..=COLUMNS => strip::<1>(&mut multiply, column),
            _ => strip::<2>(&mut multiply, column),
        }
        column += 2 * COLUMNS;
    }
}

/// All rows of A against up to `V` vectors of columns from `column`.
fn strip<const V: usize>(multiply: &mut MultiplyI16<'_>, column: usize) {
    let rows = multiply.rows.len();
    let mut row = 0;
    while row < rows {
        row += match rows - row {
            1 => corner::<1, V>(multiply, row, column),
            2..=3 => corner::<2, V>(multiply, row, column),
            _ => corner::<4, V>(multiply, row, column),
        };
    }
}

/// `M` rows × `V` vectors of the output; returns `M`.
#[inline(always)]
fn corner<const M: usize, const V: usize>(
    multiply: &mut MultiplyI16<'_>,
    row: usize,
    column: usize,
) -> usize {
    let last = (multiply.columns.len() - column).min(V * COLUMNS) - (V - 1) * COLUMNS;
    // SAFETY: `MultiplyI16::new` checked that `pairs` pairs lie from row · stride on in A, one pair a column in each of
    // `pairs` lines of B, and the output's rows in theirs; row + M ≤ rows, and of the last vector exactly the columns
    // that there are are touched.
    unsafe {
        let a = multiply.a.as_ptr().add(row * multiply.a_stride * 4);
        let b = multiply.b.as_ptr().add(column * 4);
        let mut sums = [[i32x4_splat(0); V]; M];
        for pair in 0..multiply.pairs {
            let line = b.add(pair * multiply.b_stride * 4);
            let mut bs = [i32x4_splat(0); V];
            for (v, value) in bs.iter_mut().enumerate() {
                let place = line.add(v * 16);
                *value = if v + 1 < V || last == COLUMNS {
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
                let place: *mut v128 = out.add(m * multiply.out_stride + v * COLUMNS).cast();
                let columns: *const v128 = columns.add(v * COLUMNS).cast();
                let sum = f32x4_convert_i32x4(sum);
                if v + 1 < V || last == COLUMNS {
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
