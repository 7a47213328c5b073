//! The layout of a segment: a header, tables of records of one size, and the bytes that they point to.
//!
//! All numbers are little-endian.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | magic with the version of layout, cutting and terms |
//! | 8 | 16 | fingerprint of the vector space and of how texts are cut |
//! | 24 | 16 | digest of the folder's path |
//! | 40 | 4 | elements of a row; 0 without vectors |
//! | 44 | 4 × 4 | numbers of files, passages, parts, terms |
//! | 60 | 4 | 0 |
//! | 64 | 4 × 8 | bytes of paths, names of terms, postings, texts |
//! | 96 | 16 | digest of all that follows the header |
//! | 112 | 16 | digest of the header before |
//!
//! | record | fields |
//! |---|---|
//! | file | u64 start of the path, u32 its bytes, u32 first passage, u64 size, u64 time of change in ns |
//! | passage | u64 start of its texts, u32 bytes of heading, heading of later parts, text, extra; u32 first part, terms, Latin letters, letters; u64 key of heading and text |
//! | part | u32 start, bytes (of the passage's text), first and last line, heading that it is read under (0 none, 1 the passage's, 2 that of later parts), f32 scale of the row, length of the vector, u32 0, u128 digest of the text as read |
//! | term | u32 start of the name, u32 its bytes, u64 start of its postings, u32 their bytes, u32 0 |
//!
//! Files are in the order of their paths, terms in that of their bytes. The tables are followed by
//! paths, names, postings (LEB128: passages as differences, and how often the term is there), rows (a
//! signed byte for each element) and texts.

use std::ops::Range;

use nanoembed::digest::digest;
use rayon::prelude::*;

/// The magic bytes. They change with the layout, and with the way that texts become passages and terms.
pub(crate) const MAGIC: [u8; 8] = *b"nembidx1";

pub(super) const HEADER: usize = 128;
pub(super) const FILE: usize = 32;
pub(super) const PASSAGE: usize = 48;
pub(super) const PART: usize = 48;
pub(super) const TERM: usize = 24;

/// Bytes whose digest a thread computes at a time.
const CHUNK: usize = 1 << 20;

/// The model whose vectors a segment holds, and the folder whose texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) fingerprint: u128,
    pub(crate) root: u128,
    pub(crate) dimensions: u32,
}

/// The sizes of a segment's sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) files: u32,
    pub(super) passages: u32,
    pub(super) parts: u32,
    pub(super) terms: u32,
    pub(super) paths: u64,
    pub(super) names: u64,
    pub(super) postings: u64,
    pub(super) texts: u64,
}

/// The places of a segment's sections.
#[derive(Clone, Debug, Default)]
pub(super) struct Sections {
    pub(super) files: Range<usize>,
    pub(super) passages: Range<usize>,
    pub(super) parts: Range<usize>,
    pub(super) terms: Range<usize>,
    pub(super) paths: Range<usize>,
    pub(super) names: Range<usize>,
    pub(super) postings: Range<usize>,
    pub(super) rows: Range<usize>,
    pub(super) texts: Range<usize>,
}

impl Sizes {
    /// The places of all sections; `None` if their sizes overflow.
    pub(super) fn sections(&self, dimensions: u32) -> Option<Sections> {
        let mut at = HEADER;
        let mut next = |count: u64, of: u64| {
            let start = at;
            at = start.checked_add(usize::try_from(count.checked_mul(of)?).ok()?)?;
            Some(start..at)
        };
        Some(Sections {
            files: next(self.files.into(), FILE as u64)?,
            passages: next(self.passages.into(), PASSAGE as u64)?,
            parts: next(self.parts.into(), PART as u64)?,
            terms: next(self.terms.into(), TERM as u64)?,
            paths: next(self.paths, 1)?,
            names: next(self.names, 1)?,
            postings: next(self.postings, 1)?,
            rows: next(self.parts.into(), dimensions.into())?,
            texts: next(self.texts, 1)?,
        })
    }
}

/// The header of a segment with this body, which is all that follows it.
pub(super) fn header(identity: &Identity, sizes: &Sizes, body: &[u8]) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER);
    header.extend(MAGIC);
    header.extend(identity.fingerprint.to_le_bytes());
    header.extend(identity.root.to_le_bytes());
    let counts = [identity.dimensions, sizes.files, sizes.passages, sizes.parts, sizes.terms, 0];
    header.extend(counts.iter().flat_map(|count| count.to_le_bytes()));
    let lengths = [sizes.paths, sizes.names, sizes.postings, sizes.texts];
    header.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
    header.extend(body_digest(body).to_le_bytes());
    header.extend(digest(&header).to_le_bytes());
    header
}

/// The sizes in a segment's header, and the places of its sections; `None` if the segment is of
/// another identity, or damaged.
pub(super) fn parsed(bytes: &[u8], identity: &Identity) -> Option<(Sizes, Sections)> {
    let (header, body) = bytes.split_at_checked(HEADER)?;
    let told = header.get(112..)?;
    if !header.starts_with(&MAGIC) || digest(header.get(..112)?).to_le_bytes() != *told {
        return None;
    }
    let own = Identity {
        fingerprint: u128_at(header, 8),
        root: u128_at(header, 24),
        dimensions: u32_at(header, 40),
    };
    let sizes = Sizes {
        files: u32_at(header, 44),
        passages: u32_at(header, 48),
        parts: u32_at(header, 52),
        terms: u32_at(header, 56),
        paths: u64_at(header, 64),
        names: u64_at(header, 72),
        postings: u64_at(header, 80),
        texts: u64_at(header, 88),
    };
    let sections = sizes.sections(own.dimensions)?;
    let is_whole = own == *identity && sections.texts.end == bytes.len();
    (is_whole && body_digest(body) == u128_at(header, 96)).then_some((sizes, sections))
}

fn body_digest(body: &[u8]) -> u128 {
    let digests: Vec<[u8; 16]> =
        body.par_chunks(CHUNK).map(|chunk| digest(chunk).to_le_bytes()).collect();
    digest(digests.as_flattened())
}

/// A number at a place; 0 if there is none.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    array_at(bytes, at).map_or(0, u32::from_le_bytes)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    array_at(bytes, at).map_or(0, u64::from_le_bytes)
}

pub(super) fn u128_at(bytes: &[u8], at: usize) -> u128 {
    array_at(bytes, at).map_or(0, u128::from_le_bytes)
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}
