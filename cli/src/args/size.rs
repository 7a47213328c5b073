//! Sizes as people write them.

/// A number of bytes, binary multiples by a letter.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches(['B', 'b', 'i']);
    let unit = |letter: char| "KMGT".find(letter.to_ascii_uppercase()).map(|at| 10 * (at + 1));
    let (digits, shift) = match number.chars().next_back().and_then(unit) {
        Some(shift) => (number.get(..number.len() - 1).unwrap_or_default(), shift),
        None => (number, 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "expected a size such as 500M or 10G".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("3k"), Ok(3 << 10));
        assert_eq!(size("500MiB"), Ok(500 << 20));
        assert_eq!(size("10G"), Ok(10 << 30));
        assert_eq!(size("1TB"), Ok(1 << 40));
        for bad in ["", "0", "G", "-1", "1P", "1é", "99999999999G", "99999999T"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
