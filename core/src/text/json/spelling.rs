//! Interpretation of strings and numbers as they are spelled.

use crate::text::character::push;
use crate::text::decimal::decimal;

/// The characters of a string spelled as `spelling` between its quotes. Spellings that the lexer
/// would reject give U+FFFD for their invalid parts.
pub fn chars(spelling: &str) -> impl Iterator<Item = char> + '_ {
    let mut rest = spelling.chars();
    core::iter::from_fn(move || {
        let first = rest.next()?;
        if first != '\\' {
            return Some(first);
        }
        Some(match rest.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => unicode(&mut rest).unwrap_or(char::REPLACEMENT_CHARACTER),
            other => other,
        })
    })
}

fn unicode(rest: &mut core::str::Chars<'_>) -> Option<char> {
    let first = hex(rest)?;
    if !(0xD800..0xDC00).contains(&first) {
        return char::from_u32(first);
    }
    if (rest.next(), rest.next()) != (Some('\\'), Some('u')) {
        return None;
    }
    let second = hex(rest)?.checked_sub(0xDC00).filter(|second| *second < 0x400)?;
    char::from_u32(((first & 0x3FF) << 10 | second).checked_add(0x1_0000)?)
}

fn hex(rest: &mut core::str::Chars<'_>) -> Option<u32> {
    let mut value = 0;
    for _ in 0..4 {
        value = value << 4 | rest.next()?.to_digit(16)?;
    }
    Some(value)
}

/// Returns true if `spelling` contains an escape; otherwise it is the value itself.
#[must_use]
pub fn has_escapes(spelling: &str) -> bool {
    // Searches bytes: the compiler cannot rule out that searching for a character panics.
    spelling.as_bytes().contains(&b'\\')
}

/// Returns true if `spelling` means `text`.
#[must_use]
pub fn is(spelling: &str, text: &str) -> bool {
    spelling == text || has_escapes(spelling) && chars(spelling).eq(text.chars())
}

/// Writes the unescaped `spelling` into `out`; `None` if `out` is too small. A text is never longer
/// than its spelling.
pub fn unescape<'o>(spelling: &str, out: &'o mut [u8]) -> Option<&'o str> {
    let mut length = 0_usize;
    for character in chars(spelling) {
        length = push(character, out, length)?;
    }
    core::str::from_utf8(out.get(..length)?).ok()
}

/// A number that is spelled as an integer from 0 to 2⁶⁴ − 1, without fraction and exponent.
#[must_use]
pub fn number_u64(spelling: &str) -> Option<u64> {
    spelling.parse().ok()
}

/// The f64 nearest to a number; `None` if it is beyond f64.
///
/// Without feature `pipeline` it is read by [`decimal`], which has no tables and cannot panic; for
/// numbers with more digits than settings have, the result may be off by a few units in the last
/// place.
#[must_use]
pub fn number_f64(spelling: &str) -> Option<f64> {
    let number = if cfg!(feature = "pipeline") { spelling.parse().ok() } else { decimal(spelling) };
    number.filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_mean_characters() {
        assert!(is(r"a\u00e9\n\/\ud83d\ude00", "aé\n/😀"));
        assert!(!is(r"\u0061b", "a"));
        let mut room = [0; 4];
        assert_eq!(unescape(r"\ud83d\ude00", &mut room), Some("😀"));
        assert_eq!(unescape("abcde", &mut room), None);
    }

    #[test]
    fn broken_spellings_are_replaced_not_followed() {
        assert!(chars(r"\ud83d").eq(['\u{fffd}']));
        assert!(chars(r"\ud83dx\uzzzz").all(|c| c == '\u{fffd}' || c.is_ascii()));
    }

    #[test]
    fn only_integers_are_integers() {
        assert_eq!(number_u64("18446744073709551615"), Some(u64::MAX));
        for other in ["18446744073709551616", "-1", "-0", "1.0", "1e3", ""] {
            assert_eq!(number_u64(other), None, "{other}");
        }
        assert_eq!(number_f64("1e400"), None);
    }
}
