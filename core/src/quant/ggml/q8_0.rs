//! ggml Q8_0: `x = d q`.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 2 | `d`, IEEE half |
//! | 2 | 32 | `qs`, signed bytes |

use crate::quant::block::{code, extreme, reciprocal};
use crate::quant::float16::{f16_to_f32, round_f16};
use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Q8_0.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Q8_0.block_bytes();

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [d0, d1, qs @ ..] = block;
    let d = L::half([*d0, *d1]);
    for (out, qs) in out.as_chunks_mut().0.iter_mut().zip(qs.as_chunks().0) {
        L::scaled(L::Codes::load(qs), d, out);
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
    let [d0, d1, qs @ ..] = block;
    let d = f16_to_f32([*d0, *d1]);
    for (code, q) in codes.iter_mut().zip(qs) {
        *code = q ^ 128;
    }
    *factors = [(d, d * -128.0)];
}

/// Quantises one block, as ggml does: the extreme value becomes ±127.
#[must_use]
pub fn quantize_block(values: &[f32; BLOCK_ELEMENTS]) -> [u8; BLOCK_BYTES] {
    let d = extreme(values).abs() / 127.0;
    let inverse = reciprocal(d);
    let mut block = [0; BLOCK_BYTES];
    let [d0, d1, qs @ ..] = &mut block;
    ([*d0, *d1], _) = round_f16(d);
    for (q, x) in qs.iter_mut().zip(values) {
        *q = code(libm::roundf(x * inverse), -127.0, 127.0);
    }
    block
}
