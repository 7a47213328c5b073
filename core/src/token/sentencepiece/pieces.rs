//! The pieces of a model: where each lies, its score and its kind.

use super::proto::Fields;
use super::spec::{Place, place};
use crate::error::{Error, ErrorKind, Result};

/// The kind of a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PieceKind {
    /// A part of texts.
    #[default]
    Normal,
    /// Stands for what has no piece.
    Unknown,
    /// Never spelled by a text, such as `<s>`.
    Control,
    /// Found in a text before anything else.
    UserDefined,
    /// Not given out.
    Unused,
    /// One byte, such as `<0x0A>`.
    Byte,
}

impl PieceKind {
    /// Every kind, in the order of the codes.
    pub const ALL: [Self; 6] =
        [Self::Normal, Self::Unknown, Self::Control, Self::UserDefined, Self::Unused, Self::Byte];

    /// The kind's number, in models as in GGUF files.
    #[must_use]
    pub const fn code(self) -> u64 {
        match self {
            Self::Normal => 1,
            Self::Unknown => 2,
            Self::Control => 3,
            Self::UserDefined => 4,
            Self::Unused => 5,
            Self::Byte => 6,
        }
    }

    /// The kind of a number.
    #[must_use]
    pub const fn from_code(code: u64) -> Option<Self> {
        Some(match code {
            1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => return None,
        })
    }
}

/// A piece's entry in the table that the caller lends memory for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Piece {
    start: u32,
    pub(super) score: f32,
    bytes: u16,
    pub(super) kind: PieceKind,
}

/// Pieces of as many bytes and more are refused, as by `sentencepiece`.
pub(super) const TOO_LONG: u16 = 8000;

impl Piece {
    /// Reads one entry of a model that lies at `base`.
    ///
    /// # Errors
    ///
    /// `bad_field` for a missing, empty or too long piece, a type that there is not, or a score
    /// that is no finite number; `invalid_utf8`.
    pub(super) fn read(message: (&[u8], u64), base: u64) -> Result<Self> {
        let mut piece = Self::default();
        let mut spelling = None;
        for field in Fields::new(message) {
            let field = field?;
            let bad = Error::new(field.offset, ErrorKind::BadField);
            match field.number {
                1 => {
                    let (bytes, at) = field.bytes()?;
                    let invalid = |error: core::str::Utf8Error| {
                        let at = at.saturating_add(error.valid_up_to() as u64);
                        Error::new(at, ErrorKind::InvalidUtf8)
                    };
                    core::str::from_utf8(bytes).map_err(invalid)?;
                    spelling = Some(place(&field, base)?);
                }
                2 => piece.score = Some(field.float()?).filter(|it| it.is_finite()).ok_or(bad)?,
                3 => piece.kind = PieceKind::from_code(field.integer()?).ok_or(bad)?,
                _ => {}
            }
        }
        let bad = Error::new(message.1, ErrorKind::BadField);
        let fits = |place: &Place| place.bytes > 0 && place.bytes < TOO_LONG.into();
        let spelling = spelling.filter(fits).ok_or(bad)?;
        piece.start = spelling.start;
        piece.bytes = u16::try_from(spelling.bytes).map_err(|_| bad)?;
        Ok(piece)
    }

    /// The bytes of the piece in its `model`.
    pub(super) fn spelling<'a>(&self, model: &'a [u8]) -> &'a [u8] {
        let start = self.start as usize;
        model.get(start..start.saturating_add(self.bytes.into())).unwrap_or_default()
    }
}

/// The byte that a piece such as `<0x0A>` stands for.
#[must_use]
pub fn byte_of(spelling: &[u8]) -> Option<u8> {
    let &[b'<', b'0', b'x', high, low, b'>'] = spelling else { return None };
    let digit = |c: u8| match c {
        b'0'..=b'9' => c.checked_sub(b'0'),
        b'A'..=b'F' => c.checked_sub(b'A')?.checked_add(10),
        _ => None,
    };
    Some(digit(high)? << 4 | digit(low)?)
}

/// The piece of a byte, such as `<0x0A>`.
#[must_use]
pub fn byte_token(byte: u8) -> [u8; 6] {
    let digit = |value: u8| match value {
        0..10 => value.saturating_add(b'0'),
        _ => value.saturating_add(b'A' - 10),
    };
    [b'<', b'0', b'x', digit(byte >> 4), digit(byte & 15), b'>']
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_spelled_in_upper_case() {
        #[cfg(feature = "families")]
        assert!((0..=u8::MAX).all(|byte| byte_of(&byte_token(byte)) == Some(byte)));
        assert_eq!(byte_of(b"<0x0A>"), Some(10));
        assert_eq!(byte_of(b"<0xFF>"), Some(255));
        for other in [&b"<0xff>"[..], b"<0x0A", b"<0x0AA>", b"<s>", b"<0X0A>"] {
            assert_eq!(byte_of(other), None);
        }
    }
}
