//! When OUT was made, and IN before it.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::utc::Utc;

/// A time as ISO 8601; one that is not known is the beginning of 1970.
pub(super) fn iso_8601(time: Option<SystemTime>) -> String {
    Utc::from(time.unwrap_or(UNIX_EPOCH)).to_string()
}

/// When a file was changed.
pub(super) fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}
