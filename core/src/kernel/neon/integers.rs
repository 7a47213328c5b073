//! Integer products.
//!
//! Activations are 0 … 127, so they are signed bytes too. Without dot products, two products of
//! bytes are added in 16 bits, which they fit (2 · 127 · 128 < 2¹⁵), and then pairwise in 32.

use core::arch::aarch64::*;

use crate::kernel::integer::{MultiplyI16, ProductBase, ProductI8};
use crate::kernel::summary::RowSummary;

/// Bytes of a vector.
const BYTES: usize = 16;
/// 32-bit lanes of a vector.
const LANES: usize = 4;
/// Rows that are multiplied with all tokens before the next block.
const ROWS_BLOCK: usize = 32;

/// Multiplies 16 signed bytes and adds the products up in fours, or in any way with the same sum
/// over all lanes.
trait Dot {
    /// # Safety
    ///
    /// The CPU has the instructions.
    unsafe fn dot(sum: int32x4_t, x: int8x16_t, w: int8x16_t) -> int32x4_t;
}

struct Neon;

impl Dot for Neon {
    #[inline(always)]
    unsafe fn dot(sum: int32x4_t, x: int8x16_t, w: int8x16_t) -> int32x4_t {
        // SAFETY: every aarch64 CPU has these.
        unsafe {
            let products = vmull_s8(vget_low_s8(x), vget_low_s8(w));
            vpadalq_s16(sum, vmlal_high_s8(products, x, w))
        }
    }
}

struct Dotprod;

impl Dot for Dotprod {
    #[inline(always)]
    unsafe fn dot(sum: int32x4_t, x: int8x16_t, w: int8x16_t) -> int32x4_t {
        let mut sum = sum;
        // SAFETY: upheld by the caller; the instruction uses only registers. The intrinsic is not
        // stable yet.
        unsafe {
            core::arch::asm!(
                ".arch_extension dotprod",
                "sdot {sum:v}.4s, {x:v}.16b, {w:v}.16b",
                sum = inout(vreg) sum,
                x = in(vreg) x,
                w = in(vreg) w,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        sum
    }
}

/// See [`ProductI8`].
pub(super) fn product_neon(product: ProductI8<'_>) {
    // SAFETY: every aarch64 CPU has NEON.
    unsafe { by_rows::<Neon>(product) }
}

/// See [`ProductI8`].
pub(super) fn product_dotprod(product: ProductI8<'_>) {
    // SAFETY: the table is returned only after dot products were detected.
    unsafe { by_rows::<Dotprod>(product) }
}

/// Tiles of 4 tokens × 4 rows, 16 accumulators along the columns.
#[inline(always)]
unsafe fn by_rows<D: Dot>(mut product: ProductI8<'_>) {
    let mut row = 0;
    while row < product.rows {
        let end = product.rows.min(row + ROWS_BLOCK);
        let mut made = [RowSummary::EMPTY; ROWS_BLOCK];
        let summaries = product.summaries(row..end, summarize_row, &mut made);
        let mut token = 0;
        while token < product.tokens {
            let mut next = row;
            let count = (product.tokens - token).min(4);
            while next < end {
                let summaries = summaries.get(next - row..).unwrap_or_default();
                // SAFETY: upheld by the caller.
                next += unsafe {
                    match (count, end - next) {
                        (4, 4..) => tile::<D, 4, 4>(&mut product, token, next, summaries),
                        (3, 4..) => tile::<D, 3, 4>(&mut product, token, next, summaries),
                        (2, 4..) => tile::<D, 2, 4>(&mut product, token, next, summaries),
                        (1, 4..) => tile::<D, 1, 4>(&mut product, token, next, summaries),
                        (4, _) => tile::<D, 4, 1>(&mut product, token, next, summaries),
                        (3, _) => tile::<D, 3, 1>(&mut product, token, next, summaries),
                        (2, _) => tile::<D, 2, 1>(&mut product, token, next, summaries),
                        _ => tile::<D, 1, 1>(&mut product, token, next, summaries),
                    }
                };
            }
            token += count;
        }
        row = end;
    }
}

/// The sum of a row's codes; this table treats no rows as small.
pub(super) fn summarize_row(codes: &[u8]) -> RowSummary {
    let (steps, rest) = codes.as_chunks::<BYTES>();
    // SAFETY: every aarch64 CPU has NEON; reads stay within the slices.
    let sum = unsafe {
        let last = part(rest.as_ptr().cast(), rest.len());
        let mut sum = vpaddlq_s16(vpaddlq_s8(last));
        for step in steps {
            sum = vpadalq_s16(sum, vpaddlq_s8(vld1q_s8(step.as_ptr().cast())));
        }
        vaddvq_s32(sum)
    };
    RowSummary::new(sum, false)
}

/// The first `count` (below 16) bytes, then zeros.
///
/// # Safety
///
/// `count` bytes must be readable at `place`.
#[inline(always)]
unsafe fn part(place: *const i8, count: usize) -> int8x16_t {
    let mut bytes = [0_i8; BYTES];
    // SAFETY: upheld by the caller.
    unsafe {
        core::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), count.min(BYTES));
        vld1q_s8(bytes.as_ptr())
    }
}

