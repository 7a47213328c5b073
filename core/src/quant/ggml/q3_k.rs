//! ggml Q3_K: `x = (d (s − 32)) (q − 4)`, a scale for each 16 elements.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 32 | `hmask`: bit `4 n + j` of byte `l` is the third bit of element `128 n + 32 j + l` |
//! | 32 | 64 | `qs`: bits `2j, 2j + 1` of byte `32 n + l` are the lower two |
//! | 96 | 12 | `scales`: sixteen of 6 bits; the lower four of scale `t` in the half bytes `t % 8`, the upper two in bytes 8–11 |
//! | 108 | 2 | `d`, IEEE half |

use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Q3K.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Q3K.block_bytes();

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [body @ .., d0, d1] = block;
    let d = L::half([*d0, *d1]);
    let (hmask, rest) = body.split_at(32);
    let (qs, scales) = rest.split_at(64);
    let Some(scales) = scales.first_chunk() else { return };
    let (hmask, qs) = (hmask.as_chunks().0, qs.as_chunks().0);
    let factors = L::factors(scale_codes::<L>(scales).less(32), d);
    for (sub, (out, scale)) in out.as_chunks_mut().0.iter_mut().zip(&factors.0).enumerate() {
        let (n, j, half) = (sub / 8, sub as u32 % 8 / 2, sub % 2);
        let third = L::Codes::load(&hmask[half]).field(4 * n as u32 + j, 1);
        let q = L::Codes::load(&qs[2 * n + half]).field(2 * j, 3).join(third, 2);
        L::scaled(q.less(4), L::factor(*scale), out);
    }
}

/// The sixteen scales, 0 to 63.
#[inline(always)]
fn scale_codes<L: Lanes>(packed: &[u8; 12]) -> L::Codes {
    let [l0, l1, l2, l3, l4, l5, l6, l7, u0, u1, u2, u3] = *packed;
    let lower = u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7]);
    let lower = [0, 4].map(|shift| lower >> shift & 0x0f0f_0f0f_0f0f_0f0f);
    let upper = u32::from_le_bytes([u0, u1, u2, u3]);
    let [u0, u1, u2, u3] = [0, 2, 4, 6].map(|shift| u64::from(upper >> shift & 0x0303_0303));
    L::Codes::words(lower).join(L::Codes::words([u0 | u1 << 32, u2 | u3 << 32]), 4)
}
