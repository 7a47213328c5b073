//! Numbers of a model that must be numbers.
//!
//! A weight that is NaN or infinite makes the same element of every token's activations so,
//! whatever the tokens are: it is enough to look at those of one token. What kernels do with them
//! afterwards may hide it again: softmax, activations and quantisation clamp and compare.

use crate::error::{Error, ErrorKind, Result};

/// Refuses what a model made if not all of it are numbers: weights that are damaged give such, and
/// weights that are too large for 32 bits.
pub(crate) fn check_finite(made: &[f32]) -> Result<()> {
    // Without an early end the loop is made of vectors.
    let is_wrong = |wrong, number: &f32| wrong | (number.to_bits() & EXPONENT == EXPONENT);
    match made.iter().fold(false, is_wrong) {
        true => Err(Error::without_offset(ErrorKind::NotFinite)),
        false => Ok(()),
    }
}

/// The bits of f32 that are all set in what is not finite, and only there.
const EXPONENT: u32 = 0x7F80_0000;

/// Refuses rows of `width` that a norm made of something that is not finite: the mean of such a row
/// is not, and so its first element.
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
