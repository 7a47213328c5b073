//! 7-bit activations with tokens side by side: for every four columns, a vector of those of 16
//! tokens.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::transpose::transpose;
use super::width::{BYTES, LANES};
use crate::kernel::integer::ProductI8;

/// The size of the buffer in bytes, on the stack.
const ROOM: usize = 96 * 1024;

/// The tokens, 16 at a time.
#[repr(C, align(64))]
pub(super) struct PackedTokens {
    codes: [MaybeUninit<u8>; ROOM],
}

impl PackedTokens {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self { codes: [const { MaybeUninit::uninit() }; ROOM] }
    }

    /// Returns true if tokens of `cols` columns can be packed: whole vectors, and 16 tokens fit the
    /// buffer.
    pub(super) const fn have_room(cols: usize) -> bool {
        cols.is_multiple_of(BYTES) && cols <= ROOM / LANES
    }

    /// The capacity in tokens of `cols` columns, a multiple of 16.
    pub(super) const fn most_tokens(cols: usize) -> usize {
        ROOM / cols / LANES * LANES
    }

    /// The vectors of the 16 tokens from `token` on, a multiple of 16 counted from the first packed
    /// token; those of the next 16 follow.
    pub(super) const fn lines(&self, token: usize, cols: usize) -> *const u8 {
        self.codes.as_ptr().cast::<u8>().wrapping_add(token * cols)
    }

    /// Packs `count` tokens from `token` on, as differences to their codes of zero if `CENTRED`:
    /// the difference of two 7-bit codes fits 8 bits. The last 16 are completed by the last token.
    ///
    /// # Safety
    ///
    /// The tokens must exist, at least one, and there must be [room](Self::most_tokens) for them.
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline]
    pub(super) unsafe fn fill<const CENTRED: bool>(
        &mut self,
        product: &ProductI8<'_>,
        token: usize,
        count: usize,
    ) {
        let x = product.x;
        let mut place: *mut u8 = self.codes.as_mut_ptr().cast();
        for first in (0..count).step_by(LANES) {
            for column in (0..product.cols).step_by(BYTES) {
                let mut lines = [_mm512_setzero_si512(); LANES];
                for (line, to) in lines.iter_mut().enumerate() {
                    let token = token + (first + line).min(count - 1);
                    // SAFETY: `ProductI8::new` checked that `cols` codes start at every token ·
                    // stride, and that there is a zero for each token.
                    *to = unsafe {
                        let codes = x.codes.as_ptr().add(token * x.stride + column);
                        let codes = _mm512_loadu_si512(codes.cast());
                        let zero = (*x.zeros.as_ptr().add(token)).cast_signed();
                        if CENTRED { _mm512_sub_epi8(codes, _mm512_set1_epi8(zero)) } else { codes }
                    };
                }
                for group in transpose(lines) {
                    // SAFETY: the caller has room for tokens of `cols` columns each.
                    unsafe {
                        _mm512_store_si512(place.cast(), group);
                        place = place.add(BYTES);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::boxed::Box;
    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::kernel::Strides;
    use crate::kernel::integer::{ActivationCodes, ProductBase, WeightRows};

    fn check<const CENTRED: bool>(codes: &[u8], stride: usize, cols: usize, zeros: &[u8]) {
        let (mut out, scales) = (vec![0.0; zeros.len()], vec![1.0; zeros.len()]);
        let x = ActivationCodes { codes, stride, scales: &scales, zeros };
        let row = vec![0; cols];
        let w = WeightRows { codes: &row, stride: cols, scales: &[1.0], summaries: &[] };
        let strides = Strides { token: 1, row: 1 };
        let product =
            ProductI8::new(x, w, cols, ProductBase::Bias(&[0.0]), &mut out, strides).unwrap();
        let (first, count) = (1, zeros.len() - 1);
        let mut packed = Box::new(PackedTokens::new());
        // SAFETY: the features were detected; the tokens exist, and there is room for them.
        unsafe { packed.fill::<CENTRED>(&product, first, count) };
        for t in 0..count.next_multiple_of(LANES) {
            let token = first + t.min(count - 1);
            for c in 0..cols {
                let place = packed.lines(t / LANES * LANES, cols);
                // SAFETY: the vectors of 16 tokens of `cols` columns were written there.
                let there = unsafe { *place.add(c / 4 * BYTES + t % LANES * 4 + c % 4) };
                let zero = if CENTRED { zeros[token] } else { 0 };
                assert_eq!(there, codes[token * stride + c].wrapping_sub(zero), "{t} {c}");
            }
        }
    }

    #[test]
    fn four_columns_of_sixteen_tokens_are_a_vector() {
        let is_there = std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512dq")
            && std::is_x86_feature_detected!("avx512vl");
        if !is_there {
            std::eprintln!("skipped: there is no AVX-512");
            return;
        }
        for (cols, tokens) in [(64, 2), (64, 17), (128, 34), (1536, 20)] {
            let stride = cols + 64;
            let codes: Vec<u8> = (0..tokens * stride).map(|i| (i * 31 % 127) as u8).collect();
            let zeros: Vec<u8> = (0..tokens).map(|i| (i * 17 % 128) as u8).collect();
            check::<false>(&codes, stride, cols, &zeros);
            check::<true>(&codes, stride, cols, &zeros);
        }
    }
}
