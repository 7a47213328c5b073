//! Numbers as people read them.

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
}