/// `T` tokens × `R` rows of the output; returns `R`.
///
/// # Safety
///
/// token + T ≤ tokens, row + R ≤ rows, and there is a sum for each row.
#[inline(always)]
unsafe fn tile<D: Dot, const T: usize, const R: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    summaries: &[RowSummary],
) -> usize {
    let ProductI8 { x, w, cols, strides, .. } = *product;
    // SAFETY: `ProductI8::new` checked that `cols` codes start at every token · stride and row ·
    // stride, that scales and zeros match tokens and rows, and that the last element of the output
    // is inside it; the rest is upheld by the caller.
    unsafe {
        let codes: *const i8 = x.codes.as_ptr().add(token * x.stride).cast();
        let weights: *const i8 = w.codes.as_ptr().add(row * w.stride).cast();
        let mut sums = [[vdupq_n_s32(0); R]; T];
        let mut c = 0;
        while c + BYTES <= cols {
            let mut ws = [vdupq_n_s8(0); R];
            unroll_4!(R, r => {
                ws[r] = vld1q_s8(weights.add(r * w.stride + c));
            });
            unroll_4!(T, t => {
                let x = vld1q_s8(codes.add(t * x.stride + c));
                unroll_4!(R, r => {
                    sums[t][r] = D::dot(sums[t][r], x, ws[r]);
                });
            });
            c += BYTES;
        }
        if c < cols {
            for (t, sums) in sums.iter_mut().enumerate() {
                let x = part(codes.add(t * x.stride + c), cols - c);
                for (r, sum) in sums.iter_mut().enumerate() {
                    *sum = D::dot(*sum, x, part(weights.add(r * w.stride + c), cols - c));
                }
            }
        }
        for (t, sums) in sums.iter().enumerate() {
            let zero = i32::from(*x.zeros.as_ptr().add(token + t));
            let scale = *x.scales.as_ptr().add(token + t);
            let out = (token + t) * strides.token + row * strides.row;
            for (r, (&sum, summary)) in sums.iter().zip(summaries).enumerate() {
                #[allow(clippy::cast_precision_loss)] // rounds to nearest, on every table
                let total = (vaddvq_s32(sum) - zero * summary.sum()) as f32;
                let place = product.out.as_mut_ptr().add(out + r * strides.row);
                let base = match product.base {
                    ProductBase::Bias(bias) => *bias.as_ptr().add(row + r),
                    ProductBase::Output => *place,
                };
                *place = base + total * (scale * *w.scales.as_ptr().add(row + r));
            }
        }
    }
    R
}

/// See [`MultiplyI16`]: tiles of 4 rows of A × 8 columns of B; remaining columns one vector at a
/// time.
pub(super) fn multiply_i16(mut multiply: MultiplyI16<'_>) {
    let columns = multiply.columns.len();
    let whole = columns - columns % LANES;
    let mut column = 0;
    while column < whole {
        // SAFETY: the columns are there.
        column += unsafe {
            if whole - column >= 2 * LANES {
                strip::<2>(&mut multiply, column)
            } else {
                strip::<1>(&mut multiply, column)
            }
        };
    }
    if whole < columns {
        rest(&mut multiply, whole);
    }
}

