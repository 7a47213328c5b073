//! FP8 E4M3 ("FN"): a sign, 4 exponent bits of bias 7, 3 mantissa bits; no infinities, `0x7F` and
//! `0xFF` are NaN, the largest value is 448.
//!
//! Source: OCP 8-bit Floating Point Specification 1.0.

use super::block::{extreme, reciprocal, round_even};

/// The largest finite value.
pub const MAX: f32 = 448.0;

/// The value of a byte.
#[must_use]
#[inline]
pub fn decode(byte: u8) -> f32 {
    let sign = u32::from(byte & 0x80) << 24;
    let (exponent, mantissa) = (u32::from(byte >> 3 & 15), u32::from(byte & 7));
    let magnitude = match (exponent, mantissa) {
        (15, 7) => return f32::NAN,
        (0, subnormal) => subnormal as f32 / 512.0,
        _ => f32::from_bits((exponent + 120) << 23 | mantissa << 20),
    };
    f32::from_bits(magnitude.to_bits() | sign)
}

/// The byte nearest to `value`, ties to even; larger magnitudes become ±448, NaN stays NaN.
#[must_use]
pub fn encode(value: f32) -> u8 {
    let sign = (value.to_bits() >> 24) as u8 & 0x80;
    let magnitude = value.abs();
    if magnitude.is_nan() {
        return sign | 0x7F;
    }
    if magnitude >= MAX {
        return sign | 0x7E;
    }
    if magnitude < 1.0 / 64.0 {
        // Subnormal: steps of 2⁻⁹; 8 of them are the smallest normal, whose byte is 8.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and 8
        let steps = round_even(magnitude * 512.0) as u8;
        return sign | steps;
    }
    // Rounding 20 mantissa bits away may carry into the exponent, which is correct.
    let bits = magnitude.to_bits();
    let rounded = bits + 0x7_FFFF + (bits >> 20 & 1);
    sign | ((rounded >> 20) - (120 << 3)) as u8
}

/// Quantises `values` with a common scale, filling `out`, and returns that scale: `x = decode(byte)
/// · scale`.
///
/// Returns `None` if the lengths differ.
pub fn quantize(values: &[f32], out: &mut [u8]) -> Option<f32> {
    if values.len() != out.len() {
        return None;
    }
    let scale = extreme(values).abs() / MAX;
    let inverse = reciprocal(scale);
    for (byte, x) in out.iter_mut().zip(values) {
        *byte = encode(x * inverse);
    }
    Some(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_the_nearest_to_its_own_value() {
        for byte in 0..=255 {
            let value = decode(byte);
            assert!(value.is_nan() || encode(value) == byte, "{byte:#x} {value}");
        }
    }

    #[test]
    fn values_between_two_bytes_go_to_the_nearer_and_ties_to_even() {
        for byte in 0..0x7E_u8 {
            let (low, high) = (decode(byte), decode(byte + 1));
            let middle = (low + high) / 2.0;
            let even = byte + byte % 2;
            assert_eq!(encode(middle), even);
            assert_eq!(encode(f32::from_bits(middle.to_bits() - 1)), byte);
            assert_eq!(encode(f32::from_bits(middle.to_bits() + 1)), byte + 1);
            assert_eq!(encode(-middle), even | 0x80);
        }
    }
}
