//! The items of a finalfusion file, as nom streaming functions with a known maximum size each.

use crate::bytes::{Cause, Parse, array, le_u32, le_u64, refuse, take, utf8};
use crate::error::ErrorKind;
use crate::subword::{Bracket, MAX_BRACKET_BYTES, Subwords, WordVocabulary};

/// The first four bytes.
pub const MAGIC: &[u8; 4] = b"FiFu";

/// The longest word or n-gram in bytes. The format allows 4 GiB; real words have some hundred at
/// most.
pub const MAX_WORD_BYTES: usize = 65_536;

/// The largest item of the grammar, an n-gram with its index. A carry buffer of this size always
/// suffices for [`read::Push`](crate::read::Push).
pub const MAX_ITEM_BYTES: usize = 4 + MAX_WORD_BYTES + 8;

pub(super) const CHUNK_HEADER_BYTES: usize = 12;

/// Identifiers of chunks. 0 stands for the header in the reference implementation and is never
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

/// Numbers of element types; the specification reserves others that nothing uses.
pub(super) const TYPE_U8: u32 = 1;
pub(super) const TYPE_F32: u32 = 10;

/// The file's header up to the list of chunks: their number.
pub(super) fn file_header(input: &[u8]) -> Parse<'_, u32> {
    let (rest, magic) = array::<4>(input)?;
    if magic != *MAGIC {
        return refuse(input, ErrorKind::BadMagic);
    }
    let at_version = rest;
    let (rest, version) = le_u32(rest)?;
    if version != 0 {
        return refuse(at_version, ErrorKind::UnsupportedVersion);
    }
    let at_count = rest;
    let (rest, count) = le_u32(rest)?;
    if count == 0 { refuse(at_count, ErrorKind::BadCount) } else { Ok((rest, count)) }
}

/// What precedes every chunk: its identifier, and the declared length of what follows.
pub(super) fn chunk_header(input: &[u8]) -> Parse<'_, (u32, u64)> {
    let (rest, id) = le_u32(input)?;
    let (rest, bytes) = le_u64(rest)?;
    Ok((rest, (id, bytes)))
}

/// The fields of the vocabulary chunk `id` that precede its words.
pub(super) fn vocabulary(id: u32) -> impl Fn(&[u8]) -> Parse<'_, WordVocabulary> {
    move |input| match id {
        id::BUCKET_VOCABULARY | id::FASTTEXT_VOCABULARY => hashed_vocabulary(input, id),
        id::EXPLICIT_VOCABULARY => explicit_vocabulary(input),
        id::FLORET_VOCABULARY => floret_vocabulary(input),
        _ => simple_vocabulary(input),
    }
}

fn simple_vocabulary(input: &[u8]) -> Parse<'_, WordVocabulary> {
    let (rest, words) = count(input)?;
    Ok((rest, with_default_brackets(words, Subwords::None, (0, 0))))
}

fn hashed_vocabulary(input: &[u8], id: u32) -> Parse<'_, WordVocabulary> {
    let (rest, words) = count(input)?;
    let (rest, lengths) = ngram_lengths(rest)?;
    let at_buckets = rest;
    let (rest, buckets) = le_u32(rest)?;
    let subwords = match id {
        id::BUCKET_VOCABULARY if buckets < 64 => Subwords::Buckets { exponent: buckets },
        id::FASTTEXT_VOCABULARY if (1..=i32::MAX.unsigned_abs()).contains(&buckets) => {
            Subwords::FastText { buckets }
        }
        _ => return refuse(at_buckets, ErrorKind::BadVocabulary),
    };
    Ok((rest, with_default_brackets(words, subwords, lengths)))
}

fn explicit_vocabulary(input: &[u8]) -> Parse<'_, WordVocabulary> {
    let (rest, words) = count(input)?;
    let (rest, ngrams) = count(rest)?;
    let (rest, lengths) = ngram_lengths(rest)?;
    Ok((rest, with_default_brackets(words, Subwords::Explicit { ngrams }, lengths)))
}

fn floret_vocabulary(input: &[u8]) -> Parse<'_, WordVocabulary> {
    let (rest, (min_n, max_n)) = ngram_lengths(input)?;
    let at_buckets = rest;
    let (rest, buckets) = le_u64(rest)?;
    if buckets == 0 {
        return refuse(at_buckets, ErrorKind::BadVocabulary);
    }
    let at_hashes = rest;
    let (rest, hashes) = le_u32(rest)?;
    if !(1..=4).contains(&hashes) {
        return refuse(at_hashes, ErrorKind::BadVocabulary);
    }
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

/// A 64-bit number of words or n-grams. More than 32 bits can count would fill 16 GiB with their
/// lengths alone.
fn count(input: &[u8]) -> Parse<'_, u32> {
    let (rest, count) = le_u64(input)?;
    match u32::try_from(count) {
        Ok(count) => Ok((rest, count)),
        Err(_) => refuse(input, ErrorKind::BadCount),
    }
}

