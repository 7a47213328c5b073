//! Unpacks low-bit codes to bytes, see
//! [`Kernels::unpack_codes`](crate::kernel::Kernels::unpack_codes).

use core::arch::wasm32::*;

use super::lanes::kept;
use crate::tensor::CodeBits;

/// Unpacks `out.len()` unsigned codes: see [`UnpackCodes`](crate::quant::amb_unpack::UnpackCodes).
pub(super) fn unpack(bits: CodeBits, bytes: &[u8], out: &mut [u8]) {
    let (bytes, rest) = match bits {
        CodeBits::Four => sixteens(bytes, out, fours),
        CodeBits::Five => {
            let fives = Fives::new();
            sixteens(bytes, out, |bytes| fives.unpack(bytes))
        }
        CodeBits::Eight => sixteens(bytes, out, eights),
    };
    // Not by the reference, whose 4 KB of code would hardly ever be used.
    let width = usize::from(bits.bits());
    let sign = 1_u8 << (width - 1);
    for (index, out) in rest.iter_mut().enumerate() {
        let bit = index * width;
        let byte = |at: usize| bytes.get(bit / 8 + at).copied().unwrap_or(0);
        let [code, _] = (u16::from_le_bytes([byte(0), byte(1)]) >> (bit % 8)).to_le_bytes();
        *out = code & (sign | (sign - 1)) ^ sign;
    }
}

/// Unpacks sixteen codes at a time from `N` bytes; returns the remainder.
#[inline(always)]
fn sixteens<'b, 'o, const N: usize>(
    bytes: &'b [u8],
    out: &'o mut [u8],
    unpack: impl Fn(&[u8; N]) -> v128,
) -> (&'b [u8], &'o mut [u8]) {
    let count = (bytes.len() / N).min(out.len() / 16);
    let (bytes, bytes_left) = bytes.split_at(count * N);
    let (out, out_left) = out.split_at_mut(count * 16);
    for (bytes, out) in bytes.as_chunks::<N>().0.iter().zip(out.as_chunks_mut::<16>().0) {
        // SAFETY: `out` has sixteen bytes.
        unsafe { v128_store(out.as_mut_ptr().cast(), unpack(bytes)) };
    }
    (bytes_left, out_left)
}

/// Bytes, with the sign bit flipped.
#[inline(always)]
fn eights(bytes: &[u8; 16]) -> v128 {
    // SAFETY: there are sixteen bytes.
    let bytes = unsafe { v128_load(bytes.as_ptr().cast()) };
    v128_xor(bytes, u8x16_splat(128))
}

/// The low half of each byte, then the high one, with the sign bit flipped.
#[inline(always)]
fn fours(bytes: &[u8; 8]) -> v128 {
    // SAFETY: there are eight bytes.
    let words = unsafe { u16x8_load_extend_u8x8(bytes.as_ptr().cast()) };
    let both = v128_or(words, i16x8_shl(words, 4));
    v128_xor(v128_and(both, u8x16_splat(15)), u8x16_splat(8))
}

/// The constants that unpack codes of five bits.
#[derive(Clone, Copy)]
struct Fives {
    /// The two bytes that contain each of eight codes.
    low: v128,
    /// Those of the next eight.
    high: v128,
    /// Powers of two that move the codes to the top of the two bytes: they begin at bits 0, 5, 2,
    /// 7, 4, 1, 6 and 3.
    to_top: v128,
}

impl Fives {
    /// Not as constants: the compiler would turn the products into shifts of single lanes, and V8
    /// would reload the indices for every shuffle.
    fn new() -> Self {
        static FIVES: Fives = Fives {
            low: u8x16(0, 1, 0, 1, 1, 2, 1, 2, 2, 3, 3, 4, 3, 4, 4, 5),
            high: u8x16(5, 6, 5, 6, 6, 7, 6, 7, 7, 8, 8, 9, 8, 9, 9, 10),
            to_top: u16x8(1 << 11, 1 << 6, 1 << 9, 1 << 4, 1 << 7, 1 << 10, 1 << 5, 1 << 8),
        };
        kept(&FIVES)
    }

    /// Sixteen codes, with the sign bit flipped.
    #[inline(always)]
    fn unpack(self, bytes: &[u8; 10]) -> v128 {
        // SAFETY: there are eight bytes and two.
        let bytes = unsafe {
            let eight = v128_load64_zero(bytes.as_ptr().cast());
            v128_load16_lane::<4>(eight, bytes.as_ptr().add(8).cast())
        };
        let [low, high] = [self.low, self.high]
            .map(|places| u16x8_shr(i16x8_mul(i8x16_swizzle(bytes, places), self.to_top), 11));
        v128_xor(u8x16_narrow_i16x8(low, high), u8x16_splat(16))
    }
}
