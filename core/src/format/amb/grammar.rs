//! The items of an AMB file, as nom functions.

use nom::Parser;

use crate::bytes::{
    Parse, item, le_u8, le_u16, le_u32, le_u64, length_count, length_data, length_text, map_res,
    refuse, repeated, tag, verify,
};
use crate::error::ErrorKind;
use crate::tensor::{Arrangement, CodeBits, Dtype, MAX_DIMS, ScaleType, ScaledCodes, Shape};

/// The first bytes of a file.
pub const MAGIC: &[u8; 5] = b"AMBEE";

/// Bytes of the header.
pub(super) const HEADER_BYTES: u64 = 28;

/// Bytes of the tokenizer section before its payload.
pub(super) const TOKENIZER_HEAD_BYTES: u64 = 11;

/// Bytes at the start of a quantised tensor's data that describe its quantisation.
pub(super) const QUANTIZATION_BYTES: u64 = 4;

/// The id of an absent special token.
pub(super) const NO_TOKEN: u16 = 0xFFFF;

/// The size of the largest item: a tensor's record up to its data.
pub const MAX_ITEM_BYTES: usize = 2 + 0xFFFF + 1 + 4 * MAX_DIMS + 1 + 8 + 4;

/// The header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) flags: u16,
    pub(super) metadata_bytes: u32,
    pub(super) config_bytes: u32,
    pub(super) tokenizer_bytes: u32,
    pub(super) weights_bytes: u64,
}

/// Magic number, version and the sections' sizes.
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | magic number `AMBEE` | 5 bytes |
/// | 5 | version 1 | `u8` |
/// | 6 | flags | `u16` |
/// | 8 | bytes of the metadata | `u32` |
/// | 12 | bytes of the configuration | `u32` |
/// | 16 | bytes of the tokenizer | `u32` |
/// | 20 | bytes of the weights | `u64` |
pub(super) fn header(input: &[u8]) -> Parse<'_, Header> {
    let magic = tag(MAGIC, ErrorKind::BadMagic);
    let version = verify(le_u8, |&version| version == 1, ErrorKind::UnsupportedVersion);
    let (rest, _) = (magic, version).parse(input)?;
    item!(
        rest,
        Header {
            flags: le_u16,
            metadata_bytes: le_u32,
            config_bytes: le_u32,
            tokenizer_bytes: le_u32,
            weights_bytes: le_u64,
        }
    )
}

/// The kind of a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AmbTokenizerKind {
    /// Byte-pair encoding: merges and a vocabulary.
    Bpe,
    /// A serialized SentencePiece model.
    SentencePiece,
    /// WordPiece: a vocabulary.
    WordPiece,
    /// Bytes in an application's own format.
    Custom,
}

impl AmbTokenizerKind {
    /// Every kind, in the order of the codes.
    pub const ALL: [Self; 4] = [Self::Bpe, Self::SentencePiece, Self::WordPiece, Self::Custom];

    /// The kind's name in machine-readable output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bpe => "bpe",
            Self::SentencePiece => "sentencepiece",
            Self::WordPiece => "wordpiece",
            Self::Custom => "custom",
        }
    }

    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Bpe => 0,
            Self::SentencePiece => 1,
            Self::WordPiece => 2,
            Self::Custom => 3,
        }
    }
}

/// The start of the tokenizer section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TokenizerHead {
    pub(super) kind: AmbTokenizerKind,
    /// Begin, end, padding, unknown, mask.
    pub(super) special: [u16; 5],
}

/// The tokenizer's kind and its special tokens.
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | kind | `u8` |
/// | 1 | special tokens | 5 × `u16` |
pub(super) fn tokenizer_head(input: &[u8]) -> Parse<'_, TokenizerHead> {
    let known = |code| AmbTokenizerKind::ALL.get(usize::from(code)).copied();
    item!(
        input,
        TokenizerHead {
            kind: map_res(le_u8, |code| known(code).ok_or(ErrorKind::BadEncoding)),
            special: repeated(le_u16),
        }
    )
}

/// A string of the tokenizer's payload.
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | bytes of the string | `u16` |
/// | 2 | string | bytes |
pub(super) fn string(input: &[u8]) -> Parse<'_, &[u8]> {
    length_data(le_u16)(input)
}

/// As [`string`], and UTF-8.
pub(super) fn text(input: &[u8]) -> Parse<'_, &str> {
    length_text(le_u16)(input)
}

/// A tensor's record up to its data, with the four bytes of its quantisation if it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Record<'a> {
    pub(super) name: &'a str,
    pub(super) dtype: Dtype,
    pub(super) shape: Shape,
    /// The size of the data without the four bytes of its quantisation.
    pub(super) data_bytes: u64,
    /// The offset of the data's size in the record.
    pub(super) size_at: usize,
    /// The offset in the record at which the four bytes of a quantisation are, if there are any.
    pub(super) data_at: usize,
}

