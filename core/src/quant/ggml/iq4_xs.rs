//! ggml IQ4_XS: `x = d (s − 32) v[q]`, a scale for each 32 elements, `v` as in IQ4_NL.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 2 | `d`, IEEE half |
//! | 2 | 2 | upper two bits of the eight 6-bit scales, the first one lowest |
//! | 4 | 4 | lower four bits of the scales, two a byte, the first one low |
//! | 8 | 128 | `qs`: of each 32 elements as in IQ4_NL |

use super::iq4_nl::{dequantize_group, unpack_group};
use crate::quant::float16::f16_to_f32;
use crate::quant::lanes::Lanes;
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Iq4Xs.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Iq4Xs.block_bytes();

/// The eight scales, less 32, times `d`.
#[inline(always)]
fn scales(d: f32, high: [u8; 2], low: [u8; 4]) -> [f32; 8] {
    let (high, low) = (u16::from_le_bytes(high), u32::from_le_bytes(low));
    core::array::from_fn(|k| {
        let k = k as u32;
        let scale = low >> (4 * k) & 15 | (u32::from(high) >> (2 * k) & 3) << 4;
        d * (scale as f32 - 32.0)
    })
}

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [d0, d1, h0, h1, l0, l1, l2, l3, qs @ ..] = block;
    let scales = scales(f16_to_f32([*d0, *d1]), [*h0, *h1], [*l0, *l1, *l2, *l3]);
    let groups = out.as_chunks_mut().0.iter_mut().zip(qs.as_chunks().0);
    for ((out, qs), scale) in groups.zip(scales) {
        dequantize_group::<L>(qs, L::factor(scale), out);
    }
}

/// Unpacks one block to codes without sign, and the scale and minimum of each 32 elements: `x =
/// scale · code + minimum`.
#[inline]
pub fn unpack_block(
    block: &[u8; BLOCK_BYTES],
    codes: &mut [u8; BLOCK_ELEMENTS],
    factors: &mut [(f32, f32); 8],
) {
    let [d0, d1, h0, h1, l0, l1, l2, l3, qs @ ..] = block;
    let scales = scales(f16_to_f32([*d0, *d1]), [*h0, *h1], [*l0, *l1, *l2, *l3]);
    *factors = scales.map(|scale| (scale, scale * -128.0));
    for (codes, qs) in codes.as_chunks_mut().0.iter_mut().zip(qs.as_chunks().0) {
        unpack_group(qs, codes);
    }
}
