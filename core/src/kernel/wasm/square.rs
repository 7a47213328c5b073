//! Converts the integer sums of four tokens and two rows to floats and stores them.

use core::arch::wasm32::*;

use super::lanes::reduce_i32;
use crate::kernel::integer::{ProductBase, ProductI8};
use crate::kernel::product::Strides;

/// Stores the outputs of four tokens and two rows, from sums of codes counted from the tokens'
/// zeros.
///
/// # Safety
///
/// `token + 4` ≤ tokens and `row + 2` ≤ rows, and one of the output's strides must be 1.
#[inline(always)]
pub(super) unsafe fn put_from_zero(
    product: &mut ProductI8<'_>,
    (token, row): (usize, usize),
    sums: [[v128; 4]; 2],
) {
    let ProductI8 { x, w, strides, .. } = *product;
    // SAFETY: upheld by the caller; `ProductI8::new` checked that there is a scale for each token,
    // a scale and a bias for each row, and that the last element of the output is inside it.
    unsafe {
        let scales = v128_load(x.scales.as_ptr().add(token).cast());
        let scaled = [0, 1].map(|r| {
            let sum = f32x4_convert_i32x4(reduce_i32(sums[r]));
            let row_scale = v128_load32_splat(w.scales.as_ptr().add(row + r).cast());
            f32x4_mul(sum, f32x4_mul(scales, row_scale))
        });
        let first = product.out.as_mut_ptr().add(token * strides.token + row * strides.row);
        let square = Square { first, strides };
        let base = match product.base {
            ProductBase::Bias(bias) => {
                [0, 1].map(|r| v128_load32_splat(bias.as_ptr().add(row + r).cast()))
            }
            ProductBase::Output => square.load(),
        };
        square.store([0, 1].map(|r| f32x4_add(base[r], scaled[r])));
    }
}

/// Elements of four tokens and two rows, contiguous along either the tokens or the rows.
#[derive(Clone, Copy)]
struct Square {
    first: *mut f32,
    strides: Strides,
}

impl Square {
    /// A vector of tokens for each row.
    ///
    /// # Safety
    ///
    /// The elements must exist.
    #[inline(always)]
    unsafe fn load(self) -> [v128; 2] {
        let Self { first, strides: Strides { token, row } } = self;
        // SAFETY: upheld by the caller.
        unsafe {
            if token == 1 {
                return [v128_load(first.cast()), v128_load(first.add(row).cast())];
            }
            let place = |at| first.add(at * token).cast_const().cast();
            let zero = f32x4_splat(0.0);
            let low = v128_load64_lane::<1>(v128_load64_lane::<0>(zero, place(0)), place(1));
            let high = v128_load64_lane::<1>(v128_load64_lane::<0>(zero, place(2)), place(3));
            [i32x4_shuffle::<0, 2, 4, 6>(low, high), i32x4_shuffle::<1, 3, 5, 7>(low, high)]
        }
    }

    /// See [`load`](Self::load).
    ///
    /// # Safety
    ///
    /// As for [`load`](Self::load).
    #[inline(always)]
    unsafe fn store(self, [a, b]: [v128; 2]) {
        let Self { first, strides: Strides { token, row } } = self;
        // SAFETY: upheld by the caller.
        unsafe {
            if token == 1 {
                v128_store(first.cast(), a);
                return v128_store(first.add(row).cast(), b);
            }
            let place = |at| first.add(at * token).cast();
            let low = i32x4_shuffle::<0, 4, 1, 5>(a, b);
            let high = i32x4_shuffle::<2, 6, 3, 7>(a, b);
            v128_store64_lane::<0>(low, place(0));
            v128_store64_lane::<1>(low, place(1));
            v128_store64_lane::<0>(high, place(2));
            v128_store64_lane::<1>(high, place(3));
        }
    }
}
