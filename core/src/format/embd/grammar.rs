//! The items of both EMBD layouts, as nom streaming functions with a known maximum size each.

use crate::bytes::{Parse, array, le_u8, le_u16, le_u32, le_u64, refuse, take, utf8};
use crate::error::ErrorKind;
use crate::tensor::{Dtype, Shape};

/// The first four bytes of both variants.
pub const MAGIC: &[u8; 4] = b"EMBD";
/// The magic number in the footer.
pub(super) const FOOTER_MAGIC: &[u8; 4] = b"DBME";

pub(super) const HEADER_SIZE: usize = 64;
pub(super) const HEADER_BYTES: u64 = HEADER_SIZE as u64;
/// How much of the header its checksum covers.
pub(super) const CHECKED_HEADER_SIZE: usize = 56;
pub(super) const DESCRIPTOR_BYTES: u64 = 32;
pub(super) const METADATA_HEADER_BYTES: u64 = 8;
pub(super) const VOCABULARY_HEADER_BYTES: u64 = 12;
pub(super) const SPECIAL_BYTES: u64 = 20;
pub(super) const FOOTER_BYTES: u64 = 16;

/// The alignment of tensor data that flag bit 1 promises.
pub const DATA_ALIGNMENT: u64 = 64;

/// The longest name or token of the stream variant. The published loader allows 1 MiB; no real file
/// comes near.
const MAX_STRING_BYTES: u32 = 65_535;

/// How many metadata entries are kept apart by their keys; the specification requires ten.
pub(super) const MAX_METADATA_ENTRIES: usize = 128;

/// The largest item of the grammar: a metadata entry with two strings of 65,535 bytes. A carry
/// buffer of this size always suffices for [`read::Push`](crate::read::Push).
pub const MAX_ITEM_BYTES: usize = 4 + 2 * MAX_STRING_BYTES as usize;

/// The header's feature flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(pub u32);

impl Flags {
    /// Bit 0, `VOCAB_EMBEDDED`.
    pub const VOCABULARY: u32 = 1;
    /// Bit 1, `TENSORS_ALIGNED`: tensor data starts at multiples of [`DATA_ALIGNMENT`].
    pub const ALIGNED: u32 = 2;
    /// Bit 2, `CHECKSUM_ENABLED`.
    pub const CHECKSUMS: u32 = 4;
    /// Bit 3, `COMPRESSED`; no method is defined.
    pub const COMPRESSED: u32 = 8;

    /// Whether all bits of `mask` are set.
    #[must_use]
    pub const fn has(self, mask: u32) -> bool {
        self.0 & mask == mask
    }

    /// Whether bits are set that the specification reserves.
    #[must_use]
    pub const fn has_unknown(self) -> bool {
        self.0 & !(Self::VOCABULARY | Self::ALIGNED | Self::CHECKSUMS | Self::COMPRESSED) != 0
    }
}

/// A section's place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl Extent {
    /// The offset behind the section. Offsets are 32-bit and sizes are checked against the file's
    /// end first.
    pub(super) const fn end(self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    pub(super) const fn overlaps(self, other: Self) -> bool {
        self.bytes > 0 && other.bytes > 0 && self.offset < other.end() && other.offset < self.end()
    }
}

/// The 64-byte header of the section variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) major: u16,
    pub(super) minor: u16,
    pub(super) flags: Flags,
    pub(super) metadata: Extent,
    pub(super) vocabulary: Extent,
    pub(super) index_offset: u64,
    pub(super) index_count: u32,
    pub(super) data: Extent,
    pub(super) file_bytes: u64,
    pub(super) checksum: u32,
    pub(super) reserved: u32,
}

pub(super) fn header(input: &[u8]) -> Parse<'_, Header> {
    let (rest, _) = array::<4>(input)?;
    let (rest, major) = le_u16(rest)?;
    let (rest, minor) = le_u16(rest)?;
    let (rest, flags) = le_u32(rest)?;
    let (rest, metadata) = section(rest)?;
    let (rest, vocabulary) = section(rest)?;
    let (rest, index_offset) = le_u32(rest)?;
    let (rest, index_count) = le_u32(rest)?;
    let (rest, data_offset) = le_u32(rest)?;
    let (rest, data_bytes) = le_u64(rest)?;
    let (rest, file_bytes) = le_u64(rest)?;
    let (rest, checksum) = le_u32(rest)?;
    let (rest, reserved) = le_u32(rest)?;
    let header = Header {
        major,
        minor,
        flags: Flags(flags),
        metadata,
        vocabulary,
        index_offset: index_offset.into(),
        index_count,
        data: Extent { offset: data_offset.into(), bytes: data_bytes },
        file_bytes,
        checksum,
        reserved,
    };
    Ok((rest, header))
}

