//! F8Q8: `x = q (e4m3(d) / 416)`.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | `d`, E4M3 |
//! | 1 | 32 | `qs`, signed bytes |
//!
//! Blocks run over the flattened tensor, the last one padded with zeros. The scale is divided by
//! 416, not by the type's largest value 448: the reference's crate takes bits `0x7D` for the
//! maximum.

use super::block::{code, extreme, reciprocal, round_even};
use super::fp8;
use super::lanes::{Codes, Lanes, Scalar};

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = 32;
/// Bytes of a block.
pub const BLOCK_BYTES: usize = 33;

const DIVISOR: f32 = 416.0;

/// Dequantises one block.
#[inline(always)]
pub(super) fn dequantize_block<L: Lanes>(
    block: &[u8; BLOCK_BYTES],
    out: &mut [f32; BLOCK_ELEMENTS],
) {
    let [d, qs @ ..] = block;
    let scale = L::factor(fp8::decode(*d) / DIVISOR);
    for (out, qs) in out.as_chunks_mut().0.iter_mut().zip(qs.as_chunks().0) {
        L::scaled(L::Codes::load(qs), scale, out);
    }
}

/// Quantises one block with the scale of least squared error among those next to `extreme / 127`.
/// Values beyond ±136 are out of the format's range and clipped.
#[must_use]
fn quantize_block(values: &[f32; BLOCK_ELEMENTS]) -> [u8; BLOCK_BYTES] {
    let near = fp8::encode(extreme(values).abs() / 127.0 * DIVISOR);
    let mut best = [0; BLOCK_BYTES];
    let mut least = f32::INFINITY;
    for d in near.saturating_sub(1)..=near.saturating_add(1).min(0x7E) {
        let inverse = reciprocal(fp8::decode(d) / DIVISOR);
        let mut block = [d; BLOCK_BYTES];
        let [_, qs @ ..] = &mut block;
        for (q, x) in qs.iter_mut().zip(values) {
            *q = code(round_even(x * inverse), -128.0, 127.0);
        }
        let mut decoded = [0.0; BLOCK_ELEMENTS];
        dequantize_block::<Scalar>(&block, &mut decoded);
        let error = decoded.iter().zip(values).fold(0.0, |sum, (y, x)| sum + (y - x) * (y - x));
        if error < least {
            (least, best) = (error, block);
        }
    }
    best
}

/// Quantises `values`, padding the last block with zeros, and fills `out`; `None` if `out` does not
/// have 33 bytes for every 32 values or part of them.
pub fn quantize(values: &[f32], out: &mut [u8]) -> Option<()> {
    if out.len() != values.len().div_ceil(BLOCK_ELEMENTS).checked_mul(BLOCK_BYTES)? {
        return None;
    }
    let blocks = out.as_chunks_mut::<BLOCK_BYTES>().0;
    for (block, values) in blocks.iter_mut().zip(values.chunks(BLOCK_ELEMENTS)) {
        let mut padded = [0.0; BLOCK_ELEMENTS];
        padded.get_mut(..values.len())?.copy_from_slice(values);
        *block = quantize_block(&padded);
    }
    Some(())
}
