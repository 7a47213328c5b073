//! ggml Q5_0: `x = d (q − 16)`.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 2 | `d`, IEEE half |
//! | 2 | 4 | `qh`: the fifth bit of element `i` is bit `i` of this little-endian word |
//! | 6 | 16 | `qs`: element `i < 16` in the low half of byte `i`, element `i + 16` in the high half |

use crate::quant::block::{code, extreme, reciprocal};
use crate::quant::float16::{f16_to_f32, round_f16};
use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Q5_0.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Q5_0.block_bytes();

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [d0, d1, h0, h1, h2, h3, qs @ ..] = block;
    let (d, qs) = (L::half([*d0, *d1]), L::Codes::load(qs));
    let halves = [(0, [*h0, *h1]), (4, [*h2, *h3])];
    for (out, (shift, fifth)) in out.as_chunks_mut().0.iter_mut().zip(halves) {
        let fifth = L::Codes::spread(u16::from_le_bytes(fifth), 16);
        L::scaled(qs.field(shift, 15).join(fifth, 0).less(16), d, out);
    }
}

/// Unpacks one block to unsigned codes, and the scale and minimum of each group: `x = scale · code
/// + minimum`.
#[inline]
pub fn unpack_block(
    block: &[u8; BLOCK_BYTES],
    codes: &mut [u8; BLOCK_ELEMENTS],
    factors: &mut [(f32, f32); 1],
) {
    let [d0, d1, h0, h1, h2, h3, qs @ ..] = block;
    let d = f16_to_f32([*d0, *d1]);
    let qh = u32::from_le_bytes([*h0, *h1, *h2, *h3]);
    let (low, high) = codes.split_at_mut(16);
    for (i, ((low, high), q)) in low.iter_mut().zip(high).zip(qs).enumerate() {
        let fifth = |bit: usize| (((qh >> bit) & 1) << 4) as u8;
        (*low, *high) = (q & 15 | fifth(i), q >> 4 | fifth(i + 16));
    }
    *factors = [(d, d * -16.0)];
}

/// Quantises one block, as ggml does: the extreme value becomes −16.
#[must_use]
pub fn quantize_block(values: &[f32; BLOCK_ELEMENTS]) -> [u8; BLOCK_BYTES] {
    let d = extreme(values) / -16.0;
    let inverse = reciprocal(d);
    let mut block = [0; BLOCK_BYTES];
    let [d0, d1, h0, h1, h2, h3, qs @ ..] = &mut block;
    ([*d0, *d1], _) = round_f16(d);
    let mut qh = 0;
    let (low, high) = values.split_at(16);
    for (i, ((q, low), high)) in qs.iter_mut().zip(low).zip(high).enumerate() {
        let quantize = |x: &f32| code(x * inverse + 16.5, 0.0, 31.0);
        let (low, high) = (quantize(low), quantize(high));
        *q = low & 15 | high << 4;
        qh |= u32::from(low >> 4) << i | u32::from(high >> 4) << (i + 16);
    }
    [*h0, *h1, *h2, *h3] = u32::to_le_bytes(qh);
    block
}
