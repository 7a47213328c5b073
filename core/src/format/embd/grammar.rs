//! The items of both EMBD layouts, as nom streaming functions with a known maximum size each.

use nom::Parser;
use nom::sequence::preceded;

use crate::bytes::{
    Parse, array, item, le_u8, le_u16, le_u32, le_u64, length_data, map, map_res, refuse, repeated,
    utf8, verify,
};
use crate::error::ErrorKind;
use crate::tensor::{Dtype, Shape};

/// The first four bytes of both variants.
pub const MAGIC: &[u8; 4] = b"EMBD";
/// The magic number in the footer.
pub(super) const FOOTER_MAGIC: &[u8; 4] = b"DBME";

pub(super) const HEADER_SIZE: usize = 64;
pub(super) const HEADER_BYTES: u64 = HEADER_SIZE as u64;
/// The number of header bytes that its checksum covers.
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

/// The largest number of metadata entries, whose keys must differ; the specification requires ten.
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

    /// Returns true if all bits of `mask` are set.
    #[must_use]
    pub const fn has(self, mask: u32) -> bool {
        self.0 & mask == mask
    }

    /// Returns true if reserved bits are set.
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
    /// The end of the section, exclusive. Offsets are 32-bit and sizes are checked against the
    /// file's end first.
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

/// | offset | field | type |
/// |---|---|---|
/// | 0 | magic number | 4 bytes |
/// | 4 | major version, minor version | `u16` each |
/// | 8 | flags | `u32` |
/// | 12 | metadata | section |
/// | 20 | vocabulary | section |
/// | 28 | offset of the tensor index, number of its descriptors | `u32` each |
/// | 36 | offset of the tensor data | `u32` |
/// | 40 | bytes of the tensor data | `u64` |
/// | 48 | bytes of the file | `u64` |
/// | 56 | checksum of what precedes it | `u32` |
/// | 60 | reserved | `u32` |
pub(super) fn header(input: &[u8]) -> Parse<'_, Header> {
    let (rest, _magic) = array::<4>(input)?;
    item!(
        rest,
        Header {
            major: le_u16,
            minor: le_u16,
            flags: map(le_u32, Flags),
            metadata: section,
            vocabulary: section,
            index_offset: map(le_u32, u64::from),
            index_count: le_u32,
            data: large_section,
            file_bytes: le_u64,
            checksum: le_u32,
            reserved: le_u32,
        }
    )
}

/// As [`section`], with a `u64` for the bytes.
fn large_section(input: &[u8]) -> Parse<'_, Extent> {
    item!(input, Extent { offset: map(le_u32, u64::from), bytes: le_u64 })
}

/// | offset | field | type |
/// |---|---|---|
/// | 0 | offset | `u32` |
/// | 4 | bytes | `u32` |
fn section(input: &[u8]) -> Parse<'_, Extent> {
    item!(input, Extent { offset: map(le_u32, u64::from), bytes: map(le_u32, u64::from) })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MetadataHeader {
    pub(super) entries: u32,
    pub(super) entry_bytes: u32,
}

/// | offset | field | type |
/// |---|---|---|
/// | 0 | number of entries | `u32` |
/// | 4 | bytes of all entries | `u32` |
pub(super) fn metadata_header(input: &[u8]) -> Parse<'_, MetadataHeader> {
    item!(input, MetadataHeader { entries: le_u32, entry_bytes: le_u32 })
}

/// A key, never empty, and its value.
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | bytes of the key, bytes of the value | `u16` each |
/// | 4 | key, value | UTF-8 each |
pub(super) fn metadata_entry(input: &[u8]) -> Parse<'_, (&str, &str)> {
    let lengths = |input| (le_u16, le_u16).parse(input);
    verify(lengths, |&(key_bytes, _)| key_bytes > 0, ErrorKind::EmptyName)
        .flat_map(|(key_bytes, value_bytes)| (utf8(key_bytes.into()), utf8(value_bytes.into())))
        .parse(input)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VocabularyHeader {
    pub(super) tokens: u32,
    pub(super) token_bytes: u32,
    pub(super) special_offset: u32,
}

/// | offset | field | type |
/// |---|---|---|
/// | 0 | number of tokens | `u32` |
/// | 4 | bytes of all token entries | `u32` |
/// | 8 | offset of the special-token block | `u32` |
pub(super) fn vocabulary_header(input: &[u8]) -> Parse<'_, VocabularyHeader> {
    item!(input, VocabularyHeader { tokens: le_u32, token_bytes: le_u32, special_offset: le_u32 })
}

/// A token entry of the section variant.
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | bytes of the token | `u16` |
/// | 2 | token | bytes |
pub(super) fn token(input: &[u8]) -> Parse<'_, &[u8]> {
    length_data(le_u16)(input)
}

/// The special-token block: five `u32` ids in the order of
/// [`SpecialRole::ALL`](crate::event::SpecialRole::ALL).
pub(super) fn special(input: &[u8]) -> Parse<'_, [u32; 5]> {
    repeated(le_u32)(input)
}

/// Returns whether the special-token block precedes the tokens; `None` if it neither precedes nor
/// follows them. The offset is absolute in files written here, relative to the section in other
/// readings of the specification.
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

