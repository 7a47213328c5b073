//! ggml TQ2_0: `x = d (t − 1)`, ternary digits `t`, four per byte.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 64 | `qs`: bits `2j, 2j + 1` of byte `32 n + l` are element `128 n + 32 j + l` |
//! | 64 | 2 | `d`, IEEE half |

use crate::quant::block::{extreme, reciprocal};
use crate::quant::float16::round_f16;
use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Tq2_0.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Tq2_0.block_bytes();

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [qs @ .., d0, d1] = block;
    let (d, qs) = (L::half([*d0, *d1]), qs.as_chunks().0);
    for (sub, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
        let (n, j, half) = (sub / 8, sub as u32 % 8 / 2, sub % 2);
        L::scaled(L::Codes::load(&qs[2 * n + half]).field(2 * j, 3).less(1), d, out);
    }
}

/// Quantises one block to the same bytes as ggml.
#[must_use]
pub fn quantize_block(values: &[f32; BLOCK_ELEMENTS]) -> [u8; BLOCK_BYTES] {
    let Ternary { d, digits } = Ternary::new(values);
    let mut block = [0; BLOCK_BYTES];
    let [qs @ .., d0, d1] = &mut block;
    [*d0, *d1] = d;
    for (at, q) in qs.iter_mut().enumerate() {
        let first = at / 32 * 128 + at % 32;
        *q = (0..4).fold(0, |q, j| q | digits[first + 32 * j] << (2 * j));
    }
    block
}

/// The elements of a block as ternary digits.
pub(super) struct Ternary {
    /// The largest magnitude, an IEEE half.
    pub(super) d: [u8; 2],
    /// 0, 1 and 2 for −d, 0 and d.
    pub(super) digits: [u8; BLOCK_ELEMENTS],
}

impl Ternary {
    /// The nearest digits; ties round away from zero, as in ggml.
    pub(super) fn new(values: &[f32; BLOCK_ELEMENTS]) -> Self {
        let largest = extreme(values).abs();
        let inverse = reciprocal(largest);
        let digit = |x: f32| match x * inverse {
            x if x >= 0.5 => 2,
            x if x <= -0.5 => 0,
            _ => 1,
        };
        Self { d: round_f16(largest).0, digits: values.map(digit) }
    }
}
