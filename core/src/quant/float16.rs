//! The two 16-bit floats: IEEE halves and bfloat16.

use half::{bf16, f16};

/// The f32 of an IEEE half, little-endian.
#[must_use]
#[inline]
pub fn f16_to_f32(bytes: [u8; 2]) -> f32 {
    f16::from_le_bytes(bytes).to_f32()
}

/// The f32 of a bfloat16, little-endian.
#[must_use]
#[inline]
pub fn bf16_to_f32(bytes: [u8; 2]) -> f32 {
    bf16::from_le_bytes(bytes).to_f32()
}

/// `value` rounded to an IEEE half: its bytes, and what they are worth.
pub(super) fn round_f16(value: f32) -> ([u8; 2], f32) {
    let half = f16::from_f32(value);
    (half.to_le_bytes(), half.to_f32())
}
