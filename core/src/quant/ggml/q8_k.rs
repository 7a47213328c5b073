//! ggml Q8_K: `x = d q`.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | `d`, f32 |
//! | 4 | 256 | `qs`, signed bytes |
//! | 260 | 32 | `bsums`, i16 sums of each 16 `qs`, for products; not used here |

use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Q8K.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Q8K.block_bytes();

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [d0, d1, d2, d3, qs @ ..] = block;
    let d = L::factor(f32::from_le_bytes([*d0, *d1, *d2, *d3]));
    for (out, qs) in out.as_chunks_mut().0.iter_mut().zip(qs.as_chunks().0) {
        L::scaled(L::Codes::load(qs), d, out);
    }
}
