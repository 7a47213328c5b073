//! Whether a model is to be requantised.

use nanoembed_core::error::Result;

/// Requantises a model if that is `wanted`, or, where nothing is said, if it is in blocks of few
/// bits.
///
/// # Errors
///
/// As `requantize`, if that was asked for: there may be nothing in a model that could be, or no
/// memory for it.
pub(crate) fn if_wanted(
    wanted: Option<bool>,
    is_grouped: bool,
    requantize: impl FnOnce() -> Result<()>,
) -> Result<()> {
    if !wanted.unwrap_or(is_grouped) {
        return Ok(());
    }
    let done = requantize();
    if wanted.is_some() { done } else { Ok(()) }
}
