//! ggml IQ4_NL: `x = d v[q]`, `v` being sixteen values that lie closer together near 0.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 2 | `d`, IEEE half |
//! | 2 | 16 | `qs`: element `i < 16` in the low half of byte `i`, element `i + 16` in the high half |

use crate::quant::float16::f16_to_f32;
use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Iq4Nl.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Iq4Nl.block_bytes();

/// The values of the sixteen codes.
pub const VALUES: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// As f32.
const FLOATS: [f32; 16] = {
    let (mut floats, mut code) = ([0.0; 16], 0);
    while code < floats.len() {
        floats[code] = VALUES[code] as f32;
        code += 1;
    }
    floats
};

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [d0, d1, qs @ ..] = block;
    dequantize_group::<L>(qs, L::half([*d0, *d1]), out);
}

/// Dequantises 32 elements under one scale.
#[inline(always)]
pub(super) fn dequantize_group<L: Lanes>(qs: &[u8; 16], scale: L::Factor, out: &mut [f32; 32]) {
    let qs = L::Codes::load(qs);
    for (out, shift) in out.as_chunks_mut().0.iter_mut().zip([0, 4]) {
        L::looked_up(qs.field(shift, 15), &FLOATS, scale, out);
    }
}

/// Unpacks one block to codes without sign, and the scale and minimum of each group: `x = scale ·
/// code + minimum`.
#[inline]
pub fn unpack_block(
    block: &[u8; BLOCK_BYTES],
    codes: &mut [u8; BLOCK_ELEMENTS],
    factors: &mut [(f32, f32); 1],
) {
    let [d0, d1, qs @ ..] = block;
    let d = f16_to_f32([*d0, *d1]);
    unpack_group(qs, codes);
    *factors = [(d, d * -128.0)];
}

/// The values of 32 elements, and 128 added to each.
#[inline]
pub(super) fn unpack_group(qs: &[u8; 16], codes: &mut [u8; 32]) {
    let value = |code: u8| VALUES[usize::from(code & 15)].cast_unsigned() ^ 128;
    let (low, high) = codes.split_at_mut(16);
    for ((low, high), q) in low.iter_mut().zip(high).zip(qs) {
        (*low, *high) = (value(*q), value(q >> 4));
    }
}
