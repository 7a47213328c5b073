//! ggml Q2_K: `x = (d s) q − dmin m`, a scale and a minimum for each 16 elements.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 16 | `scales`: scale in the low half, minimum in the high half |
//! | 16 | 64 | `qs`: bits `2j, 2j + 1` of byte `32 n + l` are element `128 n + 32 j + l` |
//! | 80 | 2 | `d`, IEEE half |
//! | 82 | 2 | `dmin`, IEEE half |

use crate::quant::float16::f16_to_f32;
use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Q2K.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Q2K.block_bytes();

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [body @ .., d0, d1, m0, m1] = block;
    let (d, dmin) = (L::half([*d0, *d1]), L::half([*m0, *m1]));
    let Some((scales, qs)) = body.split_first_chunk::<16>() else { return };
    let (packed, qs) = (L::Codes::load(scales), qs.as_chunks().0);
    let (scales, minima) =
        (L::factors(packed.field(0, 15), d), L::factors(packed.field(4, 15), dmin));
    let factors = scales.0.iter().zip(&minima.0);
    for (sub, (out, (scale, min))) in out.as_chunks_mut().0.iter_mut().zip(factors).enumerate() {
        let (n, j, half) = (sub / 8, sub as u32 % 8 / 2, sub % 2);
        let q = L::Codes::load(&qs[2 * n + half]).field(2 * j, 3);
        L::minus(q, L::factor(*scale), L::factor(*min), out);
    }
}

/// Unpacks one block to unsigned codes, and the scale and minimum of each 16 elements: `x = scale ·
/// code + minimum`.
#[inline]
pub fn unpack_block(
    block: &[u8; BLOCK_BYTES],
    codes: &mut [u8; BLOCK_ELEMENTS],
    factors: &mut [(f32, f32); 16],
) {
    let [body @ .., d0, d1, m0, m1] = block;
    let (d, dmin) = (f16_to_f32([*d0, *d1]), f16_to_f32([*m0, *m1]));
    let (scales, qs) = body.split_at(16);
    for (factors, scale) in factors.iter_mut().zip(scales) {
        *factors = (d * f32::from(scale & 15), -(dmin * f32::from(scale >> 4)));
    }
    for (sub, codes) in codes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        for (code, q) in codes.iter_mut().zip(&qs[32 * (sub / 4)..]) {
            *code = q >> (2 * (sub % 4)) & 3;
        }
    }
}
