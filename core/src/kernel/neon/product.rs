//! Products of f32.

use core::arch::aarch64::*;

use crate::kernel::product::{FloatOperand, Multiply, Product};

/// Lanes of a vector.
const LANES: usize = 4;
/// Rows that are multiplied with all tokens before the next block: 16 rows of 384 f32 are 24 KiB.
const ROWS_BLOCK: usize = 16;

/// See [`Product`]: tiles of 4 tokens × 4 rows, 16 accumulators along the columns.
pub(super) fn product_f32(mut product: Product<'_>) {
    let mut row = 0;
    while row < product.rows {
        let end = product.rows.min(row + ROWS_BLOCK);
        let mut token = 0;
        while token < product.tokens {
            token += match product.tokens - token {
                1 => band::<1>(&mut product, token, row, end),
                2 => band::<2>(&mut product, token, row, end),
                3 => band::<3>(&mut product, token, row, end),
                _ => band::<4>(&mut product, token, row, end),
            };
        }
        row = end;
    }
}

/// `T` tokens from `token` against the rows `row..end`; returns `T`.
#[inline]
fn band<const T: usize>(
    product: &mut Product<'_>,
    token: usize,
    mut row: usize,
    end: usize,
) -> usize {
    while row < end {
        row += match end - row {
            1 => tile::<T, 1>(product, token, row),
            2 => tile::<T, 2>(product, token, row),
            3 => tile::<T, 3>(product, token, row),
            _ => tile::<T, 4>(product, token, row),
        };
    }
    T
}

/// `T` tokens × `R` rows of the output; returns `R`.
#[inline]
fn tile<const T: usize, const R: usize>(
    product: &mut Product<'_>,
    token: usize,
    row: usize,
) -> usize {
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
        let mut sums = [[vdupq_n_f32(0.0); R]; T];
        let mut c = 0;
        while c + LANES <= cols {
            let mut ws = [vdupq_n_f32(0.0); R];
            unroll_4!(R, r => {
                ws[r] = vld1q_f32(w.add(r * cols + c));
            });
            unroll_4!(T, t => {
                let x = vld1q_f32(x.add(t * cols + c));
                unroll_4!(R, r => {
                    sums[t][r] = vfmaq_f32(sums[t][r], x, ws[r]);
                });
            });
            c += LANES;
        }
        if c < cols {
            for (t, sums) in sums.iter_mut().enumerate() {
                let x = part(x.add(t * cols + c), cols - c);
                for (r, sum) in sums.iter_mut().enumerate() {
                    *sum = vfmaq_f32(*sum, x, part(w.add(r * cols + c), cols - c));
                }
            }
        }
        let strides = product.strides;
        for (t, sums) in sums.iter().enumerate() {
            for (r, &sum) in sums.iter().enumerate() {
                let value = *product.bias.as_ptr().add(row + r) + vaddvq_f32(sum);
                let at = (token + t) * strides.token + (row + r) * strides.row;
                *product.out.as_mut_ptr().add(at) = value;
            }
        }
    }
    R
}

/// The first `count` (below 4) numbers, then zeros.
///
/// # Safety
///
/// `count` numbers must be readable at `place`.
#[inline(always)]
unsafe fn part(place: *const f32, count: usize) -> float32x4_t {
    let mut lanes = [0.0_f32; LANES];
    // SAFETY: upheld by the caller; the numbers may be unaligned.
    unsafe {
        core::ptr::copy_nonoverlapping(
            place.cast::<u8>(),
            lanes.as_mut_ptr().cast::<u8>(),
            count.min(LANES) * 4,
        );
        vld1q_f32(lanes.as_ptr())
    }
}

/// See [`Multiply`]: tiles of 4 rows of A × 16 columns of B; remaining columns one vector at a
/// time.
pub(super) fn multiply_f32(mut multiply: Multiply<'_>) {
    let whole = multiply.n - multiply.n % LANES;
    let mut column = 0;
    while column < whole {
        column += match (whole - column) / LANES {
            1 => strip::<1>(&mut multiply, column),
            2 | 3 => strip::<2>(&mut multiply, column),
            _ => strip::<4>(&mut multiply, column),
        };
    }
    for column in whole..multiply.n {
        for row in 0..multiply.m {
            let a = multiply.a.data.get(row * multiply.a.stride..).unwrap_or_default();
            let b = multiply.b.data.get(column..).unwrap_or_default();
            let pairs = a.iter().zip(b.iter().step_by(multiply.b.stride.max(1)));
            let sum = pairs.take(multiply.k).fold(0.0, |sum, (a, b)| sum + a * b);
            if let Some(slot) = multiply.out.get_mut(row * multiply.out_stride + column) {
                *slot = sum;
            }
        }
    }
}

/// All rows of A against `V` vectors of columns from `column`; returns the number of columns.
#[inline]
fn strip<const V: usize>(multiply: &mut Multiply<'_>, column: usize) -> usize {
    let mut row = 0;
    while row < multiply.m {
        row += match multiply.m - row {
            1 => corner::<1, V>(multiply, row, column),
            2 | 3 => corner::<2, V>(multiply, row, column),
            _ => corner::<4, V>(multiply, row, column),
        };
    }
    V * LANES
}

/// `M` rows × `V` vectors of the output; returns `M`.
#[inline]
fn corner<const M: usize, const V: usize>(
    multiply: &mut Multiply<'_>,
    row: usize,
    column: usize,
) -> usize {
    // SAFETY: `Multiply::new` checked that every element of [m, k], [k, n] and [m, n] is in its
    // slice; row + M ≤ m and column + V · 4 ≤ n.
    unsafe {
        let a = multiply.a.data.as_ptr().add(row * multiply.a.stride);
        let b = multiply.b.data.as_ptr().add(column);
        let mut sums = [[vdupq_n_f32(0.0); V]; M];
        for k in 0..multiply.k {
            let line = b.add(k * multiply.b.stride);
            let mut bs = [vdupq_n_f32(0.0); V];
            unroll_4!(V, v => {
                bs[v] = vld1q_f32(line.add(v * LANES));
            });
            unroll_4!(M, m => {
                let a = *a.add(m * multiply.a.stride + k);
                unroll_4!(V, v => {
                    sums[m][v] = vfmaq_n_f32(sums[m][v], bs[v], a);
                });
            });
        }
        let out = multiply.out.as_mut_ptr().add(row * multiply.out_stride + column);
        for (m, sums) in sums.iter().enumerate() {
            for (v, &sum) in sums.iter().enumerate() {
                vst1q_f32(out.add(m * multiply.out_stride + v * LANES), sum);
            }
        }
    }
    M
}
