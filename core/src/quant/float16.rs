//! The two 16-bit floats: IEEE halves and bfloat16.

use half::{bf16, f16};

/// The f32 of a little-endian IEEE half; NaN becomes quiet.
///
/// Without branches, so that loops over it vectorise.
#[must_use]
#[inline]
pub fn f16_to_f32(bytes: [u8; 2]) -> f32 {
    /// The difference between the exponent biases of halves and f32.
    const BIAS: u32 = (127 - 15) << 23;
    const INFINITY: u32 = 0x7c00 << 13;
    let half = u32::from(u16::from_le_bytes(bytes));
    let magnitude = (half & 0x7fff) << 13;
    let normal = magnitude + BIAS;
    // Computes Fraction · 2⁻²⁴ as a difference from 2⁻¹⁴: no step uses subnormal f32, which are
    // slow.
    let least = f32::from_bits(BIAS + (1 << 23));
    let subnormal = (f32::from_bits(normal + (1 << 23)) - least).to_bits();
    let quiet = u32::from(magnitude > INFINITY) << 22;
    let not_finite = (normal + BIAS) | quiet;
    let value = if magnitude < 1 << 23 {
        subnormal
    } else if magnitude < INFINITY {
        normal
    } else {
        not_finite
    };
    f32::from_bits(value | (half & 0x8000) << 16)
}

/// The f32 of a bfloat16, little-endian.
#[must_use]
#[inline]
pub fn bf16_to_f32(bytes: [u8; 2]) -> f32 {
    bf16::from_le_bytes(bytes).to_f32()
}

/// `value` rounded to an IEEE half: its bytes, and its value.
pub(super) fn round_f16(value: f32) -> ([u8; 2], f32) {
    let half = f16::from_f32(value);
    (half.to_le_bytes(), half.to_f32())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_has_the_bits_that_crate_half_gives() {
        for bits in 0..=u16::MAX {
            let found = f16_to_f32(bits.to_le_bytes());
            assert_eq!(found.to_bits(), f16::from_bits(bits).to_f32().to_bits(), "{bits:#x}");
        }
    }
}