/// The columns from `whole` on, one by one.
fn rest(multiply: &mut MultiplyI16<'_>, whole: usize) {
    let pair = |[a, b, c, d]: [u8; 4]| {
        (i32::from(i16::from_le_bytes([a, b])), i32::from(i16::from_le_bytes([c, d])))
    };
    let (a, b) = (multiply.a.as_chunks::<4>().0, multiply.b.as_chunks::<4>().0);
    for (m, &row) in multiply.rows.iter().enumerate() {
        for (n, &column) in multiply.columns.iter().enumerate().skip(whole) {
            let line = a.get(m * multiply.a_stride..).unwrap_or_default();
            let lines = b.get(n..).unwrap_or_default().iter().step_by(multiply.b_stride.max(1));
            let pairs = line.iter().zip(lines).take(multiply.pairs);
            let sum = pairs.fold(0_i32, |sum, (&a, &b)| {
                let ((a0, a1), (b0, b1)) = (pair(a), pair(b));
                sum.wrapping_add(a0 * b0).wrapping_add(a1 * b1)
            });
            if let Some(slot) = multiply.out.get_mut(m * multiply.out_stride + n) {
                #[allow(clippy::cast_precision_loss)] // rounds to nearest, on every table
                let sum = sum as f32;
                *slot = sum * column * row;
            }
        }
    }
}

/// All rows of A against `V` vectors of columns from `column`; returns the number of columns.
///
/// # Safety
///
/// B must have those columns.
#[inline(always)]
unsafe fn strip<const V: usize>(multiply: &mut MultiplyI16<'_>, column: usize) -> usize {
    let rows = multiply.rows.len();
    let mut row = 0;
    while row < rows {
        // SAFETY: upheld by the caller, and the rows exist.
        row += unsafe {
            match rows - row {
                1 => corner::<1, V>(multiply, row, column),
                2 | 3 => corner::<2, V>(multiply, row, column),
                _ => corner::<4, V>(multiply, row, column),
            }
        };
    }
    V * LANES
}

/// `M` rows × `V` vectors of the output; returns `M`.
///
/// # Safety
///
/// The output must have those rows and columns.
#[inline(always)]
unsafe fn corner<const M: usize, const V: usize>(
    multiply: &mut MultiplyI16<'_>,
    row: usize,
    column: usize,
) -> usize {
    // SAFETY: `MultiplyI16::new` checked that `pairs` pairs start at every row · stride in A, that
    // each of `pairs` lines of B has a pair for every column, and that the output has its rows; the
    // rest is upheld by the caller. Loads are unaligned.
    unsafe {
        let a = multiply.a.as_ptr().add(row * multiply.a_stride * 4);
        let b = multiply.b.as_ptr().add(column * 4);
        let mut sums = [[vdupq_n_s32(0); V]; M];
        for pair in 0..multiply.pairs {
            let line = b.add(pair * multiply.b_stride * 4);
            // First and second halves of four pairs each.
            let mut bs = [int16x4x2_t(vdup_n_s16(0), vdup_n_s16(0)); V];
            unroll_4!(V, v => {
                let eight = vreinterpretq_s16_u8(vld1q_u8(line.add(v * BYTES)));
                let (low, high) = (vget_low_s16(eight), vget_high_s16(eight));
                bs[v] = int16x4x2_t(vuzp1_s16(low, high), vuzp2_s16(low, high));
            });
            unroll_4!(M, m => {
                let place: *const [i16; 2] = a.add((m * multiply.a_stride + pair) * 4).cast();
                let [first, second] = place.read_unaligned();
                unroll_4!(V, v => {
                    let sum = vmlal_n_s16(sums[m][v], bs[v].0, first);
                    sums[m][v] = vmlal_n_s16(sum, bs[v].1, second);
                });
            });
        }
        let columns = multiply.columns.as_ptr().add(column);
        let out = multiply.out.as_mut_ptr().add(row * multiply.out_stride + column);
        for (m, sums) in sums.iter().enumerate() {
            let factor = *multiply.rows.as_ptr().add(row + m);
            for (v, &sum) in sums.iter().enumerate() {
                let scaled = vmulq_f32(vcvtq_f32_s32(sum), vld1q_f32(columns.add(v * LANES)));
                let place = out.add(m * multiply.out_stride + v * LANES);
                vst1q_f32(place, vmulq_n_f32(scaled, factor));
            }
        }
    }
    M
}
