//! The choice to requantise a model.

use nanoembed_core::{Error, ErrorKind};

use crate::failure::Failure;

/// Requantises a model if that is `wanted`, or, where nothing is said, if it is in blocks of few
/// bits.
///
/// # Errors
///
/// As `requantize`, if that was asked for: there may be nothing in a model that could be, or no
/// memory for it.
pub(crate) fn if_wanted<E>(
    wanted: Option<bool>,
    is_grouped: bool,
    requantize: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    if !wanted.unwrap_or(is_grouped) {
        return Ok(());
    }
    let done = requantize();
    if wanted.is_some() { done } else { Ok(()) }
}

/// For models that are not requantised.
///
/// # Errors
///
/// `unsupported_setting` if it was asked for.
pub(crate) fn refuse_if_wanted(wanted: Option<bool>) -> Result<(), Failure> {
    let says = "requantize: weights of such a model are used as they are in the file";
    match wanted {
        Some(true) => Err(Failure::explained(
            Error::without_offset(ErrorKind::UnsupportedSetting),
            says.into(),
        )),
        _ => Ok(()),
    }
}
