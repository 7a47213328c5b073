//! Inside a string: escapes, surrogate pairs and UTF-8, byte by byte.

use crate::error::ErrorKind;

/// Where in a string the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringState {
    Text,
    /// Inside a UTF-8 sequence: bytes to come, and the range of the next.
    Sequence {
        left: u8,
        low: u8,
        high: u8,
    },
    /// Behind a backslash.
    Escape,
    /// Inside `\uXXXX`: digits to come, and those read.
    Hex {
        left: u8,
        value: u16,
        pair: Pair,
    },
    /// Behind a leading surrogate: its partner's backslash, then its `u`.
    PartnerBackslash,
    PartnerU,
}

/// Whether a `\uXXXX` must be the second of a pair.
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
    /// The state behind `byte`.
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

/// What a leading byte of UTF-8 asks for.
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
