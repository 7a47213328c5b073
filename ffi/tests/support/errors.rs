//! What errors say.

use nanoembed_ffi::status::nanoembed_error;

/// The name of what is at fault.
pub(crate) fn name(error: &nanoembed_error) -> String {
    let bytes: Vec<u8> = error.name.iter().map(|c| c.cast_unsigned()).collect();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}
