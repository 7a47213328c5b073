//! The items of the layout, as nom streaming functions with a known maximum size each.

use nom::Parser;

use crate::bytes::{
    Parse, item, le_u8, le_u16, le_u32, le_u64, length_count, length_data, length_text, map_res,
    refuse, tag, verify,
};
use crate::error::ErrorKind;
use crate::event::Value;
use crate::tensor::{Dtype, Shape, TensorHeader};

/// The first four bytes.
pub const MAGIC: &[u8; 4] = b"GGUF";

/// The default alignment of data.
pub const DEFAULT_ALIGNMENT: u64 = 32;

/// The longest accepted string; chat templates have some tens of kilobytes.
pub(super) const MAX_STRING_BYTES: usize = 1 << 20;

/// The longest key or name, as the specification defines it for keys.
pub(super) const MAX_NAME_BYTES: usize = 65_535;

/// The largest item: a pair of the longest key and the longest string. A carry buffer of this size
/// always suffices for [`read::Push`](crate::read::Push).
pub const MAX_ITEM_BYTES: usize = MAX_NAME_BYTES + MAX_STRING_BYTES + 20;

/// The largest number of dimensions in ggml.
const MAX_DIMS: usize = 4;

pub(super) const HEADER_BYTES: u64 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) version: u16,
    pub(super) tensors: u64,
    pub(super) pairs: u64,
}

/// | offset | field | type |
/// |---|---|---|
/// | 0 | magic number `GGUF` | 4 bytes |
/// | 4 | version, 2 or 3 | `u32` |
/// | 8 | number of tensors | `u64` |
/// | 16 | number of metadata pairs | `u64` |
pub(super) fn header(input: &[u8]) -> Parse<'_, Header> {
    // Version 1 had 32-bit lengths.
    let mut version =
        map_res(le_u32, |version: u32| match (u16::try_from(version), version.swap_bytes()) {
            (Ok(version @ 2..=3), _) => Ok(version),
            (_, 1..=0xffff) => Err(ErrorKind::BigEndian),
            _ => Err(ErrorKind::UnsupportedVersion),
        });
    let (rest, _magic) = tag(MAGIC, ErrorKind::BadMagic)(input)?;
    item!(rest, Header { version: version, tensors: le_u64, pairs: le_u64 })
}

/// The length of a string, at most `max`.
fn length<'a>(max: usize) -> impl FnMut(&'a [u8]) -> Parse<'a, usize> {
    map_res(le_u64, move |length| match usize::try_from(length) {
        Ok(bytes) if bytes <= max => Ok(bytes),
        _ => Err(ErrorKind::NameTooLong),
    })
}

/// A string whose bytes need not be UTF-8, such as a token of a byte-level vocabulary.
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | bytes of the string | `u64` |
/// | 8 | string | bytes |
pub(super) fn token(input: &[u8]) -> Parse<'_, &[u8]> {
    length_data(length(MAX_STRING_BYTES))(input)
}

/// A string of UTF-8.
fn text(input: &[u8]) -> Parse<'_, &str> {
    length_text(length(MAX_STRING_BYTES))(input)
}

/// A key or a tensor's name.
fn name(input: &[u8]) -> Parse<'_, &str> {
    let length = verify(length(MAX_NAME_BYTES), |&bytes| bytes > 0, ErrorKind::EmptyName);
    length_text(length)(input)
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    Text,
    Array,
    U64,
    I64,
    F64,
}

impl Type {
    const ALL: [Self; 13] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::F32,
        Self::Bool,
        Self::Text,
        Self::Array,
        Self::U64,
        Self::I64,
        Self::F64,
    ];

    /// The minimum size of a value of this type in bytes.
    pub(super) const fn least_bytes(self) -> u64 {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::Array => 12,
            Self::Text | Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}

fn value_type(input: &[u8]) -> Parse<'_, Type> {
    let known = |code| Type::ALL.get(usize::try_from(code).ok()?).copied();
    map_res(le_u32, |code| known(code).ok_or(ErrorKind::BadField))(input)
}

/// The value of a pair: one value, or the head of an array whose elements follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PairValue<'a> {
    One { value: Value<'a>, kind: Type },
    Array { of: Type, count: u64 },
}

/// | field | type |
/// |---|---|
/// | key | string |
/// | type of the value | `u32` |
/// | value; of an array, the type of its elements (`u32`) and their number (`u64`) | |
pub(super) fn pair(input: &[u8]) -> Parse<'_, (&str, PairValue<'_>)> {
    (name, value_type.flat_map(pair_value)).parse(input)
}

