//! Byte primitives, of which the grammars of all formats are made.
//!
//! Every function is a nom parser in the *streaming* flavour: with too few bytes it answers
//! `Incomplete`, never an error, so the same grammar serves bytes that arrive in chunks and bytes
//! that are complete. Integers are little-endian in every format we read, and no alignment is
//! assumed anywhere.
//!
//! A grammar lists an item's fields in the order of the format's table: a tuple of parsers, or
//! [`item!`](item). Requirements on a field are stated where it is listed, by [`verify`] or
//! [`map_res`], which reject the item at that field with an [`ErrorKind`]. They take functions
//! where nom's take parsers: a function that becomes a parser matches its errors once more, which
//! costs code for every field.

use nom::error::ParseError;
use nom::{Err, IResult, Needed, ToUsize};

use crate::error::{Error, ErrorKind};

/// The result of a grammar function: the rest of the input and the item.
pub(crate) type Parse<'a, T> = IResult<&'a [u8], T, Cause>;

/// The reason an item was rejected: the number of input bytes left from the offending field on, and
/// the error kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cause {
    left: usize,
    kind: ErrorKind,
}

impl ParseError<&[u8]> for Cause {
    fn from_error_kind(at: &[u8], _: nom::error::ErrorKind) -> Self {
        Self { left: at.len(), kind: ErrorKind::SizeMismatch }
    }

    fn append(_: &[u8], _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

/// Rejects the input at `at` with `kind`.
pub(crate) fn refuse<T>(at: &[u8], kind: ErrorKind) -> Parse<'_, T> {
    Err(Err::Failure(Cause { left: at.len(), kind }))
}

/// An item with its length in bytes, or the total number of bytes needed to parse it.
pub(crate) enum Item<T> {
    Parsed { item: T, used: usize },
    NeedMore { at_least: usize },
}

/// Runs one grammar function on `input`, whose first byte is at the absolute `offset`.
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
            let before = input.len().saturating_sub(cause.left) as u64;
            Err(Error::new(offset.saturating_add(before), cause.kind))
        }
    }
}

