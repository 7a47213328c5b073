//! Converts the integer sums of a product of bytes to floats and stores them.

use core::arch::wasm32::*;

use super::lanes::{LANES, load_part, reduce_i32};
use crate::kernel::integer::{ProductBase, ProductI8};

/// The factors that convert the sums of up to four tokens to floats.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    scales: v128,
    zeros: v128,
}

impl Factors {
    /// The factors of a band of `T` tokens, four by four.
    #[inline(always)]
    pub(super) fn all<const T: usize>(product: &ProductI8<'_>, token: usize) -> [Self; 2] {
        let first = Self::new(product, token, T.min(LANES));
        [first, if T > LANES { Self::new(product, token + LANES, T - LANES) } else { first }]
    }

    /// The factors of `count` existing tokens from `token` on.
    #[inline(always)]
    fn new(product: &ProductI8<'_>, token: usize, count: usize) -> Self {
        let x = product.x;
        // SAFETY: `ProductI8::new` checked that there are as many scales and zeros as tokens.
        let (scales, zeros) = unsafe {
            let scales = x.scales.as_ptr().add(token);
            let zeros = x.zeros.as_ptr().add(token);
            (load_part(scales.cast(), count * 4), load_part(zeros, count))
        };
        Self { scales, zeros: u32x4_extend_low_u16x8(u16x8_extend_low_u8x16(zeros)) }
    }
}

/// Stores one row's outputs of `T` tokens.
///
/// # Safety
///
/// `token + T` ≤ tokens and `row` < rows.
#[inline(always)]
pub(super) unsafe fn put<const T: usize>(
    product: &mut ProductI8<'_>,
    (token, row): (usize, usize),
    row_sum: i32,
    sums: [v128; T],
    factors: &[Factors; 2],
) {
    unroll!(T.div_ceil(LANES), part => {
        let count = (T - part * LANES).min(LANES);
        let mut four = [i32x4_splat(0); LANES];
        unroll_4!(count, t => { four[t] = sums[part * LANES + t]; });
        let Factors { scales, zeros } = factors[part];
        let sum = i32x4_sub(reduce_i32(four), i32x4_mul(zeros, i32x4_splat(row_sum)));
        let sum = f32x4_convert_i32x4(sum);
        // SAFETY: upheld by the caller.
        unsafe { put_4(product, (token + part * LANES, row), sum, count, scales) };
    }, 0 1);
}

/// Stores one row's outputs of `count` (at most four) tokens.
///
/// # Safety
///
/// `token + count` ≤ tokens and `row` < rows.
#[inline(always)]
unsafe fn put_4(
    product: &mut ProductI8<'_>,
    (token, row): (usize, usize),
    sum: v128,
    count: usize,
    scales: v128,
) {
    let ProductI8 { w, strides, .. } = *product;
    // SAFETY: upheld by the caller; `ProductI8::new` checked that there is a scale for each row,
    // and that the last element of the output is inside it.
    unsafe {
        let row_scale = v128_load32_splat(w.scales.as_ptr().add(row).cast());
        let scaled = f32x4_mul(sum, f32x4_mul(scales, row_scale));
        let first = token * strides.token + row * strides.row;
        let out = Strided { first: product.out.as_mut_ptr().add(first), stride: strides.token };
        let base = match product.base {
            ProductBase::Bias(bias) => v128_load32_splat(bias.as_ptr().add(row).cast()),
            ProductBase::Output => out.load(count),
        };
        out.store(f32x4_add(base, scaled), count);
    }
}

/// Up to four elements with a common stride.
#[derive(Clone, Copy)]
struct Strided {
    first: *mut f32,
    stride: usize,
}

impl Strided {
    /// # Safety
    ///
    /// There must be `count` elements.
    #[inline(always)]
    unsafe fn load(self, count: usize) -> v128 {
        let mut values = f32x4_splat(0.0);
        // SAFETY: upheld by the caller.
        unsafe {
            let place = |at| self.first.add(at * self.stride).cast_const().cast();
            if count > 0 {
                values = v128_load32_lane::<0>(values, place(0));
            }
            if count > 1 {
                values = v128_load32_lane::<1>(values, place(1));
            }
            if count > 2 {
                values = v128_load32_lane::<2>(values, place(2));
            }
            if count > 3 {
                values = v128_load32_lane::<3>(values, place(3));
            }
        }
        values
    }

    /// # Safety
    ///
    /// There must be `count` elements.
    #[inline(always)]
    unsafe fn store(self, values: v128, count: usize) {
        // SAFETY: upheld by the caller.
        unsafe {
            if count == LANES && self.stride == 1 {
                return v128_store(self.first.cast(), values);
            }
            let place = |at| self.first.add(at * self.stride).cast();
            if count > 0 {
                v128_store32_lane::<0>(values, place(0));
            }
            if count > 1 {
                v128_store32_lane::<1>(values, place(1));
            }
            if count > 2 {
                v128_store32_lane::<2>(values, place(2));
            }
            if count > 3 {
                v128_store32_lane::<3>(values, place(3));
            }
        }
    }
}
