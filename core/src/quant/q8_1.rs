//! ggml Q8_1: `x = d q`.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 2 | `d`, IEEE half |
//! | 2 | 2 | `s = d Σ q`, for products; not used here |
//! | 4 | 32 | `qs`, signed bytes |

use super::float16::f16_to_f32;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = 32;
/// Bytes of a block.
pub const BLOCK_BYTES: usize = 36;

/// Dequantises one block.
#[inline]
pub fn dequantize_block(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [d0, d1, _, _, qs @ ..] = block;
    let d = f16_to_f32([*d0, *d1]);
    for (value, q) in out.iter_mut().zip(qs) {
        *value = d * f32::from(q.cast_signed());
    }
}
