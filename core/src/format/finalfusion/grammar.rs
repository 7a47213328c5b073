//! The items of a finalfusion file, as nom streaming functions with a known maximum size each.

use nom::Parser;
use nom::sequence::{preceded, terminated};

use crate::bytes::{
    Parse, array, item, le_u32, le_u64, length_data, length_text, map, map_res, verify,
};
use crate::error::ErrorKind;
use crate::subword::{Bracket, MAX_BRACKET_BYTES, Subwords, WordVocabulary};

/// The first four bytes.
pub const MAGIC: &[u8; 4] = b"FiFu";

/// The longest word or n-gram in bytes. The format allows 4 GiB; real words have at most about a
/// hundred.
pub const MAX_WORD_BYTES: usize = 65_536;

/// The largest item of the grammar, an n-gram with its index. A carry buffer of this size always
/// suffices for [`read::Push`](crate::read::Push).
pub const MAX_ITEM_BYTES: usize = 4 + MAX_WORD_BYTES + 8;

pub(super) const CHUNK_HEADER_BYTES: usize = 12;

/// Identifiers of chunks. In the reference implementation, 0 denotes the header, and it is never
/// written.
pub(super) mod id {
    pub(in super::super) const SIMPLE_VOCABULARY: u32 = 1;
    pub(in super::super) const ARRAY: u32 = 2;
    pub(in super::super) const BUCKET_VOCABULARY: u32 = 3;
    pub(in super::super) const QUANTIZED: u32 = 4;
    pub(in super::super) const METADATA: u32 = 5;
    pub(in super::super) const NORMS: u32 = 6;
    pub(in super::super) const FASTTEXT_VOCABULARY: u32 = 7;
    pub(in super::super) const EXPLICIT_VOCABULARY: u32 = 8;
    pub(in super::super) const FLORET_VOCABULARY: u32 = 9;

    pub(in super::super) const fn is_vocabulary(id: u32) -> bool {
        matches!(
            id,
            SIMPLE_VOCABULARY
                | BUCKET_VOCABULARY
                | FASTTEXT_VOCABULARY
                | EXPLICIT_VOCABULARY
                | FLORET_VOCABULARY
        )
    }

    pub(in super::super) const fn is_storage(id: u32) -> bool {
        matches!(id, ARRAY | QUANTIZED)
    }

    pub(in super::super) const fn is_known(id: u32) -> bool {
        is_vocabulary(id) || is_storage(id) || matches!(id, METADATA | NORMS)
    }
}

/// Codes of element types; the specification reserves others, which are unused.
pub(super) const TYPE_U8: u32 = 1;
pub(super) const TYPE_F32: u32 = 10;

/// The file's header up to the list of chunks: their number.
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | magic number `FiFu` | 4 bytes |
/// | 4 | version 0 | `u32` |
/// | 8 | number of chunks, at least 1 | `u32` |
pub(super) fn file_header(input: &[u8]) -> Parse<'_, u32> {
    let magic = verify(array::<4>, |magic| magic == MAGIC, ErrorKind::BadMagic);
    let version = verify(le_u32, |&version| version == 0, ErrorKind::UnsupportedVersion);
    let chunks = verify(le_u32, |&chunks| chunks > 0, ErrorKind::BadCount);
    preceded((magic, version), chunks).parse(input)
}

/// The header of every chunk: its identifier, and the declared length of the rest.
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | identifier | `u32` |
/// | 4 | bytes of the chunk from here on | `u64` |
pub(super) fn chunk_header(input: &[u8]) -> Parse<'_, (u32, u64)> {
    (le_u32, le_u64).parse(input)
}

/// The order of fields in a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As programs write them.
    Written,
    /// As the specification prints them.
    Printed,
}

