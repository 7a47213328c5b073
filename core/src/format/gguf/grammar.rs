//! The items of the layout, as nom streaming functions with a known maximum size each.

use crate::bytes::{Parse, array, le_u8, le_u16, le_u32, le_u64, refuse, take, utf8};
use crate::error::ErrorKind;
use crate::event::Value;
use crate::tensor::{Dtype, Opaque, Shape, TensorHeader};

/// The first four bytes.
pub const MAGIC: &[u8; 4] = b"GGUF";

/// The alignment of data where the metadata does not say another.
pub const DEFAULT_ALIGNMENT: u64 = 32;

/// The longest string that is read; chat templates have some tens of kilobytes.
pub(super) const MAX_STRING_BYTES: usize = 1 << 20;

/// The longest key or name, as the specification has it for keys.
pub(super) const MAX_NAME_BYTES: usize = 65_535;

/// The largest item: a pair of the longest key and the longest string. A carry buffer of this size
/// always suffices for [`read::Push`](crate::read::Push).
pub const MAX_ITEM_BYTES: usize = MAX_NAME_BYTES + MAX_STRING_BYTES + 20;

/// The most dimensions that ggml knows.
const MAX_DIMS: usize = 4;

pub(super) const HEADER_BYTES: u64 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) version: u16,
    pub(super) tensors: u64,
    pub(super) pairs: u64,
}

pub(super) fn header(input: &[u8]) -> Parse<'_, Header> {
    let known = input.len().min(MAGIC.len());
    if input.get(..known) != MAGIC.get(..known) {
        return refuse(input, ErrorKind::BadMagic);
    }
    let (rest, _) = array::<4>(input)?;
    let at = rest;
    let (rest, version) = le_u32(rest)?;
    // Version 1 had 32-bit lengths.
    let version = match (u16::try_from(version), version.swap_bytes()) {
        (Ok(version @ 2..=3), _) => version,
        (_, 1..=0xffff) => return refuse(at, ErrorKind::BigEndian),
        _ => return refuse(at, ErrorKind::UnsupportedVersion),
    };
    let (rest, tensors) = le_u64(rest)?;
    let (rest, pairs) = le_u64(rest)?;
    Ok((rest, Header { version, tensors, pairs }))
}

fn text(max: usize) -> impl Fn(&[u8]) -> Parse<'_, &str> {
    move |input| {
        let (rest, length) = le_u64(input)?;
        match usize::try_from(length) {
            Ok(bytes) if bytes <= max => utf8(bytes)(rest),
            _ => refuse(input, ErrorKind::NameTooLong),
        }
    }
}

/// A string whose bytes need not be UTF-8, as tokens of byte-level vocabularies.
pub(super) fn token(input: &[u8]) -> Parse<'_, &[u8]> {
    let (rest, length) = le_u64(input)?;
    match usize::try_from(length) {
        Ok(bytes) if bytes <= MAX_STRING_BYTES => take(bytes)(rest),
        _ => refuse(input, ErrorKind::NameTooLong),
    }
}

fn name(input: &[u8]) -> Parse<'_, &str> {
    match text(MAX_NAME_BYTES)(input)? {
        (_, "") => refuse(input, ErrorKind::EmptyName),
        named => Ok(named),
    }
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

    /// The fewest bytes that a value of this type has.
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
    let (rest, code) = le_u32(input)?;
    let index = usize::try_from(code).unwrap_or(usize::MAX);
    match Type::ALL.get(index) {
        Some(kind) => Ok((rest, *kind)),
        None => refuse(input, ErrorKind::BadField),
    }
}

/// What a pair's value is: one value, or an array whose elements follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PairValue<'a> {
    One { value: Value<'a>, kind: Type },
    Array { of: Type, count: u64 },
}

pub(super) fn pair(input: &[u8]) -> Parse<'_, (&str, PairValue<'_>)> {
    let (rest, key) = name(input)?;
    let (rest, kind) = value_type(rest)?;
    if kind != Type::Array {
        let (rest, value) = value(kind)(rest)?;
        return Ok((rest, (key, PairValue::One { value, kind })));
    }
    let at = rest;
    let (rest, of) = value_type(rest)?;
    if of == Type::Array {
        // As in ggml.
        return refuse(at, ErrorKind::NestedArray);
    }
    let (rest, count) = le_u64(rest)?;
    Ok((rest, (key, PairValue::Array { of, count })))
}

