//! Half surrogate pairs in JSON: an escape such as `\ud83d` that is no character without the other
//! half. `JSON.stringify` writes it of a text that was cut within an emoji.

/// An escape's bytes, `\uXXXX`.
const BYTES: usize = 6;

/// The offset of the first half pair in `json` from byte `from` on.
pub(super) fn first_half(json: &str, from: usize) -> Option<usize> {
    let bytes = json.as_bytes();
    let mut at = from;
    while let Some(found) = bytes.get(at..)?.iter().position(|byte| *byte == b'\\') {
        at += found;
        at += match (unit(bytes, at), unit(bytes, at + BYTES)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * BYTES,
            (Some(0xD800..=0xDFFF), _) => return Some(at),
            (Some(_), _) => BYTES,
            (None, _) => 2,
        };
    }
    None
}

/// `json` with U+FFFD in place of half pairs.
pub(super) fn replaced(json: &str) -> String {
    let (mut whole, mut from) = (String::with_capacity(json.len()), 0);
    while let Some(at) = first_half(json, from) {
        whole.push_str(&json[from..at]);
        whole.push_str("\\ufffd");
        from = at + BYTES;
    }
    whole.push_str(&json[from..]);
    whole
}

/// The UTF-16 code unit of an escape that begins at `at`.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + BYTES)?.strip_prefix(b"\\u")?;
    let is_number = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = str::from_utf8(digits).ok().filter(|_| is_number)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_found_and_pairs_are_not() {
        for (json, at) in [
            (r#""rain \ud83d""#, Some(6)),
            (r#""\uDE00""#, Some(1)),
            (r#""\ud83d\ude00""#, None),
            (r#""\ud83d\ud83d\ude00""#, Some(1)),
            (r#""\ude00\ud83d""#, Some(1)),
            (r#""\\ud83d""#, None),
            (r#""\\\ud83d""#, Some(3)),
            (r#""\u00e9 \ud83dé""#, Some(8)),
            (r#""\ud83d\n""#, Some(1)),
            ("\"\\ud8", None),
            ("\\", None),
        ] {
            assert_eq!(first_half(json, 0), at, "{json}");
        }
    }

    /// As `char::decode_utf16` has it, and JSON that is read again.
    #[test]
    fn halves_become_what_utf_16_makes_of_them() {
        let units = [0x41, 0xD83D, 0xDE00, 0xDBFF, 0xDC00, 0xE000];
        for code in 0..6_usize.pow(4) {
            let text: Vec<u16> = (0..4).map(|at| units[code / 6_usize.pow(at) % 6]).collect();
            let json: String = text.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let found: String =
                serde_json::from_str(&replaced(&format!("\"{json}\""))).expect("JSON");
            assert_eq!(found, String::from_utf16_lossy(&text), "{json}");
        }
    }
}
