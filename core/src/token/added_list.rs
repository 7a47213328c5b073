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
/// `.amb`, and after `nanoembed.` in GGUF.
pub const ADDED_TOKENS: &str = "wordpiece_added_tokens";

/// More tokens than any model has added.
pub const MAX_ADDED: usize = 1 << 16;

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);

/// An item of the list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListedToken<'a> {
    /// The token.
    pub id: u32,
    /// How it was added.
    pub spelling: Escaped<'a>,
    /// True if it is found in the normalised text.
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
    let mut rest = Some(value.as_bytes());
    core::iter::from_fn(move || {
        loop {
            let (item, after) = match split_once(rest?, b' ') {
                Some((item, after)) => (item, Some(after)),
                None => (rest?, None),
            };
            rest = after;
            if !item.is_empty() {
                return Some(parse(item).ok_or(BAD));
            }
        }
    })
}

/// The parts before and after the first `byte`. Searches for characters would bring the search for
/// strings along, four kilobytes of code, and slices' own `split` could panic for all that the
/// linker knows.
fn split_once(bytes: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|other| *other == byte)?;
    Some((bytes.get(..at)?, bytes.get(at.checked_add(1)?..)?))
}

fn parse(item: &[u8]) -> Option<ListedToken<'_>> {
    let (id, rest) = split_once(item, b':')?;
    let (flags, spelling) = split_once(rest, b':')?;
    if flags != b"-" && flags.iter().any(|flag| !b"nwlrs".contains(flag)) {
        return None;
    }
    Some(ListedToken {
        id: number(id)?,
        spelling: Escaped(spelling),
        normalized: flags.contains(&b'n'),
        rules: AddedRules {
            strips_before: flags.contains(&b'l'),
            strips_after: flags.contains(&b'r'),
            single_word: flags.contains(&b'w'),
        },
    })
}

fn number(digits: &[u8]) -> Option<u32> {
    let (first, rest) = digits.split_first()?;
    rest.iter().try_fold(char::from(*first).to_digit(10)?, |number, digit| {
        number.checked_mul(10)?.checked_add(char::from(*digit).to_digit(10)?)
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
                let (digit, after) = rest.split_first()?;
                rest = after;
                char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
            };
            let digits = digit().zip(digit());
            byte = digits.map(|(high, low)| high << 4 | low).ok_or(BAD);
        }
        self.0 = rest;
        Some(byte)
    }

    #[inline(never)] // called in two places of a small module
    fn character(&mut self) -> Option<Result<char>> {
        let mut room = [0; 4];
        for length in 1..=room.len() {
            let byte = match self.byte() {
                Some(Ok(byte)) => byte,
                Some(Err(error)) => return Some(Err(error)),
                None if length == 1 => return None,
                None => break,
            };
            let (bytes, _) = room.split_at_mut_checked(length)?;
            *bytes.last_mut()? = byte;
            if let Ok(text) = core::str::from_utf8(bytes) {
                return text.chars().next().map(Ok);
            }
        }
        Some(Err(BAD))
    }
}

impl Iterator for Escaped<'_> {
    type Item = Result<char>;

    fn next(&mut self) -> Option<Self::Item> {
        self.character()
    }
}
