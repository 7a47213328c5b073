//! A segment's bytes as files, passages, parts, rows and terms.
//!
//! Every place in a record is checked when it is used: one outside its section gives an empty text.

use std::borrow::Cow;
use std::ops::Range;

use nanoembed::Bytes;
use nanoembed_ranking::postings;

use super::layout::{
    FILE, Identity, PART, PASSAGE, Sections, Sizes, TERM, parsed, u32_at, u64_at, u128_at,
};

/// Files with their passages, the vectors of their parts and their words.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    bytes: Bytes,
    sizes: Sizes,
    sections: Sections,
    dimensions: usize,
}

/// A file, with its size and time of change when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileRecord<'s> {
    pub(crate) path: &'s [u8],
    pub(crate) passages: Range<u32>,
    pub(crate) size: u64,
    pub(crate) changed: u64,
}

/// A passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PassageRecord<'s> {
    pub(crate) heading: &'s str,
    /// The heading of parts after the first.
    pub(crate) inside: &'s str,
    pub(crate) text: &'s str,
    /// A text that is shown but not searched.
    pub(crate) extra: &'s str,
    pub(crate) parts: Range<u32>,
    pub(crate) terms: u32,
    pub(crate) latin: u32,
    pub(crate) letters: u32,
    /// A digest of heading and text, which equal passages share.
    pub(crate) key: u64,
}

/// A part of a passage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PartRecord {
    pub(crate) range: Range<usize>,
    pub(crate) line: u32,
    pub(crate) end_line: u32,
    pub(crate) heading: u32,
    /// A digest of the text as models read it.
    pub(crate) digest: u128,
}

/// The vector of a part: codes × scale, and the length that it had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row<'s> {
    pub(crate) codes: &'s [u8],
    pub(crate) scale: f32,
    pub(crate) length: f32,
}

impl Segment {
    /// The segment in these bytes; `None` if it is of another identity, or damaged.
    pub(crate) fn parse(bytes: Bytes, identity: &Identity) -> Option<Self> {
        let (sizes, sections) = parsed(&bytes, identity)?;
        Some(Self { bytes, sizes, sections, dimensions: identity.dimensions as usize })
    }

    pub(crate) const fn files(&self) -> u32 {
        self.sizes.files
    }

    pub(crate) const fn passages(&self) -> u32 {
        self.sizes.passages
    }

    pub(crate) const fn parts(&self) -> u32 {
        self.sizes.parts
    }

    pub(crate) const fn terms(&self) -> u32 {
        self.sizes.terms
    }

    fn record(&self, section: &Range<usize>, at: u32, size: usize) -> &[u8] {
        let section = self.bytes.get(section.clone()).unwrap_or_default();
        let start = (at as usize).saturating_mul(size);
        section.get(start..).and_then(|rest| rest.get(..size)).unwrap_or_default()
    }

    fn slice(&self, section: &Range<usize>, start: u64, length: u32) -> &[u8] {
        let section = self.bytes.get(section.clone()).unwrap_or_default();
        let rest = usize::try_from(start).ok().and_then(|start| section.get(start..));
        rest.and_then(|rest| rest.get(..length as usize)).unwrap_or_default()
    }