/// The fields of the vocabulary chunk `id` that precede its words.
pub(super) fn vocabulary(id: u32) -> impl Fn(&[u8]) -> Parse<'_, (WordVocabulary, Order)> {
    move |input| {
        let (rest, vocabulary) = match id {
            id::BUCKET_VOCABULARY | id::FASTTEXT_VOCABULARY => {
                return hashed_vocabulary(input, id);
            }
            id::EXPLICIT_VOCABULARY => explicit_vocabulary(input),
            id::FLORET_VOCABULARY => floret_vocabulary(input),
            _ => simple_vocabulary(input),
        }?;
        Ok((rest, (vocabulary, Order::Written)))
    }
}

/// True if a vocabulary begins with the lengths of n-grams, as the specification prints it: read in
/// the order of programs, its number of words would be too large.
fn begins_with_lengths(input: &[u8]) -> Parse<'_, bool> {
    let (rest, (min_n, max_n)) = (le_u32, le_u32).parse(input)?;
    Ok((rest, min_n > 0 && max_n >= min_n))
}

/// | offset | field | type |
/// |---|---|---|
/// | 0 | number of words | `u64` |
fn simple_vocabulary(input: &[u8]) -> Parse<'_, WordVocabulary> {
    let (rest, words) = count(input)?;
    Ok((rest, with_default_brackets(words, Subwords::None, (0, 0))))
}

/// | offset | field | type |
/// |---|---|---|
/// | 0 | number of words | `u64` |
/// | 8 | least and greatest length of n-grams | `u32` each |
/// | 16 | exponent of the number of buckets, or their number (fastText) | `u32` |
///
/// The specification prints the number of words last.
fn hashed_vocabulary(input: &[u8], id: u32) -> Parse<'_, (WordVocabulary, Order)> {
    let (_, is_printed) = begins_with_lengths(input)?;
    if is_printed {
        let (rest, (lengths, buckets, words)) = (ngram_lengths, le_u32, le_u64).parse(input)?;
        if let (Ok(subwords), Ok(words)) = (hashed_subwords(id, buckets), u32::try_from(words)) {
            return Ok((rest, (with_default_brackets(words, subwords, lengths), Order::Printed)));
        }
    }
    let (rest, words) = count(input)?;
    let (rest, lengths) = ngram_lengths(rest)?;
    let (rest, subwords) = map_res(le_u32, |buckets| hashed_subwords(id, buckets))(rest)?;
    Ok((rest, (with_default_brackets(words, subwords, lengths), Order::Written)))
}

fn hashed_subwords(id: u32, buckets: u32) -> Result<Subwords, ErrorKind> {
    match id {
        id::BUCKET_VOCABULARY if buckets < 64 => Ok(Subwords::Buckets { exponent: buckets }),
        id::FASTTEXT_VOCABULARY if (1..=i32::MAX.unsigned_abs()).contains(&buckets) => {
            Ok(Subwords::FastText { buckets })
        }
        _ => Err(ErrorKind::BadVocabulary),
    }
}

/// | offset | field | type |
/// |---|---|---|
/// | 0 | number of words | `u64` |
/// | 8 | number of n-grams | `u64` |
/// | 16 | least and greatest length of n-grams | `u32` each |
///
/// The specification prints the lengths first, then the number of words and the words, then the
/// number of n-grams and the n-grams without indices. That order is rejected: no program is known
/// to write it.
fn explicit_vocabulary(input: &[u8]) -> Parse<'_, WordVocabulary> {
    let (rest, is_printed) = begins_with_lengths(input)?;
    if is_printed {
        let (_, words) = le_u64(rest)?;
        let kind = match u32::try_from(words) {
            Ok(_) => ErrorKind::UnsupportedVersion,
            Err(_) => ErrorKind::BadCount,
        };
        let (_, ()) = map_res(le_u32, |_| Err(kind))(input)?;
    }
    let (rest, words) = count(input)?;
    let (rest, ngrams) = count(rest)?;
    let (rest, lengths) = ngram_lengths(rest)?;
    Ok((rest, with_default_brackets(words, Subwords::Explicit { ngrams }, lengths)))
}

