//! When OUT was made, and IN before it.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::error::{Failure, Result};

/// The time of creation as ISO 8601, the same for the same input.
pub(super) fn created_at(modified: Option<SystemTime>) -> Result<String> {
    let time = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => {
            let seconds = seconds.trim().parse::<u32>().map_err(|_| {
                Failure::usage("the environment's SOURCE_DATE_EPOCH is not a number of seconds")
            })?;
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into())
        }
        Err(_) => modified.unwrap_or(SystemTime::UNIX_EPOCH),
    };
    Ok(humantime::format_rfc3339_seconds(time).to_string())
}

/// When a file was changed.
pub(super) fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}