fn pair_value(kind: Type) -> impl Fn(&[u8]) -> Parse<'_, PairValue<'_>> {
    move |input| match kind {
        // Nested arrays are rejected, as in ggml.
        Type::Array => {
            (verify(value_type, |&of| of != Type::Array, ErrorKind::NestedArray), le_u64)
                .map(|(of, count)| PairValue::Array { of, count })
                .parse(input)
        }
        kind => value(kind).map(|value| PairValue::One { value, kind }).parse(input),
    }
}

/// A value that is not an array.
pub(super) fn value(kind: Type) -> impl Fn(&[u8]) -> Parse<'_, Value<'_>> {
    move |input| match kind {
        Type::U8 => le_u8.map(|n| Value::Unsigned(n.into())).parse(input),
        Type::I8 => le_u8.map(|n| Value::Signed(n.cast_signed().into())).parse(input),
        Type::U16 => le_u16.map(|n| Value::Unsigned(n.into())).parse(input),
        Type::I16 => le_u16.map(|n| Value::Signed(n.cast_signed().into())).parse(input),
        Type::U32 => le_u32.map(|n| Value::Unsigned(n.into())).parse(input),
        Type::I32 => le_u32.map(|n| Value::Signed(n.cast_signed().into())).parse(input),
        Type::U64 => le_u64.map(Value::Unsigned).parse(input),
        Type::I64 => le_u64.map(|n| Value::Signed(n.cast_signed())).parse(input),
        Type::F32 => le_u32.map(|n| Value::Float(f32::from_bits(n).into())).parse(input),
        Type::F64 => le_u64.map(|n| Value::Float(f64::from_bits(n))).parse(input),
        Type::Bool => verify(le_u8, |&truth| truth <= 1, ErrorKind::BadField)
            .map(|truth| Value::Bool(truth == 1))
            .parse(input),
        Type::Text => text.map(Value::Text).parse(input),
        Type::Array => refuse(input, ErrorKind::UnsupportedDtype),
    }
}

/// The number of ggml's newest supported type; lower numbers that are not types have been removed
/// from ggml.
const NEWEST_DTYPE: u32 = {
    let (mut newest, mut rest) = (0, Dtype::ALL);
    while let [dtype, after @ ..] = rest {
        if let Some(number) = dtype.ggml_number()
            && number > newest
        {
            newest = number;
        }
        rest = after;
    }
    newest
};

fn dtype(input: &[u8]) -> Parse<'_, Dtype> {
    map_res(le_u32, |number| match Dtype::from_ggml_number(number) {
        Some(dtype) => Ok(dtype),
        None if number <= NEWEST_DTYPE => Err(ErrorKind::RemovedDtype),
        None => Err(ErrorKind::BadDtype),
    })(input)
}

/// A tensor's description: its header, with the offset relative to the data, and the position of
/// the offset field in the description.
///
/// | field | type |
/// |---|---|
/// | name | string |
/// | number of dimensions, 1 to 4 | `u32` |
/// | dimensions, innermost first | `u64` each |
/// | type | `u32` |
/// | offset in the data | `u64` |
pub(super) fn tensor(input: &[u8]) -> Parse<'_, (TensorHeader<'_>, usize)> {
    let (dims_at, name) = name(input)?;
    let ndim = verify(le_u32, |&ndim| ndim > 0, ErrorKind::BadDimensions);
    let size = verify(le_u64, |&size| size > 0, ErrorKind::BadDimensions);
    let (dtype_at, (mut dims, ndim)) = length_count::<_, _, MAX_DIMS>(ndim, size)(dims_at)?;
    let (offset_at, dtype) = dtype(dtype_at)?;
    let dims = dims.get_mut(..ndim).unwrap_or_default();
    let row = dims.first().copied().unwrap_or(1);
    dims.reverse();
    let Some(shape) = Shape::new(dims) else {
        return refuse(dims_at, ErrorKind::BadDimensions);
    };
    let Some(elements) = shape.elements() else {
        return refuse(dims_at, ErrorKind::SizeOverflow);
    };
    if !row.is_multiple_of(dtype.block_elements() as u64) {
        return refuse(dtype_at, ErrorKind::SizeMismatch);
    }
    let Some(bytes) = dtype.data_bytes(elements) else {
        return refuse(dims_at, ErrorKind::SizeOverflow);
    };
    let field = input.len().saturating_sub(offset_at.len());
    let (rest, offset) = le_u64(offset_at)?;
    Ok((rest, (TensorHeader { name, dtype, shape, offset, bytes }, field)))
}
