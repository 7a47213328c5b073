//! Added tokens of an encoder, as the metadata of a file lists them.
//!
//! The value of [`ADDED_TOKENS`] has an item for each token, with a space between:
//! `ID:FLAGS:SPELLING`, such as `30522:n:myproduct`. Flags are `n` (found in the normalised text),
//! `w` (a word of its own), `l` and `r` (takes the white space on its left and right), `s`
//! (special), or `-` for none. In a spelling every byte but letters, digits, `-`, `.` and `_` of
//! ASCII is `%` and two hexadecimal digits.

use super::added::AddedRules;
use crate::error::{Error, ErrorKind, Result};

/// The key of an encoder's added tokens: in the metadata of `.weights`, the configuration of
/// `.amb`, and behind `nanoembed.` in GGUF.
pub const ADDED_TOKENS: &str = "wordpiece_added_tokens";

/// More tokens than any model has added.
pub const MAX_ADDED: usize = 1 << 16;

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);

/// An item of the list.
#[derive(Clone, Debug)]
pub struct ListedToken<'a> {
    /// The token.
    pub id: u32,
    /// How it was added.
    pub spelling: Escaped<'a>,
    /// Whether it is found in the normalised text.
    pub normalized: bool,
    /// Where it is not found, and what it takes with it.
    pub rules: AddedRules,
}

/// The items of a list.
///
/// # Errors
///
/// [`ErrorKind::BadVocabulary`] in place of an item that is not written as this module says;
/// spellings are checked as they are read.
pub fn listed_tokens(value: &str) -> impl Iterator<Item = Result<ListedToken<'_>>> {
    // Searches for characters would bring the search for strings along, four kilobytes of code.
    let items = value.as_bytes().split(|byte| *byte == b' ').filter(|item| !item.is_empty());
    items.map(|item| parse(item).ok_or(BAD))
}

fn parse(item: &[u8]) -> Option<ListedToken<'_>> {
    let mut parts = item.splitn(3, |byte| *byte == b':');
    let (id, flags, spelling) = (parts.next()?, parts.next()?, parts.next()?);
    if flags != b"-" && flags.iter().any(|flag| !b"nwlrs".contains(flag)) {
        return None;
    }
    Some(ListedToken {
        id: core::str::from_utf8(id).ok()?.parse().ok()?,
        spelling: Escaped(spelling),
        normalized: flags.contains(&b'n'),
        rules: AddedRules {
            strips_before: flags.contains(&b'l'),
            strips_behind: flags.contains(&b'r'),
            single_word: flags.contains(&b'w'),
        },
    })
}

/// The characters of a spelling; [`ErrorKind::BadVocabulary`] where it is damaged or no UTF-8.
#[derive(Clone, Debug)]
pub struct Escaped<'a>(&'a [u8]);

impl Escaped<'_> {
    fn byte(&mut self) -> Option<Result<u8>> {
        let (first, mut rest) = self.0.split_first()?;
        let mut byte = Ok(*first);
        if *first == b'%' {
            let mut digit = || {
                let (digit, behind) = rest.split_first()?;
                rest = behind;
                char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
            };
            let digits = digit().zip(digit());
            byte = digits.map(|(high, low)| high << 4 | low).ok_or(BAD);
        }
        self.0 = rest;
        Some(byte)
    }

    fn character(&mut self, first: u8) -> Result<char> {
        let mut room = [first, 0, 0, 0];
        let length = match first {
            0..0x80 => 1,
            0x80..0xE0 => 2,
            0xE0..0xF0 => 3,
            0xF0.. => 4,
        };
        let room = room.get_mut(..length).unwrap_or_default();
        for place in room.iter_mut().skip(1) {
            *place = self.byte().ok_or(BAD)??;
        }
        let text = core::str::from_utf8(room).map_err(|_| BAD)?;
        text.chars().next().ok_or(BAD)
    }
}

impl Iterator for Escaped<'_> {
    type Item = Result<char>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.byte()?;
        Some(first.and_then(|first| self.character(first)))
    }
}
