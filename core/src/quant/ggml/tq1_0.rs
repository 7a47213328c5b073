//! ggml TQ1_0: `x = d (t − 1)`, ternary digits `t`, five per byte.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 32 | digit `n` of byte `i` is element `32 n + i` |
//! | 32 | 16 | digit `n` of byte `i` is element `160 + 16 n + i` |
//! | 48 | 4 | digit `n < 4` of byte `i` is element `240 + 4 n + i` |
//! | 52 | 2 | `d`, IEEE half |
//!
//! A byte is the number `0.t₀t₁t₂t₃t₄` to base 3 in units of 1/256, rounded up. Multiplied by 3, it
//! has the first digit above its eight bits and the number without that digit in them.

use super::tq2_0::Ternary;
use crate::quant::lanes::{Codes, LANES, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Tq1_0.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Tq1_0.block_bytes();

/// The factors that move each digit of a byte to the first position.
const POWERS: [u8; 5] = [1, 3, 9, 27, 81];

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [bytes @ .., l0, l1, l2, l3, d0, d1] = block;
    let d = L::half([*d0, *d1]);
    let last = [l0, l1, l2, l3].map(|byte| *byte);
    let bytes = bytes.as_chunks().0;
    for (sub, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
        let (bytes, powers) = match sub {
            0..10 => (bytes[sub % 2], [POWERS[sub / 2]; LANES]),
            10..15 => (bytes[2], [POWERS[sub - 10]; LANES]),
            _ => {
                (core::array::from_fn(|at| last[at % 4]), core::array::from_fn(|at| POWERS[at / 4]))
            }
        };
        L::scaled(L::Codes::load(&first_digits(bytes, powers)).less(1), d, out);
    }
}

/// The first digits of the bytes times `powers`: the high byte of 3 times that product.
#[inline(always)]
fn first_digits(mut bytes: [u8; LANES], powers: [u8; LANES]) -> [u8; LANES] {
    for (byte, power) in bytes.iter_mut().zip(powers) {
        let shifted = byte.wrapping_mul(power);
        *byte = u8::from(shifted >= 86) + u8::from(shifted >= 171);
    }
    bytes
}

/// Quantises one block to the same bytes as ggml.
#[must_use]
pub fn quantize_block(values: &[f32; BLOCK_ELEMENTS]) -> [u8; BLOCK_BYTES] {
    let Ternary { d, digits } = Ternary::new(values);
    let mut block = [0; BLOCK_BYTES];
    let [bytes @ .., d0, d1] = &mut block;
    [*d0, *d1] = d;
    for (at, byte) in bytes.iter_mut().enumerate() {
        let (first, step) = match at {
            0..32 => (at, 32),
            32..48 => (160 + at - 32, 16),
            _ => (240 + at - 48, 4),
        };
        // The fifth digit after the last element is 0.
        let digit = |n: usize| digits.get(first + step * n).copied().unwrap_or(0);
        let number = (0..5).fold(0, |number, n| number * 3 + u32::from(digit(n)));
        *byte = (number * 256).div_ceil(243) as u8;
    }
    block
}
