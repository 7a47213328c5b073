//! When OUT was made.

use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};

/// The time that the environment says, so that the same input gives the same bytes.
pub(in crate::commands) fn created() -> Result<Option<SystemTime>> {
    let Ok(seconds) = std::env::var("SOURCE_DATE_EPOCH") else { return Ok(None) };
    let seconds = seconds.trim().parse::<u32>().map_err(|_| {
        Error::usage("the environment's SOURCE_DATE_EPOCH is not a number of seconds")
    })?;
    Ok(Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into())))
}
