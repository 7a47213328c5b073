//! Numbers and lists as people read them.

use std::fmt::{self, Display, Formatter};

/// A size in bytes with a decimal unit: `22.9 MB`.
pub fn bytes(count: u64) -> String {
    scaled(count, &["bytes", "kB", "MB", "GB", "TB"])
}

/// A count with a decimal suffix: `22.7 M`.
pub fn count(count: u64) -> String {
    scaled(count, &["", "k", "M", "G", "T"]).trim_end().to_owned()
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn scaled(count: u64, units: &[&str]) -> String {
    let mut value = count as f64;
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    if count < 1000 {
        return format!("{count} {unit}");
    }
    for next in units {
        if value < 999.95 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

/// Displays the first of some names, and how many more there are: `a, b and 12 more`.
pub struct Listed<'n, S>(pub &'n [S]);

/// The largest number of names that are displayed.
const MOST_NAMES: usize = 8;

impl<S: AsRef<str>> Display for Listed<'_, S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(names) = *self;
        let shown = if names.len() > MOST_NAMES { MOST_NAMES - 1 } else { names.len() };
        for (place, name) in names.iter().take(shown).enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{}", name.as_ref())?;
        }
        match names.len() - shown {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_decimal_from_a_thousand_on() {
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(90_261_504), "90.3 MB");
        assert_eq!(bytes(999_960), "1.0 MB");
        assert_eq!(count(22_713_216), "22.7 M");
        assert_eq!(count(7), "7");
    }

    #[test]
    fn long_lists_end_with_a_number() {
        let names: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let listed = |count: usize| Listed(&names[..count]).to_string();
        assert_eq!(listed(0), "");
        assert_eq!(listed(2), "0, 1");
        assert_eq!(listed(8), "0, 1, 2, 3, 4, 5, 6, 7");
        assert_eq!(listed(9), "0, 1, 2, 3, 4, 5, 6 and 2 more");
        assert_eq!(listed(20), "0, 1, 2, 3, 4, 5, 6 and 13 more");
    }
}
