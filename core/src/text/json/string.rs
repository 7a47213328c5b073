//! Inside a string: escapes, surrogate pairs and UTF-8, byte by byte.

use crate::error::ErrorKind;

/// The position of the next byte in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringState {
    Text,
    /// Inside a UTF-8 sequence: the remaining bytes, and the range of the next one.
    Sequence {
        left: u8,
        low: u8,
        high: u8,
    },
    /// After a backslash.
    Escape,
    /// Inside `\uXXXX`: the remaining digits, and the value so far.
    Hex {
        left: u8,
        value: u16,
        pair: Pair,
    },
    /// After a leading surrogate: its partner's backslash, then its `u`.
    PartnerBackslash,
    PartnerU,
}

/// The position of a `\uXXXX` in a surrogate pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pair {
    First,
    Second,
}

pub(super) enum InString {
    Goes(StringState),
    /// The closing quote.
    Ends,
}

impl StringState {
    /// The state after `byte`.
    #[inline]
    pub(super) fn step(self, byte: u8) -> Result<InString, ErrorKind> {
        let goes = |state| Ok(InString::Goes(state));
        match self {
            Self::Text => match byte {
                b'"' => Ok(InString::Ends),
                b'\\' => goes(Self::Escape),
                0x20..=0x7F => goes(Self::Text),
                0x00..=0x1F => Err(ErrorKind::BadJson),
                _ => sequence(byte).map(InString::Goes).ok_or(ErrorKind::InvalidUtf8),
            },
            Self::Sequence { left, low, high } if (low..=high).contains(&byte) => match left {
                1 => goes(Self::Text),
                _ => goes(Self::Sequence { left: left.saturating_sub(1), low: 0x80, high: 0xBF }),
            },
            Self::Sequence { .. } => Err(ErrorKind::InvalidUtf8),
            Self::Escape => match byte {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => goes(Self::Text),
                b'u' => goes(Self::Hex { left: 4, value: 0, pair: Pair::First }),
                _ => Err(ErrorKind::BadJson),
            },
            Self::Hex { left, value, pair } => {
                let digit = char::from(byte).to_digit(16).ok_or(ErrorKind::BadJson)?;
                let value = value << 4 | u16::try_from(digit).unwrap_or(0);
                match left {
                    1 => surrogate(value, pair).map(InString::Goes),
                    _ => goes(Self::Hex { left: left.saturating_sub(1), value, pair }),
                }
            }
            Self::PartnerBackslash if byte == b'\\' => goes(Self::PartnerU),
            Self::PartnerU if byte == b'u' => {
                goes(Self::Hex { left: 4, value: 0, pair: Pair::Second })
            }
            Self::PartnerBackslash | Self::PartnerU => Err(ErrorKind::BadJson),
        }
    }
}

/// The state after a leading byte of a UTF-8 sequence.
fn sequence(lead: u8) -> Option<StringState> {
    let (left, low, high) = match lead {
        0xC2..=0xDF => (1, 0x80, 0xBF),
        0xE0 => (2, 0xA0, 0xBF),
        0xED => (2, 0x80, 0x9F),
        0xE1..=0xEF => (2, 0x80, 0xBF),
        0xF0 => (3, 0x90, 0xBF),
        0xF1..=0xF3 => (3, 0x80, 0xBF),
        0xF4 => (3, 0x80, 0x8F),
        _ => return None,
    };
    Some(StringState::Sequence { left, low, high })
}

/// A leading surrogate must be followed by a trailing one, and a trailing one must follow a leading
/// one.
fn surrogate(value: u16, pair: Pair) -> Result<StringState, ErrorKind> {
    match (pair, value) {
        (Pair::First, 0xD800..=0xDBFF) => Ok(StringState::PartnerBackslash),
        (Pair::First, 0xDC00..=0xDFFF) => Err(ErrorKind::BadJson),
        (Pair::First, _) | (Pair::Second, 0xDC00..=0xDFFF) => Ok(StringState::Text),
        (Pair::Second, _) => Err(ErrorKind::BadJson),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;

    use super::*;
    use crate::text::utf8_shapes;

    /// The offset of the first invalid byte and the error; the closing quote follows `bytes`.
    fn verdict(bytes: &[u8]) -> Result<(), (usize, ErrorKind)> {
        let mut state = StringState::Text;
        for (at, byte) in bytes.iter().chain(b"\"").enumerate() {
            match state.step(*byte).map_err(|kind| (at, kind))? {
                InString::Goes(next) => state = next,
                InString::Ends => assert_eq!(at, bytes.len()),
            }
        }
        Ok(())
    }

    #[test]
    fn every_shape_of_four_bytes_is_judged_as_rust_judges_it() {
        utf8_shapes::each(|bytes| {
            let expected = core::str::from_utf8(bytes).map(drop).map_err(|error| {
                let lead = error.valid_up_to();
                // A byte that cannot begin a character is the invalid one itself; otherwise it is
                // the byte after those that may begin one.
                let begun = match error.error_len() {
                    Some(1) if !matches!(bytes[lead], 0xC2..=0xF4) => 0,
                    length => length.unwrap_or(bytes.len() - lead),
                };
                (lead + begun, ErrorKind::InvalidUtf8)
            });
            assert_eq!(verdict(bytes), expected, "{bytes:x?}");
        });
    }

    #[test]
    fn every_escape_of_four_digits_is_judged_alone_and_in_pairs_as_utf_16_is() {
        let sound = |units: &[u16]| char::decode_utf16(units.iter().copied()).all(|it| it.is_ok());
        let escape = |unit: u16| format!("\\u{unit:04x}");
        for unit in 0..=u16::MAX {
            assert_eq!(verdict(escape(unit).as_bytes()).is_ok(), sound(&[unit]), "{unit:#x}");
            for other in [0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0x41] {
                for [first, second] in [[unit, other], [other, unit]] {
                    let escapes = escape(first) + &escape(second);
                    let expected = sound(&[first, second]);
                    assert_eq!(verdict(escapes.as_bytes()).is_ok(), expected, "{escapes}");
                }
            }
        }
    }
}
