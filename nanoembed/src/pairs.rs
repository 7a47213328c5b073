//! Keys and values of a file's metadata.

use nanoembed_core::{Error as CoreError, limit};

/// Keys and values, in the order of a file.
pub(crate) type Pairs = Vec<(String, String)>;

/// Adds a copy of a pair.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(crate) fn add(pairs: &mut Pairs, key: &str, value: &str) -> Result<(), CoreError> {
    limit::push(pairs, (limit::copied(key)?, limit::copied(value)?))
}

/// Adds copies of `more`.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(crate) fn add_all(pairs: &mut Pairs, more: &[(String, String)]) -> Result<(), CoreError> {
    more.iter().try_for_each(|(key, value)| add(pairs, key, value))
}