/// A value that is no array.
pub(super) fn value(kind: Type) -> impl Fn(&[u8]) -> Parse<'_, Value<'_>> {
    move |input| {
        let unsigned = |value: u64| Value::Unsigned(value);
        let signed = |value: i64| Value::Signed(value);
        Ok(match kind {
            Type::U8 => le_u8(input).map(|(rest, n)| (rest, unsigned(n.into())))?,
            Type::I8 => le_u8(input).map(|(rest, n)| (rest, signed(n.cast_signed().into())))?,
            Type::U16 => le_u16(input).map(|(rest, n)| (rest, unsigned(n.into())))?,
            Type::I16 => le_u16(input).map(|(rest, n)| (rest, signed(n.cast_signed().into())))?,
            Type::U32 => le_u32(input).map(|(rest, n)| (rest, unsigned(n.into())))?,
            Type::I32 => le_u32(input).map(|(rest, n)| (rest, signed(n.cast_signed().into())))?,
            Type::U64 => le_u64(input).map(|(rest, n)| (rest, unsigned(n)))?,
            Type::I64 => le_u64(input).map(|(rest, n)| (rest, signed(n.cast_signed())))?,
            Type::F32 => {
                le_u32(input).map(|(rest, n)| (rest, Value::Float(f32::from_bits(n).into())))?
            }
            Type::F64 => le_u64(input).map(|(rest, n)| (rest, Value::Float(f64::from_bits(n))))?,
            Type::Bool => match le_u8(input)? {
                (rest, truth @ 0..=1) => (rest, Value::Bool(truth == 1)),
                _ => return refuse(input, ErrorKind::BadField),
            },
            Type::Text => {
                text(MAX_STRING_BYTES)(input).map(|(rest, text)| (rest, Value::Text(text)))?
            }
            Type::Array => return refuse(input, ErrorKind::UnsupportedDtype),
        })
    }
}

const DTYPES: [(u32, Dtype); 34] = [
    (0, Dtype::F32),
    (1, Dtype::F16),
    (2, Dtype::Q4_0),
    (3, Dtype::Q4_1),
    (6, Dtype::Q5_0),
    (7, Dtype::Q5_1),
    (8, Dtype::Q8_0),
    (9, Dtype::Q8_1),
    (10, Dtype::Q2K),
    (11, Dtype::Q3K),
    (12, Dtype::Q4K),
    (13, Dtype::Q5K),
    (14, Dtype::Q6K),
    (15, Dtype::Q8K),
    (16, Dtype::Opaque(Opaque::Iq2Xxs)),
    (17, Dtype::Opaque(Opaque::Iq2Xs)),
    (18, Dtype::Opaque(Opaque::Iq3Xxs)),
    (19, Dtype::Opaque(Opaque::Iq1S)),
    (20, Dtype::Opaque(Opaque::Iq4Nl)),
    (21, Dtype::Opaque(Opaque::Iq3S)),
    (22, Dtype::Opaque(Opaque::Iq2S)),
    (23, Dtype::Opaque(Opaque::Iq4Xs)),
    (24, Dtype::I8),
    (25, Dtype::I16),
    (26, Dtype::I32),
    (27, Dtype::I64),
    (28, Dtype::F64),
    (29, Dtype::Opaque(Opaque::Iq1M)),
    (30, Dtype::BF16),
    (34, Dtype::Opaque(Opaque::Tq1_0)),
    (35, Dtype::Opaque(Opaque::Tq2_0)),
    (39, Dtype::Opaque(Opaque::Mxfp4)),
    (40, Dtype::Opaque(Opaque::Nvfp4)),
    (41, Dtype::Opaque(Opaque::Q1_0)),
];

/// The number of the newest type that ggml defines; those below it that are not above it once had
/// and has removed.
const NEWEST_DTYPE: u32 = 41;

fn dtype(input: &[u8]) -> Parse<'_, Dtype> {
    let (rest, code) = le_u32(input)?;
    match DTYPES.iter().find(|(known, _)| *known == code) {
        Some((_, dtype)) => Ok((rest, *dtype)),
        None if code <= NEWEST_DTYPE => refuse(input, ErrorKind::RemovedDtype),
        None => refuse(input, ErrorKind::BadDtype),
    }
}

/// The number of `dtype` in the format; `None` for types that it does not have.
#[must_use]
pub fn code_of(dtype: Dtype) -> Option<u32> {
    DTYPES.iter().find(|(_, known)| *known == dtype).map(|(code, _)| *code)
}

/// A tensor's description: its header, with the offset relative to the data, and how far behind the
/// description's start the offset's own field lies.
pub(super) fn tensor(input: &[u8]) -> Parse<'_, (TensorHeader<'_>, usize)> {
    let (rest, name) = name(input)?;
    let at = rest;
    let (mut rest, ndim) = le_u32(rest)?;
    let mut dims = [0; MAX_DIMS];
    let used = usize::try_from(ndim).unwrap_or(usize::MAX);
    let Some(dims) = dims.get_mut(..used).filter(|dims| !dims.is_empty()) else {
        return refuse(at, ErrorKind::BadDimensions);
    };
    for dim in dims.iter_mut() {
        let before = rest;
        (rest, *dim) = le_u64(rest)?;
        if *dim == 0 {
            return refuse(before, ErrorKind::BadDimensions);
        }
    }
    let row = dims.first().copied().unwrap_or(1);
    dims.reverse();
    let before = rest;
    let (rest, dtype) = dtype(rest)?;
    let Some(shape) = Shape::new(dims) else {
        return refuse(at, ErrorKind::BadDimensions);
    };
    let Some(elements) = shape.elements() else {
        return refuse(at, ErrorKind::SizeOverflow);
    };
    if !row.is_multiple_of(dtype.block_elements() as u64) {
        return refuse(before, ErrorKind::SizeMismatch);
    }
    let Some(bytes) = dtype.data_bytes(elements) else {
        return refuse(at, ErrorKind::SizeOverflow);
    };
    let field = input.len().saturating_sub(rest.len());
    let (rest, offset) = le_u64(rest)?;
    Ok((rest, (TensorHeader { name, dtype, shape, offset, bytes }, field)))
}
