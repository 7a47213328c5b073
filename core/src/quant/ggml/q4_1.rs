//! ggml Q4_1: `x = d q + m`.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 2 | `d`, IEEE half |
//! | 2 | 2 | `m`, IEEE half |
//! | 4 | 16 | `qs`: element `i < 16` in the low half of byte `i`, element `i + 16` in the high half |

use crate::quant::block::{code, range, reciprocal};
use crate::quant::float16::{f16_to_f32, round_f16};
use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Q4_1.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Q4_1.block_bytes();

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [d0, d1, m0, m1, qs @ ..] = block;
    let (d, m, qs) = (L::half([*d0, *d1]), L::half([*m0, *m1]), L::Codes::load(qs));
    for (out, shift) in out.as_chunks_mut().0.iter_mut().zip([0, 4]) {
        L::plus(qs.field(shift, 15), d, m, out);
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
    let [d0, d1, m0, m1, qs @ ..] = block;
    let (low, high) = codes.split_at_mut(16);
    for ((low, high), q) in low.iter_mut().zip(high).zip(qs) {
        (*low, *high) = (q & 15, q >> 4);
    }
    *factors = [(f16_to_f32([*d0, *d1]), f16_to_f32([*m0, *m1]))];
}

/// Quantises one block, as ggml does: the smallest value becomes 0, the largest 15.
#[must_use]
pub fn quantize_block(values: &[f32; BLOCK_ELEMENTS]) -> [u8; BLOCK_BYTES] {
    let (min, max) = range(values);
    let d = (max - min) / 15.0;
    let inverse = reciprocal(d);
    let mut block = [0; BLOCK_BYTES];
    let [d0, d1, m0, m1, qs @ ..] = &mut block;
    ([*d0, *d1], _) = round_f16(d);
    ([*m0, *m1], _) = round_f16(min);
    let (low, high) = values.split_at(16);
    for ((q, low), high) in qs.iter_mut().zip(low).zip(high) {
        let nibble = |x: &f32| code((x - min) * inverse + 0.5, 0.0, 15.0);
        *q = nibble(low) | nibble(high) << 4;
    }
    block
}
