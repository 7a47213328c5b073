//! Byte primitives: what the grammars of all formats are made of.
//!
//! Every function is a nom parser in the *streaming* flavour: with too few bytes it answers
//! `Incomplete`, never an error, so the same grammar serves bytes that arrive and bytes that are
//! all there. Integers are little-endian in every format we read, and no alignment is assumed
//! anywhere.

use nom::{Err, IResult, Needed};

use crate::error::{Error, ErrorKind};

/// The result of a grammar function: the rest of the input and the item.
pub(crate) type Parse<'a, T> = IResult<&'a [u8], T, Cause<'a>>;

/// Why an item was refused: the input from the offending field on, and the cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cause<'a> {
    pub(crate) at: &'a [u8],
    pub(crate) kind: ErrorKind,
}

impl<'a> nom::error::ParseError<&'a [u8]> for Cause<'a> {
    fn from_error_kind(at: &'a [u8], _: nom::error::ErrorKind) -> Self {
        Self { at, kind: ErrorKind::SizeMismatch }
    }

    fn append(_: &'a [u8], _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

/// Refuses the input at `at` for `kind`.
pub(crate) fn refuse<T>(at: &[u8], kind: ErrorKind) -> Parse<'_, T> {
    Err(Err::Failure(Cause { at, kind }))
}

/// An item with its length in bytes, or how many bytes are needed in all to parse it.
pub(crate) enum Item<T> {
    Parsed { item: T, used: usize },
    NeedMore { at_least: usize },
}

/// Runs one grammar function on `input`, whose first byte lies at the absolute `offset`.
#[inline]
pub(crate) fn parse<'a, T>(
    grammar: impl FnOnce(&'a [u8]) -> Parse<'a, T>,
    input: &'a [u8],
    offset: u64,
) -> Result<Item<T>, Error> {
    match grammar(input) {
        Ok((rest, item)) => Ok(Item::Parsed { item, used: input.len().saturating_sub(rest.len()) }),
        Err(Err::Incomplete(needed)) => {
            let more = match needed {
                Needed::Size(size) => size.get(),
                Needed::Unknown => 1,
            };
            Ok(Item::NeedMore { at_least: input.len().saturating_add(more) })
        }
        Err(Err::Error(cause) | Err::Failure(cause)) => {
            let before = input.len().saturating_sub(cause.at.len()) as u64;
            Err(Error::new(offset.saturating_add(before), cause.kind))
        }
    }
}

/// As [`parse`], for an item that must end at or before the absolute offset `end`.
#[allow(dead_code)] // not every format has such items
pub(crate) fn bounded<'a, T>(
    grammar: impl FnOnce(&'a [u8]) -> Parse<'a, T>,
    input: &'a [u8],
    offset: u64,
    end: u64,
) -> Result<Item<T>, Error> {
    match parse(grammar, within(input, offset, end), offset)? {
        Item::NeedMore { at_least } if at_least as u64 > end.saturating_sub(offset) => {
            Err(Error::new(offset, ErrorKind::OutOfBounds))
        }
        item => Ok(item),
    }
}

/// Passes over as many items as are there whole, at most `most`, each ending at or before the
/// absolute offset `end`: how many, and their bytes. One that is cut or refused is not passed over.
#[allow(dead_code)] // not every format has such items
pub(crate) fn pass<'a, T>(
    grammar: impl Fn(&'a [u8]) -> Parse<'a, T>,
    input: &'a [u8],
    offset: u64,
    end: u64,
    most: u32,
) -> (u32, usize) {
    let whole = within(input, offset, end);
    let (mut rest, mut count) = (whole, 0);
    while count < most
        && let Ok((behind, _)) = grammar(rest)
    {
        (rest, count) = (behind, count.saturating_add(1));
    }
    (count, whole.len().saturating_sub(rest.len()))
}

/// The part of `input` that lies before the absolute offset `end`.
pub(crate) fn within(input: &[u8], offset: u64, end: u64) -> &[u8] {
    let room = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
    input.get(..room).unwrap_or(input)
}

/// The next `length` bytes, borrowed.
#[inline]
pub(crate) fn take(length: usize) -> impl Fn(&[u8]) -> Parse<'_, &[u8]> {
    move |input| match input.split_at_checked(length) {
        Some((taken, rest)) => Ok((rest, taken)),
        None => Err(Err::Incomplete(Needed::new(length.saturating_sub(input.len())))),
    }
}

/// The next `N` bytes as an array.
#[inline]
pub(crate) fn array<const N: usize>(input: &[u8]) -> Parse<'_, [u8; N]> {
    match input.split_first_chunk::<N>() {
        Some((taken, rest)) => Ok((rest, *taken)),
        None => Err(Err::Incomplete(Needed::new(N.saturating_sub(input.len())))),
    }
}

macro_rules! little_endian {
    ($($name:ident $type:ty;)+) => {$(
        #[doc = concat!("A little-endian `", stringify!($type), "`.")]
        #[inline]
        #[allow(dead_code)] // not every format has numbers of every size
        pub(crate) fn $name(input: &[u8]) -> Parse<'_, $type> {
            let (rest, bytes) = array(input)?;
            Ok((rest, <$type>::from_le_bytes(bytes)))
        }
    )+};
}

little_endian! {
    le_u8 u8;
    le_u16 u16;
    le_u32 u32;
    le_u64 u64;
}

/// The next `length` bytes as UTF-8.
#[inline]
pub(crate) fn utf8(length: usize) -> impl Fn(&[u8]) -> Parse<'_, &str> {
    move |input| {
        let (rest, bytes) = take(length)(input)?;
        match core::str::from_utf8(bytes) {
            Ok(text) => Ok((rest, text)),
            Err(error) => {
                let at = input.get(error.valid_up_to()..).unwrap_or(input);
                refuse(at, ErrorKind::InvalidUtf8)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_bytes_say_how_many_are_needed_in_all() {
        let Ok(Item::NeedMore { at_least }) = parse(le_u64, &[1, 2, 3], 40) else { panic!() };
        assert_eq!(at_least, 8);
    }

    #[test]
    fn a_broken_string_is_refused_at_its_first_bad_byte() {
        let Err(error) = parse(utf8(4), b"ab\xffd", 40) else { panic!() };
        assert_eq!(error, Error::new(42, ErrorKind::InvalidUtf8));
    }
}
