//! ggml Q5_K: `x = (d s) q − dmin m`, a scale and a minimum for each 32 elements.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 2 | `d`, IEEE half |
//! | 2 | 2 | `dmin`, IEEE half |
//! | 4 | 12 | `scales`: eight scales and minima of 6 bits, packed as in Q4_K |
//! | 16 | 32 | `qh`: bit `k` of byte `l` is the fifth bit of element `32 k + l` |
//! | 48 | 128 | `qs`: element `32 k + l` in byte `32 (k / 2) + l`, in the low half if `k` is even |

use super::k_scales;
use crate::quant::float16::f16_to_f32;
use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Q5K.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Q5K.block_bytes();

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [d0, d1, m0, m1, rest @ ..] = block;
    let (d, dmin) = (L::half([*d0, *d1]), L::half([*m0, *m1]));
    let Some((scales, codes)) = rest.split_first_chunk::<12>() else { return };
    let (qh, qs) = codes.split_at(32);
    let [scales, minima] = k_scales::factors::<L>(scales, d, dmin);
    let factors = scales.0.iter().zip(&minima.0[8..]);
    let subs = out.as_chunks_mut::<32>().0.iter_mut().zip(factors);
    for (k, (out, (scale, min))) in subs.enumerate() {
        let (scale, min) = (L::factor(*scale), L::factor(*min));
        let qs = qs[32 * (k / 2)..].as_chunks().0.iter().zip(qh.as_chunks().0);
        for (out, (qs, qh)) in out.as_chunks_mut().0.iter_mut().zip(qs) {
            let fifth = L::Codes::load(qh).field(k as u32, 1);
            let q = L::Codes::load(qs).field(4 * (k as u32 % 2), 15).join(fifth, 4);
            L::minus(q, scale, min, out);
        }
    }
}

/// Unpacks one block to unsigned codes, and the scale and minimum of each 32 elements: `x = scale ·
/// code + minimum`.
#[inline]
pub fn unpack_block(
    block: &[u8; BLOCK_BYTES],
    codes: &mut [u8; BLOCK_ELEMENTS],
    factors: &mut [(f32, f32); 8],
) {
    let [d0, d1, m0, m1, rest @ ..] = block;
    let (d, dmin) = (f16_to_f32([*d0, *d1]), f16_to_f32([*m0, *m1]));
    let Some((scales, packed)) = rest.split_first_chunk::<12>() else { return };
    for (factors, (scale, min)) in factors.iter_mut().zip(k_scales::unpack(scales)) {
        *factors = (d * f32::from(scale), -(dmin * f32::from(min)));
    }
    let (qh, qs) = packed.split_at(32);
    for (k, codes) in codes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        for (code, (q, h)) in codes.iter_mut().zip(qs[32 * (k / 2)..].iter().zip(qh)) {
            *code = q >> (4 * (k % 2)) & 15 | (h >> k & 1) << 4;
        }
    }
}
