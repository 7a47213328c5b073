//! Consistency checks of the header, before anything after it is read.

use crate::crc32::crc32;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Mode;
use crate::format::embd::grammar::{
    CHECKED_HEADER_SIZE, DESCRIPTOR_BYTES, Extent, FOOTER_BYTES, Flags, HEADER_BYTES, Header,
    METADATA_HEADER_BYTES, SPECIAL_BYTES, VOCABULARY_HEADER_BYTES,
};

/// Offsets of the header's fields, for errors about them.
pub(super) mod field {
    pub(super) const FLAGS: u64 = 8;
    pub(super) const METADATA_OFFSET: u64 = 12;
    pub(super) const METADATA_BYTES: u64 = 16;
    pub(super) const VOCABULARY_OFFSET: u64 = 20;
    pub(super) const VOCABULARY_BYTES: u64 = 24;
    pub(super) const INDEX_OFFSET: u64 = 28;
    pub(in super::super) const INDEX_COUNT: u64 = 32;
    pub(super) const DATA_OFFSET: u64 = 36;
    pub(super) const DATA_BYTES: u64 = 40;
    pub(super) const FILE_BYTES: u64 = 48;
    pub(super) const CHECKSUM: u64 = 56;
    pub(super) const RESERVED: u64 = 60;
}

/// Checks `header` against itself and, if it has a checksum, against the file's first bytes.
pub(super) fn check(header: &Header, start: &[u8], mode: Mode) -> Result<()> {
    check_flags(header, mode)?;
    check_checksum(header, start)?;
    check_places(header)
}

fn check_flags(header: &Header, mode: Mode) -> Result<()> {
    if header.flags.has(Flags::COMPRESSED) {
        return Err(Error::new(field::FLAGS, ErrorKind::Compressed));
    }
    if mode == Mode::Strict {
        if header.flags.has_unknown() {
            return Err(Error::new(field::FLAGS, ErrorKind::UnknownFlags));
        }
        if header.reserved != 0 {
            return Err(Error::new(field::RESERVED, ErrorKind::ReservedNotZero));
        }
    }
    Ok(())
}

fn check_checksum(header: &Header, start: &[u8]) -> Result<()> {
    let unchecked = !header.flags.has(Flags::CHECKSUMS) && header.checksum == 0;
    let covered = start.get(..CHECKED_HEADER_SIZE).unwrap_or(start);
    if unchecked || crc32(covered) == header.checksum {
        Ok(())
    } else {
        Err(Error::new(field::CHECKSUM, ErrorKind::HeaderChecksum))
    }
}

/// Checks that every section is between the header and the footer, and that none overlap.
fn check_places(header: &Header) -> Result<()> {
    let data_end = header.data.offset.checked_add(header.data.bytes);
    let Some(data_end) = data_end else {
        return Err(Error::new(field::DATA_BYTES, ErrorKind::OutOfBounds));
    };
    if data_end.checked_add(FOOTER_BYTES) != Some(header.file_bytes) {
        return Err(Error::new(field::FILE_BYTES, ErrorKind::SizeMismatch));
    }
    let index = Extent {
        offset: header.index_offset,
        bytes: DESCRIPTOR_BYTES.saturating_mul(header.index_count.into()),
    };
    if header.metadata.bytes < METADATA_HEADER_BYTES {
        return Err(Error::new(field::METADATA_BYTES, ErrorKind::SizeMismatch));
    }
    let vocabulary = header.flags.has(Flags::VOCABULARY).then_some(header.vocabulary);
    if vocabulary.is_some_and(|place| place.bytes < VOCABULARY_HEADER_BYTES + SPECIAL_BYTES) {
        return Err(Error::new(field::VOCABULARY_BYTES, ErrorKind::SizeMismatch));
    }
    let empty = Extent { offset: HEADER_BYTES, bytes: 0 };
    let places = [
        (field::METADATA_OFFSET, header.metadata),
        (field::VOCABULARY_OFFSET, vocabulary.unwrap_or(empty)),
        (field::INDEX_OFFSET, index),
        (field::DATA_OFFSET, header.data),
    ];
    let inside = |place: &Extent| place.offset >= HEADER_BYTES && place.end() <= data_end;
    if let Some((at, _)) = places.iter().find(|(_, place)| !inside(place)) {
        return Err(Error::new(*at, ErrorKind::OutOfBounds));
    }
    let mut before = places.iter();
    while let Some((at, place)) = before.next_back() {
        if before.clone().any(|(_, other)| place.overlaps(*other)) {
            return Err(Error::new(*at, ErrorKind::Overlap));
        }
    }
    // The data ends where the footer begins, so a section after its start would be inside it.
    match places.iter().find(|(_, place)| place.bytes > 0 && place.offset > header.data.offset) {
        Some((at, _)) => Err(Error::new(*at, ErrorKind::Overlap)),
        None => Ok(()),
    }
}
