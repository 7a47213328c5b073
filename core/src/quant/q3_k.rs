//! ggml Q3_K: `x = (d (s − 32)) (q − 4)`, a scale for each 16 elements.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 32 | `hmask`: bit `4 n + j` of byte `l` is the third bit of element `128 n + 32 j + l` |
//! | 32 | 64 | `qs`: bits `2j, 2j + 1` of byte `32 n + l` are the lower two |
//! | 96 | 12 | `scales`: sixteen of 6 bits; the lower four of scale `t` in the half bytes `t % 8`, the upper two in bytes 8–11 |
//! | 108 | 2 | `d`, IEEE half |

use super::float16::f16_to_f32;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = 256;
/// Bytes of a block.
pub const BLOCK_BYTES: usize = 110;

/// Dequantises one block.
#[inline]
pub fn dequantize_block(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [body @ .., d0, d1] = block;
    let d = f16_to_f32([*d0, *d1]);
    let (hmask, rest) = body.split_at(32);
    let (qs, scales) = rest.split_at(64);
    for (sub, values) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let (n, j, half) = (sub / 8, sub % 8 / 2, sub % 2);
        let lower = scales[sub % 8] >> (4 * (sub / 8)) & 15;
        let upper = scales[8 + sub % 4] >> (2 * (sub / 4)) & 3;
        let scale = d * f32::from((lower | upper << 4) as i8 - 32);
        let codes = qs[32 * n + 16 * half..].iter().zip(&hmask[16 * half..]);
        for (value, (q, mask)) in values.iter_mut().zip(codes) {
            let third = mask >> (4 * n + j) & 1;
            let q = (q >> (2 * j) & 3 | third << 2) as i8;
            *value = scale * f32::from(q - 4);
        }
    }
}