/// | offset | field | type |
/// |---|---|---|
/// | 0 | least and greatest length of n-grams | `u32` each |
/// | 8 | number of buckets, at least 1 | `u64` |
/// | 16 | number of hashes, 1 to 4 | `u32` |
/// | 20 | seed of the hash | `u32` |
/// | 24 | opening and closing bracket of a word | bracket each |
fn floret_vocabulary(input: &[u8]) -> Parse<'_, WordVocabulary> {
    let bad = ErrorKind::BadVocabulary;
    let (rest, (min_n, max_n)) = ngram_lengths(input)?;
    let (rest, buckets) = verify(le_u64, |&buckets| buckets > 0, bad)(rest)?;
    let (rest, hashes) = verify(le_u32, |hashes| (1..=4).contains(hashes), bad)(rest)?;
    let (rest, seed) = le_u32(rest)?;
    let (rest, begin) = bracket(rest)?;
    let (rest, end) = bracket(rest)?;
    let subwords = Subwords::Floret { buckets, hashes, seed };
    Ok((rest, WordVocabulary { words: 0, subwords, min_n, max_n, begin, end }))
}

fn with_default_brackets(
    words: u32,
    subwords: Subwords,
    (min_n, max_n): (u32, u32),
) -> WordVocabulary {
    WordVocabulary { words, subwords, min_n, max_n, begin: Bracket::BEGIN, end: Bracket::END }
}

/// A 64-bit number of words or n-grams. More than 2³² of them would fill 16 GiB with their lengths
/// alone.
fn count(input: &[u8]) -> Parse<'_, u32> {
    map_res(le_u64, |count| u32::try_from(count).map_err(|_| ErrorKind::BadCount))(input)
}

/// | offset | field | type |
/// |---|---|---|
/// | 0 | least length, at least 1 | `u32` |
/// | 4 | greatest length, not below the least | `u32` |
fn ngram_lengths(input: &[u8]) -> Parse<'_, (u32, u32)> {
    let (rest, min_n) = verify(le_u32, |&min_n| min_n > 0, ErrorKind::BadVocabulary)(input)?;
    let (rest, max_n) = verify(le_u32, |&max_n| max_n >= min_n, ErrorKind::BadVocabulary)(rest)?;
    Ok((rest, (min_n, max_n)))
}

/// | offset | field | type |
/// |---|---|---|
/// | 0 | bytes of the bracket | `u32` |
/// | 4 | bracket | UTF-8 |
fn bracket(input: &[u8]) -> Parse<'_, Bracket> {
    let fits = |&bytes: &u32| bytes as usize <= MAX_BRACKET_BYTES;
    let text = length_text(verify(le_u32, fits, ErrorKind::NameTooLong));
    map_res(text, |text| Bracket::new(text).ok_or(ErrorKind::NameTooLong))(input)
}

/// | offset | field | type |
/// |---|---|---|
/// | 0 | bytes of the word | `u32` |
/// | 4 | word | bytes |
#[inline]
pub(super) fn word(input: &[u8]) -> Parse<'_, &[u8]> {
    let fits = |&bytes: &u32| bytes as usize <= MAX_WORD_BYTES;
    length_data(verify(le_u32, fits, ErrorKind::NameTooLong))(input)
}

/// An n-gram and its index, which the specification omits.
///
/// | field | type |
/// |---|---|
/// | n-gram | word |
/// | index | `u64` |
#[inline]
pub(super) fn ngram(input: &[u8]) -> Parse<'_, (&[u8], u64)> {
    (word, le_u64).parse(input)
}

/// A word, or an n-gram and its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) index: u64,
}

/// A word's or an n-gram's entry.
#[inline]
pub(crate) fn entry(has_index: bool) -> impl Fn(&[u8]) -> Parse<'_, Entry<'_>> {
    move |input| match has_index {
        true => ngram.map(|(bytes, index)| Entry { bytes, index }).parse(input),
        false => word.map(|bytes| Entry { bytes, index: 0 }).parse(input),
    }
}

/// The largest number of columns of a matrix without rows. That of other matrices is bounded by the
/// file's size.
pub(super) const MAX_EMPTY_COLS: u32 = 16_384;

