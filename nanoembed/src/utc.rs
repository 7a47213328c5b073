//! Dates and times of UTC.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A date and a time of UTC, which is displayed as ISO 8601 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    pub year: u64,
    /// From 1.
    pub month: u64,
    /// From 1.
    pub day: u64,
    pub hour: u64,
    pub minute: u64,
    pub second: u64,
}

impl Utc {
    /// Of seconds since the beginning of 1970.
    ///
    /// Years begin in March here, so that a leap year's day is its last; 400 years have 146,097 days.
    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Self {
        let days = seconds / 86_400 + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (year, month) = match month {
            0..10 => (400 * era + year, month + 3),
            _ => (400 * era + year + 1, month - 9),
        };
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        Self { year, month, day, hour, minute, second }
    }
}

/// A time before 1970, which is older than computers' clocks, is as good as unknown: it becomes the
/// beginning of 1970.
impl From<SystemTime> for Utc {
    fn from(time: SystemTime) -> Self {
        Self::from_seconds(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
    }
}

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second } = self;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_a_date_and_a_time() {
        for (seconds, written) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_800, "10000-01-01T00:00:00Z"),
        ] {
            assert_eq!(Utc::from_seconds(seconds).to_string(), written);
        }
    }
}