/// A tensor descriptor of the section variant. The name is in the string table after all
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

/// | offset | field | type |
/// |---|---|---|
/// | 0 | hash of the name | `u32` |
/// | 4 | data type | `u8` |
/// | 5 | number of dimensions, 1 to 4 | `u8` |
/// | 6 | bytes of the name, at least 1 | `u16` |
/// | 8 | dimensions, zeros after them | 4 × `u32` |
/// | 24 | offset in the tensor data | `u64` |
pub(super) fn descriptor(input: &[u8]) -> Parse<'_, Descriptor> {
    let (rest, name_hash) = le_u32(input)?;
    let (rest, dtype) = dtype(rest)?;
    let (rest, ndim) =
        verify(le_u8, |ndim| (1..=4).contains(ndim), ErrorKind::BadDimensions)(rest)?;
    let (dims_at, name_bytes) = verify(le_u16, |&bytes| bytes > 0, ErrorKind::EmptyName)(rest)?;
    let (rest, dims) = dims(ndim.into(), true)(dims_at)?;
    let (rest, data_offset) = le_u64(rest)?;
    let descriptor = Descriptor { name_hash, name_bytes, dtype, ndim, dims, data_offset };
    if data_bytes(&descriptor.shape(), dtype).is_none() {
        return refuse(dims_at, ErrorKind::SizeOverflow);
    }
    Ok((rest, descriptor))
}

/// The length of a descriptor's name.
pub(super) fn descriptor_name_bytes(input: &[u8]) -> Parse<'_, u16> {
    // The name's hash, the data type and the number of dimensions come first.
    preceded(array::<6>, le_u16).parse(input)
}

fn dtype(input: &[u8]) -> Parse<'_, Dtype> {
    map_res(le_u8, |code| dtype_of(code).ok_or(ErrorKind::BadDtype))(input)
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

/// The format's code for `dtype`.
pub(super) fn code_of(dtype: Dtype) -> Option<u8> {
    DTYPES.iter().position(|&known| known == dtype).and_then(|code| u8::try_from(code).ok())
}

/// Four dimensions, or `ndim` of them; `padded` tells whether unused dimensions are stored, as
/// zeros.
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

/// | offset | field | type |
/// |---|---|---|
/// | 0 | checksum of the tensor data | `u32` |
/// | 4 | checksum of the file before the footer | `u32` |
/// | 8 | magic number `DBME` | 4 bytes |
/// | 12 | reserved | `u32` |
pub(super) fn footer(input: &[u8]) -> Parse<'_, Footer> {
    let magic = verify(array::<4>, |magic| magic == FOOTER_MAGIC, ErrorKind::BadFooter);
    let (rest, (data_checksum, file_checksum, _, reserved)) =
        (le_u32, le_u32, magic, le_u32).parse(input)?;
    Ok((rest, Footer { data_checksum, file_checksum, reserved }))
}

/// The stream variant's header: the number of tensors.
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | magic number | 4 bytes |
/// | 4 | version 1 | `u32` |
/// | 8 | number of tensors | `u32` |
pub(super) fn stream_header(input: &[u8]) -> Parse<'_, u32> {
    preceded((array::<4>, le_u32), le_u32).parse(input)
}

/// An inline tensor header of the stream variant; the f32 data follows at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StreamTensor<'a> {
    pub(super) name: &'a str,
    pub(super) shape: Shape,
    pub(super) data_bytes: u64,
}

/// | field | type |
/// |---|---|
/// | name, never empty | string |
/// | number of dimensions, 1 to 4 | `u32` |
/// | dimensions | `u32` each |
pub(super) fn stream_tensor(input: &[u8]) -> Parse<'_, StreamTensor<'_>> {
    let name = map_res(stream_string, |name| match name {
        [] => Err(ErrorKind::EmptyName),
        name => core::str::from_utf8(name).map_err(|_| ErrorKind::InvalidUtf8),
    });
    let ndim = map_res(le_u32, |ndim| match ndim.try_into() {
        Ok(ndim @ 1..=4) => Ok(ndim),
        _ => Err(ErrorKind::BadDimensions),
    });
    (name, ndim.flat_map(stream_shape))
        .map(|(name, (shape, data_bytes))| StreamTensor { name, shape, data_bytes })
        .parse(input)
}

/// `ndim` dimensions, and the size of the f32 data.
fn stream_shape<'a>(ndim: usize) -> impl FnMut(&'a [u8]) -> Parse<'a, (Shape, u64)> {
    map_res(dims(ndim, false), move |dims| {
        let shape = shape(ndim, dims);
        let bytes = data_bytes(&shape, Dtype::F32).ok_or(ErrorKind::SizeOverflow)?;
        Ok((shape, bytes))
    })
}

/// A name or token of the stream variant.
///
/// | offset | field | type |
/// |---|---|---|
/// | 0 | bytes of the string, at most 65,535 | `u32` |
/// | 4 | string | bytes |
pub(super) fn stream_string(input: &[u8]) -> Parse<'_, &[u8]> {
    length_data(verify(le_u32, |&bytes| bytes <= MAX_STRING_BYTES, ErrorKind::NameTooLong))(input)
}

/// The 32-bit FNV-1a hash of a name, as stored in descriptors.
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