/// The fields of an f32 matrix before its padding: rows and columns.
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | number of rows | `u64` |
/// | 8 | number of columns | `u32` |
/// | 12 | type of the elements, [`TYPE_F32`] | `u32` |
pub(super) fn array_header(input: &[u8]) -> Parse<'_, (u64, u32)> {
    let (rest, rows) = le_u64(input)?;
    let fits = |&cols: &u32| rows > 0 || cols <= MAX_EMPTY_COLS;
    terminated(verify(le_u32, fits, ErrorKind::BadDimensions), element_type(TYPE_F32))
        .map(|cols| (rows, cols))
        .parse(rest)
}

/// The fields of a quantised matrix before its padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QuantizedHeader {
    pub(super) projection: bool,
    pub(super) norms: bool,
    pub(super) codes_per_row: u32,
    pub(super) cols: u32,
    pub(super) centroids: u32,
    pub(super) rows: u64,
}

/// The offset of the number of rows in a quantised chunk's payload.
pub(super) const QUANTIZED_ROWS_OFFSET: u64 = 20;

/// | offset | field | type |
/// |---|---|---|
/// | 0 | whether there is a projection | `u32` |
/// | 4 | whether there are norms | `u32` |
/// | 8 | number of codes per row, at least 1 | `u32` |
/// | 12 | number of columns, a multiple of the codes per row | `u32` |
/// | 16 | number of centroids, 1 to 256 | `u32` |
/// | 20 | number of rows | `u64` |
/// | 28 | type of the codes, [`TYPE_U8`] | `u32` |
/// | 32 | type of the other elements, [`TYPE_F32`] | `u32` |
pub(super) fn quantized_header(input: &[u8]) -> Parse<'_, QuantizedHeader> {
    let bad = ErrorKind::BadDimensions;
    let (rest, header) = item!(
        input,
        QuantizedHeader {
            projection: map(le_u32, |flag| flag != 0),
            norms: map(le_u32, |flag| flag != 0),
            codes_per_row: verify(le_u32, |&codes| codes > 0, bad),
            cols: verify(le_u32, |cols: &u32| cols.is_multiple_of(codes_per_row), bad),
            // A code is one byte, so no code could refer to a 257th centroid.
            centroids: verify(le_u32, |centroids| (1..=256).contains(centroids), bad),
            rows: le_u64,
        }
    )?;
    let (rest, ()) = element_type(TYPE_U8)(rest)?;
    let (rest, ()) = element_type(TYPE_F32)(rest)?;
    Ok((rest, header))
}

/// The fields of the norms before their padding: their number.
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | number of norms | `u64` |
/// | 8 | type of the norms, [`TYPE_F32`] | `u32` |
pub(super) fn norms_header(input: &[u8]) -> Parse<'_, u64> {
    terminated(le_u64, element_type(TYPE_F32)).parse(input)
}

fn element_type<'a>(expected: u32) -> impl FnMut(&'a [u8]) -> Parse<'a, ()> {
    map_res(le_u32, move |found| match found {
        found if found == expected => Ok(()),
        // The twelve types that the specification prints, 8 to 128 bits; programs write only two.
        0..=11 => Err(ErrorKind::UnsupportedDtype),
        _ => Err(ErrorKind::BadDtype),
    })
}

/// The padding before bulk data whose type fields end at the absolute `offset`: one to four bytes,
/// never zero.
pub(super) const fn padding(offset: u64) -> u64 {
    4_u64.saturating_sub(offset % 4)
}

/// The padding as the specification prints it: none at a multiple of four.
pub(super) const fn printed_padding(offset: u64) -> u64 {
    padding(offset) % 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aligned_position_gets_four_bytes_of_padding() {
        assert_eq!([123, 124, 125, 126, 428].map(padding), [1, 4, 3, 2, 4]);
        assert_eq!([123, 124, 125, 126, 428].map(printed_padding), [1, 0, 3, 2, 0]);
    }
}