fn ngram_lengths(input: &[u8]) -> Parse<'_, (u32, u32)> {
    let (rest, min_n) = le_u32(input)?;
    if min_n == 0 {
        return refuse(input, ErrorKind::BadVocabulary);
    }
    let at_max = rest;
    let (rest, max_n) = le_u32(rest)?;
    if max_n < min_n {
        return refuse(at_max, ErrorKind::BadVocabulary);
    }
    Ok((rest, (min_n, max_n)))
}

fn bracket(input: &[u8]) -> Parse<'_, Bracket> {
    let (rest, bytes) = le_u32(input)?;
    if bytes as usize > MAX_BRACKET_BYTES {
        return refuse(input, ErrorKind::NameTooLong);
    }
    let (rest, text) = utf8(bytes as usize)(rest)?;
    match Bracket::new(text) {
        Some(bracket) => Ok((rest, bracket)),
        None => refuse(input, ErrorKind::NameTooLong),
    }
}

/// A word: `u32` length, bytes.
#[inline]
pub(super) fn word(input: &[u8]) -> Parse<'_, &[u8]> {
    let (rest, bytes) = le_u32(input)?;
    if bytes as usize > MAX_WORD_BYTES {
        return refuse(input, ErrorKind::NameTooLong);
    }
    take(bytes as usize)(rest)
}

/// An n-gram and its index, which the specification forgets.
#[inline]
pub(super) fn ngram(input: &[u8]) -> Parse<'_, (&[u8], u64)> {
    let (rest, bytes) = word(input)?;
    let (rest, index) = le_u64(rest)?;
    Ok((rest, (bytes, index)))
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
    move |input| {
        let (rest, (bytes, index)) = if has_index {
            ngram(input)?
        } else {
            word(input).map(|(rest, bytes)| (rest, (bytes, 0)))?
        };
        Ok((rest, Entry { bytes, index }))
    }
}

/// The most columns that a matrix without rows may have. Those of other matrices are bounded by the
/// file's size.
pub(super) const MAX_EMPTY_COLS: u32 = 16_384;

/// The fields of an f32 matrix before its padding: rows and columns.
pub(super) fn array_header(input: &[u8]) -> Parse<'_, (u64, u32)> {
    let (rest, rows) = le_u64(input)?;
    let at_cols = rest;
    let (rest, cols) = le_u32(rest)?;
    if rows == 0 && cols > MAX_EMPTY_COLS {
        return refuse(at_cols, ErrorKind::BadDimensions);
    }
    let (rest, ()) = element_type(TYPE_F32)(rest)?;
    Ok((rest, (rows, cols)))
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

/// Where the rows are counted in a quantised chunk's payload.
pub(super) const QUANTIZED_ROWS_OFFSET: u64 = 20;

pub(super) fn quantized_header(input: &[u8]) -> Parse<'_, QuantizedHeader> {
    let (rest, projection) = le_u32(input)?;
    let (rest, norms) = le_u32(rest)?;
    let at_codes = rest;
    let (rest, codes_per_row) = le_u32(rest)?;
    if codes_per_row == 0 {
        return refuse(at_codes, ErrorKind::BadDimensions);
    }
    let at_cols = rest;
    let (rest, cols) = le_u32(rest)?;
    if !cols.is_multiple_of(codes_per_row) {
        return refuse(at_cols, ErrorKind::BadDimensions);
    }
    let at_centroids = rest;
    let (rest, centroids) = le_u32(rest)?;
    // A code is one byte: the 257th centroid could never be meant.
    if !(1..=256).contains(&centroids) {
        return refuse(at_centroids, ErrorKind::BadDimensions);
    }
    let (rest, rows) = le_u64(rest)?;
    let (rest, ()) = element_type(TYPE_U8)(rest)?;
    let (rest, ()) = element_type(TYPE_F32)(rest)?;
    let header = QuantizedHeader {
        projection: projection != 0,
        norms: norms != 0,
        codes_per_row,
        cols,
        centroids,
        rows,
    };
    Ok((rest, header))
}

/// The fields of the norms before their padding: how many there are.
pub(super) fn norms_header(input: &[u8]) -> Parse<'_, u64> {
    let (rest, count) = le_u64(input)?;
    let (rest, ()) = element_type(TYPE_F32)(rest)?;
    Ok((rest, count))
}

fn element_type(expected: u32) -> impl Fn(&[u8]) -> Parse<'_, ()> {
    move |input| {
        let (rest, found) = le_u32(input)?;
        if found == expected {
            return Ok((rest, ()));
        }
        let kind = match found {
            1..=10 => ErrorKind::UnsupportedDtype,
            _ => ErrorKind::BadDtype,
        };
        Err(nom::Err::Failure(Cause { at: input, kind }))
    }
}

/// The padding before bulk data whose type fields end at the absolute `offset`: one to four bytes,
/// never none.
pub(super) const fn padding(offset: u64) -> u64 {
    4_u64.saturating_sub(offset % 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aligned_position_gets_four_bytes_of_padding() {
        assert_eq!([123, 124, 125, 126, 428].map(padding), [1, 4, 3, 2, 4]);
    }
}
