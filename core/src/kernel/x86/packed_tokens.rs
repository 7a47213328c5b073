//! Activations of 7 bits with tokens side by side: for every four columns a vector of those of 16 tokens.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::product_int8_avx512::{BYTES, LANES};
use super::transpose::transpose;
use crate::kernel::integer::ProductI8;

/// Bytes that there is room for, on the stack.
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

    /// Whether tokens of so many columns can be packed: whole vectors, and 16 tokens in the room.
    pub(super) const fn have_room(cols: usize) -> bool {
        cols.is_multiple_of(BYTES) && cols <= ROOM / LANES
    }

    /// How many tokens of `cols` columns there is room for, a multiple of 16.
    pub(super) const fn most_tokens(cols: usize) -> usize {
        ROOM / cols / LANES * LANES
    }

    /// The vectors of the 16 tokens from `token` on, counted from the first that is packed and a multiple of 16; those of the next
    /// 16 follow.
    pub(super) const fn lines(&self, token: usize, cols: usize) -> *const u8 {
        self.codes.as_ptr().cast::<u8>().wrapping_add(token * cols)
    }

    /// Packs `count` tokens from `token` on, as differences to their codes of zero if `CENTRED`: two codes of 7 bits differ by what
    /// fits 8. The last 16 are completed by the last token.
    ///
    /// # Safety
    ///
    /// There are so many tokens, at least one, and [room](Self::most_tokens) for them.
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
                    // SAFETY: `ProductI8::new` checked that `cols` codes lie from every token · stride on, and that there
                    // are as many zeros as tokens.
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
