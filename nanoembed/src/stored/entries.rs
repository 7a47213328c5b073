//! Memory for the entries of a safetensors container.

use nanoembed_core::format::safetensors::Entry;
use nanoembed_core::{Error as CoreError, limit};

/// Memory for the entries of a safetensors file: for the most that its header may describe, within
/// reason.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub fn room(file: &[u8]) -> Result<Vec<Entry>, CoreError> {
    const LEAST_ENTRY_BYTES: u64 = 48;
    const MOST: u64 = 1 << 21;
    let length = file.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
    let entries = length.min(file.len() as u64) / LEAST_ENTRY_BYTES + 1;
    limit::filled(usize::try_from(entries.min(MOST)).unwrap_or(0), Entry::default())
}