fn section(input: &[u8]) -> Parse<'_, Extent> {
    let (rest, offset) = le_u32(input)?;
    let (rest, bytes) = le_u32(rest)?;
    Ok((rest, Extent { offset: offset.into(), bytes: bytes.into() }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MetadataHeader {
    pub(super) entries: u32,
    pub(super) entry_bytes: u32,
}

pub(super) fn metadata_header(input: &[u8]) -> Parse<'_, MetadataHeader> {
    let (rest, entries) = le_u32(input)?;
    let (rest, entry_bytes) = le_u32(rest)?;
    Ok((rest, MetadataHeader { entries, entry_bytes }))
}

/// A key and a value: `u16` lengths of both, then both.
pub(super) fn metadata_entry(input: &[u8]) -> Parse<'_, (&str, &str)> {
    let (rest, key_bytes) = le_u16(input)?;
    let (rest, value_bytes) = le_u16(rest)?;
    let (rest, key) = utf8(key_bytes.into())(rest)?;
    if key.is_empty() {
        return refuse(input, ErrorKind::EmptyName);
    }
    let (rest, value) = utf8(value_bytes.into())(rest)?;
    Ok((rest, (key, value)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VocabularyHeader {
    pub(super) tokens: u32,
    pub(super) token_bytes: u32,
    pub(super) special_offset: u32,
}

pub(super) fn vocabulary_header(input: &[u8]) -> Parse<'_, VocabularyHeader> {
    let (rest, tokens) = le_u32(input)?;
    let (rest, token_bytes) = le_u32(rest)?;
    let (rest, special_offset) = le_u32(rest)?;
    Ok((rest, VocabularyHeader { tokens, token_bytes, special_offset }))
}

/// A token entry of the section variant: `u16` length, bytes.
pub(super) fn token(input: &[u8]) -> Parse<'_, &[u8]> {
    let (rest, bytes) = le_u16(input)?;
    take(bytes.into())(rest)
}

/// The special-token block: five ids in the order of
/// [`SpecialRole::ALL`](crate::event::SpecialRole::ALL).
pub(super) fn special(input: &[u8]) -> Parse<'_, [u32; 5]> {
    let (rest, pad) = le_u32(input)?;
    let (rest, unknown) = le_u32(rest)?;
    let (rest, classify) = le_u32(rest)?;
    let (rest, separate) = le_u32(rest)?;
    let (rest, mask) = le_u32(rest)?;
    Ok((rest, [pad, unknown, classify, separate, mask]))
}

/// Whether the special-token block stands before the tokens; `None` if it stands neither there nor
/// behind them. The offset is absolute when we write it, relative to the section in other readings
/// of the specification.
pub(super) fn special_is_first(section: Extent, special_offset: u32) -> Option<bool> {
    let last = section.bytes.saturating_sub(SPECIAL_BYTES);
    let declared = u64::from(special_offset);
    let is = |relative: u64| {
        section.offset.checked_add(relative) == Some(declared) || relative == declared
    };
    if is(VOCABULARY_HEADER_BYTES) && !(is(last) && last != VOCABULARY_HEADER_BYTES) {
        return Some(true);
    }
    is(last).then_some(false)
}

/// A tensor descriptor of the section variant. The name lies in the string table behind all
/// descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) name_hash: u32,
    pub(super) name_bytes: u16,
    pub(super) dtype: Dtype,
    pub(super) ndim: u8,
    pub(super) dims: [u32; 4],
    /// Relative to the tensor data section.
    pub(super) data_offset: u64,
}

impl Descriptor {
    pub(super) fn shape(&self) -> Shape {
        shape(self.ndim.into(), self.dims)
    }

    /// The size of the tensor's data; the grammar has checked that the product fits.
    pub(super) fn data_bytes(&self) -> u64 {
        data_bytes(&self.shape(), self.dtype).unwrap_or(u64::MAX)
    }
}

pub(super) fn descriptor(input: &[u8]) -> Parse<'_, Descriptor> {
    let (rest, name_hash) = le_u32(input)?;
    let (rest, dtype) = dtype(rest)?;
    let at_ndim = rest;
    let (rest, ndim) = le_u8(rest)?;
    if !(1..=4).contains(&ndim) {
        return refuse(at_ndim, ErrorKind::BadDimensions);
    }
    let at_name_bytes = rest;
    let (rest, name_bytes) = le_u16(rest)?;
    if name_bytes == 0 {
        return refuse(at_name_bytes, ErrorKind::EmptyName);
    }
    let at_dims = rest;
    let (rest, dims) = dims(ndim.into(), true)(rest)?;
    let (rest, data_offset) = le_u64(rest)?;
    let descriptor = Descriptor { name_hash, name_bytes, dtype, ndim, dims, data_offset };
    if data_bytes(&descriptor.shape(), dtype).is_none() {
        return refuse(at_dims, ErrorKind::SizeOverflow);
    }
    Ok((rest, descriptor))
}

/// The length of the name that a descriptor is of.
pub(super) fn descriptor_name_bytes(input: &[u8]) -> Parse<'_, u16> {
    // The name's hash, the data type and the number of dimensions come first.
    let (rest, _) = array::<6>(input)?;
    le_u16(rest)
}