/// Parses again the item at `offset` of a file in memory; returns it and its length.
#[allow(dead_code)] // not every format is read again
pub(crate) fn parsed_at<'a, T>(
    grammar: impl FnOnce(&'a [u8]) -> Parse<'a, T>,
    file: &'a [u8],
    offset: u64,
) -> Option<(T, u64)> {
    let input = file.get(usize::try_from(offset).ok()?..)?;
    match parse(grammar, input, offset) {
        Ok(Item::Parsed { item, used }) => Some((item, used as u64)),
        _ => None,
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

/// Skips complete items, at most `most`, each ending at or before the absolute offset `end`;
/// returns their number and their bytes. Stops at an item that is cut or invalid.
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
        && let Ok((after, _)) = grammar(rest)
    {
        (rest, count) = (after, count.saturating_add(1));
    }
    (count, whole.len().saturating_sub(rest.len()))
}

/// The part of `input` up to the absolute offset `end`.
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

/// An item with its fields in the order of the format's table, each with its parser, which may
/// depend on the fields before it.
#[allow(unused_macros)] // not every format has such items
macro_rules! item {
    ($input:expr, $item:ident { $($field:ident: $parser:expr),+ $(,)? }) => {{
        let rest = $input;
        $(let (rest, $field) = $parser(rest)?;)+
        $crate::bytes::Parse::Ok((rest, $item { $($field),+ }))
    }};
}
#[allow(unused_imports)] // not every format has such items
pub(crate) use item;

/// The value of `field` if it `holds`; otherwise rejects the field with `kind`.
#[inline]
#[allow(dead_code)] // not every format has such fields
pub(crate) fn verify<'a, T>(
    mut field: impl FnMut(&'a [u8]) -> Parse<'a, T>,
    holds: impl Fn(&T) -> bool,
    kind: ErrorKind,
) -> impl FnMut(&'a [u8]) -> Parse<'a, T> {
    move |input| match field(input)? {
        (rest, value) if holds(&value) => Ok((rest, value)),
        _ => refuse(input, kind),
    }
}

/// The bytes `tag`. A byte that differs is rejected with `kind`, however few have arrived.
#[inline]
#[allow(dead_code)] // not every format begins with such bytes
pub(crate) fn tag(tag: &'static [u8], kind: ErrorKind) -> impl Fn(&[u8]) -> Parse<'_, &[u8]> {
    move |input| {
        let known = input.len().min(tag.len());
        match input.get(..known) == tag.get(..known) {
            true => take(tag.len())(input),
            false => refuse(input, kind),
        }
    }
}

/// The value of `field`, mapped by `of`.
#[inline]
#[allow(dead_code)] // not every format has such fields
pub(crate) fn map<'a, T, U>(
    mut field: impl FnMut(&'a [u8]) -> Parse<'a, T>,
    of: impl Fn(T) -> U,
) -> impl FnMut(&'a [u8]) -> Parse<'a, U> {
    move |input| {
        let (rest, value) = field(input)?;
        Ok((rest, of(value)))
    }
}

/// The value of `field`, mapped by `of`; rejects the field with the kind that `of` returns.
#[inline]
#[allow(dead_code)] // not every format has such fields
pub(crate) fn map_res<'a, T, U>(
    mut field: impl FnMut(&'a [u8]) -> Parse<'a, T>,
    of: impl Fn(T) -> Result<U, ErrorKind>,
) -> impl FnMut(&'a [u8]) -> Parse<'a, U> {
    move |input| {
        let (rest, value) = field(input)?;
        match of(value) {
            Ok(item) => Ok((rest, item)),
            Err(kind) => refuse(input, kind),
        }
    }
}

/// `N` fields of one type.
#[inline]
#[allow(dead_code)] // not every format has such fields
pub(crate) fn repeated<'a, T: Copy + Default, const N: usize>(
    mut field: impl FnMut(&'a [u8]) -> Parse<'a, T>,
) -> impl FnMut(&'a [u8]) -> Parse<'a, [T; N]> {
    move |input| {
        let (mut rest, mut values) = (input, [T::default(); N]);
        for value in &mut values {
            (rest, *value) = field(rest)?;
        }
        Ok((rest, values))
    }
}

/// A count, then that many of `field`; a count above `N` is rejected at its own offset.
#[inline]
#[allow(dead_code)] // not every format has such fields
pub(crate) fn length_count<'a, L: ToUsize, T: Into<u64>, const N: usize>(
    mut count: impl FnMut(&'a [u8]) -> Parse<'a, L>,
    mut field: impl FnMut(&'a [u8]) -> Parse<'a, T>,
) -> impl FnMut(&'a [u8]) -> Parse<'a, ([u64; N], usize)> {
    move |input| {
        let (mut rest, count) = count(input)?;
        let (count, mut values) = (count.to_usize(), [0; N]);
        let Some(used) = values.get_mut(..count) else {
            return refuse(input, ErrorKind::BadDimensions);
        };
        for value in used {
            let found;
            (rest, found) = field(rest)?;
            *value = found.into();
        }
        Ok((rest, (values, count)))
    }
}

/// Bytes preceded by their `length`.
#[inline]
#[allow(dead_code)] // not every format has such fields
pub(crate) fn length_data<'a, L: ToUsize>(
    mut length: impl FnMut(&'a [u8]) -> Parse<'a, L>,
) -> impl FnMut(&'a [u8]) -> Parse<'a, &'a [u8]> {
    move |input| {
        let (rest, bytes) = length(input)?;
        take(bytes.to_usize())(rest)
    }
}

/// UTF-8 preceded by its `length` in bytes.
#[inline]
#[allow(dead_code)] // not every format has such strings
pub(crate) fn length_text<'a, L: ToUsize>(
    mut length: impl FnMut(&'a [u8]) -> Parse<'a, L>,
) -> impl FnMut(&'a [u8]) -> Parse<'a, &'a str> {
    move |input| {
        let (rest, bytes) = length(input)?;
        utf8(bytes.to_usize())(rest)
    }
}

/// The next `length` bytes as UTF-8.
#[inline]
pub(crate) fn utf8(length: usize) -> impl Fn(&[u8]) -> Parse<'_, &str> {
    move |input| {
        let (rest, bytes) = take(length)(input)?;
        match core::str::from_utf8(bytes) {
            Ok(text) => Ok((rest, text)),
            Err(error) => {
                let left = input.len().saturating_sub(error.valid_up_to());
                Err(Err::Failure(Cause { left, kind: ErrorKind::InvalidUtf8 }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use nom::Parser;

    use super::*;

    #[test]
    fn too_few_bytes_say_how_many_are_needed_in_all() {
        let Ok(Item::NeedMore { at_least }) = parse(le_u64, &[1, 2, 3], 40) else { panic!() };
        assert_eq!(at_least, 8);
    }

    #[test]
    fn a_value_that_does_not_hold_is_refused_at_its_own_field() {
        let second = verify(le_u16, |&value| value > 0, ErrorKind::BadField);
        let Err(error) = parse(|input| (le_u16, second).parse(input), &[1, 0, 0, 0], 40) else {
            panic!()
        };
        assert_eq!(error, Error::new(42, ErrorKind::BadField));
        let third = map_res(le_u8, |value| value.checked_sub(1).ok_or(ErrorKind::BadCount));
        let Err(error) = parse(|input| (le_u16, third).parse(input), &[1, 0, 0], 40) else {
            panic!()
        };
        assert_eq!(error, Error::new(42, ErrorKind::BadCount));
    }

    #[test]
    fn a_tag_is_refused_before_all_of_it_has_arrived() {
        let magic = tag(b"GGUF", ErrorKind::BadMagic);
        let Ok(Item::NeedMore { at_least: 4 }) = parse(&magic, b"GG", 0) else { panic!() };
        let Err(error) = parse(&magic, b"GX", 0) else { panic!() };
        assert_eq!(error, Error::new(0, ErrorKind::BadMagic));
    }

    #[test]
    fn more_fields_than_there_is_room_for_are_refused_at_their_number() {
        let mut sizes = length_count::<_, _, 2>(le_u8, le_u16);
        let Ok((_, found)) = sizes(&[1, 7, 0]) else { panic!() };
        assert_eq!(found, ([7, 0], 1));
        let Err(error) = parse(|input| (le_u8, &mut sizes).parse(input), &[0, 3], 40) else {
            panic!()
        };
        assert_eq!(error, Error::new(41, ErrorKind::BadDimensions));
    }

    #[test]
    fn a_broken_string_is_refused_at_its_first_bad_byte() {
        let Err(error) = parse(utf8(4), b"ab\xffd", 40) else { panic!() };
        assert_eq!(error, Error::new(42, ErrorKind::InvalidUtf8));
    }
}
