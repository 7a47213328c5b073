//! ggml Q8_1: `x = d q`.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 2 | `d`, IEEE half |
//! | 2 | 2 | `s = d Σ q`, for products; not used here |
//! | 4 | 32 | `qs`, signed bytes |

use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Q8_1.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Q8_1.block_bytes();

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [d0, d1, _, _, qs @ ..] = block;
    let d = L::half([*d0, *d1]);
    for (out, qs) in out.as_chunks_mut().0.iter_mut().zip(qs.as_chunks().0) {
        L::scaled(L::Codes::load(qs), d, out);
    }
}
