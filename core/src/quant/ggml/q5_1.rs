//! ggml Q5_1: `x = d q + m`.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 2 | `d`, IEEE half |
//! | 2 | 2 | `m`, IEEE half |
//! | 4 | 4 | `qh`: the fifth bit of element `i` is bit `i` of this little-endian word |
//! | 8 | 16 | `qs`: element `i < 16` in the low half of byte `i`, element `i + 16` in the high half |

use crate::quant::float16::f16_to_f32;
use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Q5_1.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Q5_1.block_bytes();

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [d0, d1, m0, m1, h0, h1, h2, h3, qs @ ..] = block;
    let (d, m, qs) = (L::half([*d0, *d1]), L::half([*m0, *m1]), L::Codes::load(qs));
    let halves = [(0, [*h0, *h1]), (4, [*h2, *h3])];
    for (out, (shift, fifth)) in out.as_chunks_mut().0.iter_mut().zip(halves) {
        let fifth = L::Codes::spread(u16::from_le_bytes(fifth), 16);
        L::plus(qs.field(shift, 15).join(fifth, 0), d, m, out);
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
    let [d0, d1, m0, m1, h0, h1, h2, h3, qs @ ..] = block;
    let qh = u32::from_le_bytes([*h0, *h1, *h2, *h3]);
    let (low, high) = codes.split_at_mut(16);
    for (i, ((low, high), q)) in low.iter_mut().zip(high).zip(qs).enumerate() {
        let fifth = |bit: usize| (((qh >> bit) & 1) << 4) as u8;
        (*low, *high) = (q & 15 | fifth(i), q >> 4 | fifth(i + 16));
    }
    *factors = [(f16_to_f32([*d0, *d1]), f16_to_f32([*m0, *m1]))];
}
