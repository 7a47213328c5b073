//! ggml Q8_K: `x = d q`.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | `d`, f32 |
//! | 4 | 256 | `qs`, signed bytes |
//! | 260 | 32 | `bsums`, i16 sums of each 16 `qs`, for products; not used here |

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = 256;
/// Bytes of a block.
pub const BLOCK_BYTES: usize = 292;

/// Dequantises one block.
#[inline]
pub fn dequantize_block(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [d0, d1, d2, d3, qs @ ..] = block;
    let d = f32::from_le_bytes([*d0, *d1, *d2, *d3]);
    for (value, q) in out.iter_mut().zip(qs) {
        *value = d * f32::from(q.cast_signed());
    }
}