/// | field | type |
/// |---|---|
/// | name, never empty | text |
/// | number of dimensions | `u8` |
/// | dimensions | `u32` each |
/// | type | `u8` |
/// | bytes of the data | `u64` |
/// | data; in types 3 to 8, the first four bytes describe the quantisation | |
pub(super) fn record(input: &[u8]) -> Parse<'_, Record<'_>> {
    let name = length_text(verify(le_u16, |&bytes| bytes > 0, ErrorKind::EmptyName));
    let code = verify(le_u8, |&code| code <= 8, ErrorKind::BadDtype);
    let (size_at, (name, (shape, elements), code)) = (name, shape, code).parse(input)?;
    let (data_at, size) = le_u64(size_at)?;
    let (rest, dtype, overhead) = match code {
        0 => (data_at, Dtype::F32, 0),
        1 => (data_at, Dtype::F16, 0),
        2 => (data_at, Dtype::BF16, 0),
        _ if size < QUANTIZATION_BYTES => return refuse(size_at, ErrorKind::SizeMismatch),
        _ => {
            let (rest, codes) = quantization(code)(data_at)?;
            (rest, Dtype::Scaled(codes), QUANTIZATION_BYTES)
        }
    };
    let data_bytes = size.saturating_sub(overhead);
    let fits = match dtype {
        Dtype::Scaled(codes) if codes.arrangement == Arrangement::Adaptive => {
            codes.full_blocks(elements, data_bytes).is_some()
        }
        dtype => dtype.data_bytes(elements) == Some(data_bytes),
    };
    if !fits {
        // A writer that stores the four bytes elsewhere states the size that would be right without
        // them.
        let lies_elsewhere = overhead > 0 && dtype.data_bytes(elements) == Some(size);
        return match lies_elsewhere {
            true => refuse(data_at, ErrorKind::MissingQuantization),
            false => refuse(size_at, ErrorKind::SizeMismatch),
        };
    }
    let before = |at: &[u8]| input.len().saturating_sub(at.len());
    let (size_at, data_at) = (before(size_at), before(data_at));
    Ok((rest, Record { name, dtype, shape, data_bytes, size_at, data_at }))
}

/// A shape and the number of its elements.
fn shape(input: &[u8]) -> Parse<'_, (Shape, u64)> {
    map_res(length_count::<_, _, MAX_DIMS>(le_u8, le_u32), |(dims, ndim)| {
        let shape = dims.get(..ndim).and_then(Shape::new);
        shape.and_then(|shape| Some((shape, shape.elements()?))).ok_or(ErrorKind::SizeOverflow)
    })(input)
}

/// The quantisation of a tensor of type `dtype` (3 to 8).
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | type | `u8` |
/// | 1 | elements per block | `u16` |
/// | 3 | type of the scales: f32, f16 | `u8` |
fn quantization(dtype: u8) -> impl Fn(&[u8]) -> Parse<'_, ScaledCodes> {
    move |input| {
        let (block_at, kind) = le_u8(input)?;
        let (scale_at, block) = le_u16(block_at)?;
        let (rest, scale_type) = le_u8(scale_at)?;
        let (arrangement, bits) = match (dtype, kind) {
            (3, 3) => (Arrangement::Separate, CodeBits::Eight),
            (4, 4) => (Arrangement::Separate, CodeBits::Four),
            (5, 5) => (Arrangement::Separate, CodeBits::Five),
            (6, 6) => (Arrangement::Interleaved, CodeBits::Four),
            (7, 7) => (Arrangement::Interleaved, CodeBits::Five),
            (8, 4 | 8) => (Arrangement::Adaptive, CodeBits::Four),
            (8, 5) => (Arrangement::Adaptive, CodeBits::Five),
            _ => return refuse(input, ErrorKind::MissingQuantization),
        };
        let whole = block > 0 && block.is_multiple_of(8);
        if !whole && arrangement != Arrangement::Separate {
            return refuse(block_at, ErrorKind::BadQuantization);
        }
        let scales = match scale_type {
            0 => ScaleType::F32,
            1 => ScaleType::F16,
            _ => return refuse(scale_at, ErrorKind::BadQuantization),
        };
        Ok((rest, ScaledCodes { bits, block, scales, arrangement }))
    }
}

/// The format's codes for a type and its quantisation; `None` for a type that the format lacks.
pub(super) const fn codes_of(dtype: Dtype) -> Option<(u8, Option<u8>)> {
    Some(match dtype {
        Dtype::F32 => (0, None),
        Dtype::F16 => (1, None),
        Dtype::BF16 => (2, None),
        Dtype::Scaled(codes) => {
            let code = match (codes.arrangement, codes.bits) {
                (Arrangement::Separate, CodeBits::Eight) => 3,
                (Arrangement::Separate, CodeBits::Four) => 4,
                (Arrangement::Separate, CodeBits::Five) => 5,
                (Arrangement::Interleaved, CodeBits::Four) => 6,
                (Arrangement::Interleaved, CodeBits::Five) => 7,
                (Arrangement::Adaptive, CodeBits::Four | CodeBits::Five) => 8,
                _ => return None,
            };
            let kind = match (code, codes.bits) {
                (8, CodeBits::Five) => 5,
                (8, _) => 4,
                (code, _) => code,
            };
            let separate = matches!(codes.arrangement, Arrangement::Separate);
            if !separate && (codes.block == 0 || !codes.block.is_multiple_of(8)) {
                return None;
            }
            (code, Some(kind))
        }
        _ => return None,
    })
}