    pub(crate) fn file(&self, at: u32) -> FileRecord<'_> {
        let record = self.record(&self.sections.files, at, FILE);
        let last = self.passages();
        let end = match at + 1 < self.files() {
            true => u32_at(self.record(&self.sections.files, at + 1, FILE), 12).min(last),
            false => last,
        };
        FileRecord {
            path: self.slice(&self.sections.paths, u64_at(record, 0), u32_at(record, 8)),
            passages: u32_at(record, 12).min(end)..end,
            size: u64_at(record, 16),
            changed: u64_at(record, 24),
        }
    }

    pub(crate) fn passage(&self, at: u32) -> PassageRecord<'_> {
        let record = self.record(&self.sections.passages, at, PASSAGE);
        let mut start = u64_at(record, 0);
        let mut next = |field| {
            let length = u32_at(record, field);
            let bytes = self.slice(&self.sections.texts, start, length);
            start = start.saturating_add(length.into());
            str::from_utf8(bytes).unwrap_or_default()
        };
        let (heading, inside, text, extra) = (next(8), next(12), next(16), next(20));
        PassageRecord {
            heading,
            inside,
            text,
            extra,
            parts: self.parts_of(at),
            terms: u32_at(record, 28),
            latin: u32_at(record, 32),
            letters: u32_at(record, 36),
            key: u64_at(record, 40),
        }
    }

    /// The parts of a passage.
    pub(crate) fn parts_of(&self, passage: u32) -> Range<u32> {
        let first = |at| u32_at(self.record(&self.sections.passages, at, PASSAGE), 24);
        let last = self.sizes.parts;
        let end = match passage + 1 < self.passages() {
            true => first(passage + 1).min(last),
            false => last,
        };
        first(passage).min(end)..end
    }

    /// A passage's key, number of terms, Latin letters and letters, without its texts.
    pub(crate) fn numbers(&self, passage: u32) -> (u64, u32, u32, u32) {
        let record = self.record(&self.sections.passages, passage, PASSAGE);
        (u64_at(record, 40), u32_at(record, 28), u32_at(record, 32), u32_at(record, 36))
    }

    /// All texts of a passage one after the other, and the bytes of each.
    pub(super) fn texts_of(&self, passage: u32) -> (&[u8], [u32; 4]) {
        let record = self.record(&self.sections.passages, passage, PASSAGE);
        let lengths = [8, 12, 16, 20].map(|field| u32_at(record, field));
        let all = lengths.iter().try_fold(0_u32, |sum, length| sum.checked_add(*length));
        (self.slice(&self.sections.texts, u64_at(record, 0), all.unwrap_or(0)), lengths)
    }

    pub(crate) fn part(&self, at: u32) -> PartRecord {
        let record = self.record(&self.sections.parts, at, PART);
        let start = u32_at(record, 0) as usize;
        PartRecord {
            range: start..start.saturating_add(u32_at(record, 4) as usize),
            line: u32_at(record, 8),
            end_line: u32_at(record, 12),
            heading: u32_at(record, 16),
            digest: u128_at(record, 32),
        }
    }

    /// The vector of a part.
    pub(crate) fn row(&self, part: u32) -> Row<'_> {
        let record = self.record(&self.sections.parts, part, PART);
        Row {
            codes: self.record(&self.sections.rows, part, self.dimensions),
            scale: f32::from_bits(u32_at(record, 20)),
            length: f32::from_bits(u32_at(record, 24)),
        }
    }

    pub(super) fn term(&self, at: u32) -> (&[u8], &[u8]) {
        let record = self.record(&self.sections.terms, at, TERM);
        let name = self.slice(&self.sections.names, u32_at(record, 0).into(), u32_at(record, 4));
        let postings = self.slice(&self.sections.postings, u64_at(record, 8), u32_at(record, 16));
        (name, postings)
    }

    /// The passages that have a term, with its count in each.
    pub(crate) fn postings(&self, term: &str) -> impl Iterator<Item = (u32, u32)> {
        let (mut low, mut high) = (0, self.terms());
        let mut found: &[u8] = &[];
        while low < high {
            let middle = low + (high - low) / 2;
            let (name, postings) = self.term(middle);
            match name.cmp(term.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    found = postings;
                    break;
                }
            }
        }
        postings::read(found)
    }
}

impl<'s> PassageRecord<'s> {
    /// The text of a part.
    pub(crate) fn text_of(&self, part: &PartRecord) -> &'s str {
        self.text.get(part.range.clone()).unwrap_or_default()
    }

    /// The text of a part as models read it.
    pub(crate) fn read_of(&self, part: &PartRecord) -> Cow<'s, str> {
        let heading = match part.heading {
            1 => self.heading,
            2 => self.inside,
            _ => "",
        };
        crate::passage::under(heading, self.text_of(part))
    }
}