fn dtype(input: &[u8]) -> Parse<'_, Dtype> {
    let (rest, code) = le_u8(input)?;
    match dtype_of(code) {
        Some(dtype) => Ok((rest, dtype)),
        None => refuse(input, ErrorKind::BadDtype),
    }
}

const DTYPES: [Dtype; 9] = [
    Dtype::F32,
    Dtype::F16,
    Dtype::BF16,
    Dtype::I32,
    Dtype::I16,
    Dtype::I8,
    Dtype::U32,
    Dtype::U16,
    Dtype::U8,
];

fn dtype_of(code: u8) -> Option<Dtype> {
    DTYPES.get(usize::from(code)).copied()
}

/// The number of `dtype` in the format.
pub(super) fn code_of(dtype: Dtype) -> Option<u8> {
    DTYPES.iter().position(|&known| known == dtype).and_then(|code| u8::try_from(code).ok())
}

/// Four dimensions, or as many as there are (`padded` says whether unused ones are stored, as
/// zeros).
fn dims(ndim: usize, padded: bool) -> impl Fn(&[u8]) -> Parse<'_, [u32; 4]> {
    move |input| {
        let mut rest = input;
        let mut dims = [0; 4];
        for (axis, dim) in dims.iter_mut().enumerate() {
            let used = axis < ndim;
            if !used && !padded {
                break;
            }
            let at = rest;
            (rest, *dim) = le_u32(rest)?;
            if used && *dim == 0 {
                return refuse(at, ErrorKind::BadDimensions);
            }
            if !used && *dim != 0 {
                return refuse(at, ErrorKind::ReservedNotZero);
            }
        }
        Ok((rest, dims))
    }
}

fn shape(ndim: usize, dims: [u32; 4]) -> Shape {
    let dims = dims.map(u64::from);
    dims.get(..ndim).and_then(Shape::new).unwrap_or(Shape::SCALAR)
}

fn data_bytes(shape: &Shape, dtype: Dtype) -> Option<u64> {
    dtype.data_bytes(shape.elements()?)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) data_checksum: u32,
    pub(super) file_checksum: u32,
    pub(super) reserved: u32,
}

pub(super) fn footer(input: &[u8]) -> Parse<'_, Footer> {
    let (rest, data_checksum) = le_u32(input)?;
    let (rest, file_checksum) = le_u32(rest)?;
    let at_magic = rest;
    let (rest, magic) = array::<4>(rest)?;
    if magic != *FOOTER_MAGIC {
        return refuse(at_magic, ErrorKind::BadFooter);
    }
    let (rest, reserved) = le_u32(rest)?;
    Ok((rest, Footer { data_checksum, file_checksum, reserved }))
}

/// The stream variant's header: magic number, `u32` version 1, `u32` number of tensors.
pub(super) fn stream_header(input: &[u8]) -> Parse<'_, u32> {
    let (rest, _) = array::<4>(input)?;
    let (rest, _version) = le_u32(rest)?;
    le_u32(rest)
}

/// An inline tensor header of the stream variant; the f32 data follows at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StreamTensor<'a> {
    pub(super) name: &'a str,
    pub(super) shape: Shape,
    pub(super) data_bytes: u64,
}

pub(super) fn stream_tensor(input: &[u8]) -> Parse<'_, StreamTensor<'_>> {
    let (rest, name) = stream_string(input)?;
    if name.is_empty() {
        return refuse(input, ErrorKind::EmptyName);
    }
    let Ok(name) = core::str::from_utf8(name) else {
        return refuse(input, ErrorKind::InvalidUtf8);
    };
    let at_ndim = rest;
    let (rest, ndim) = le_u32(rest)?;
    let Ok(ndim @ 1..=4) = usize::try_from(ndim) else {
        return refuse(at_ndim, ErrorKind::BadDimensions);
    };
    let at_dims = rest;
    let (rest, dims) = dims(ndim, false)(rest)?;
    let shape = shape(ndim, dims);
    match data_bytes(&shape, Dtype::F32) {
        Some(data_bytes) => Ok((rest, StreamTensor { name, shape, data_bytes })),
        None => refuse(at_dims, ErrorKind::SizeOverflow),
    }
}

/// A name or token of the stream variant: `u32` length, bytes.
pub(super) fn stream_string(input: &[u8]) -> Parse<'_, &[u8]> {
    let (rest, bytes) = le_u32(input)?;
    if bytes > MAX_STRING_BYTES {
        return refuse(input, ErrorKind::NameTooLong);
    }
    take(bytes as usize)(rest)
}

/// The 32-bit FNV-1a hash that descriptors carry of their names.
#[must_use]
pub fn name_hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_hashes_are_fnv_1a() {
        assert_eq!(name_hash("embeddings.word_embeddings.weight"), 0xdb66_8d90);
        assert_eq!(name_hash("embeddings.LayerNorm.weight"), 0xdfed_a378);
    }
}
