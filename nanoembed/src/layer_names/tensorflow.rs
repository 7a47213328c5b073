//! Names in checkpoints that came from TensorFlow.

use nanoembed_core::{Error as CoreError, limit};

/// The present name of a norm's tensor, for TensorFlow's; other names stay.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(crate) fn present_name(name: &str) -> Result<String, CoreError> {
    let name = limit::replaced(name, "LayerNorm.gamma", "LayerNorm.weight")?;
    limit::replaced(&name, "LayerNorm.beta", "LayerNorm.bias")
}
