//! Numbers of a model on their way out.

use crate::error::{Error, ErrorKind, Result};

/// Refuses what a model made if not all of it are numbers: weights that are damaged give such, and
/// weights that are too large for 32 bits.
pub(crate) fn check_finite(made: &[f32]) -> Result<()> {
    match made.iter().all(|number| number.is_finite()) {
        true => Ok(()),
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
