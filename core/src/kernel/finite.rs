//! Checks that a model's values are finite.
//!
//! A weight that is NaN or infinite makes the same element of every token's activations NaN or
//! infinite, whatever the tokens: checking one token is enough. Later kernels may hide it: softmax,
//! activations and quantisation clamp and compare.

use crate::error::{Error, ErrorKind, Result};

/// Rejects values that are not all finite: damaged weights produce such values, and so do weights
/// too large for 32 bits.
pub(crate) fn check_finite(made: &[f32]) -> Result<()> {
    // Without an early exit the loop vectorises.
    let is_wrong = |wrong, number: &f32| wrong | (number.to_bits() & EXPONENT == EXPONENT);
    match made.iter().fold(false, is_wrong) {
        true => Err(Error::without_offset(ErrorKind::NotFinite)),
        false => Ok(()),
    }
}

/// The bits of an f32 that are all set exactly if it is not finite.
const EXPONENT: u32 = 0x7F80_0000;

/// Rejects rows of `width` elements that a norm computed from non-finite values: the mean of such a
/// row is not finite, nor is its first element.
pub(crate) fn check_normed(rows: &[f32], width: usize) -> Result<()> {
    let mut firsts = rows.iter().step_by(width.max(1));
    match firsts.all(|number| number.is_finite()) {
        true => check_finite(rows.get(..width).unwrap_or_default()),
        false => Err(Error::without_offset(ErrorKind::NotFinite)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_numbers_or_none_is_given() {
        assert_eq!(check_finite(&[]), Ok(()));
        assert_eq!(check_finite(&[0.0, f32::MIN_POSITIVE / 2.0, f32::MAX]), Ok(()));
        for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let error = check_finite(&[1.0, wrong, 2.0]).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (ErrorKind::NotFinite, None));
        }
    }
}
