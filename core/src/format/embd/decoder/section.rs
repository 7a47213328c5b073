//! The section variant: header, then the sections in the order of their offsets, the footer last.

use heapless::Vec;

use super::super::grammar::{
    self, CHECKED_HEADER_SIZE, DATA_ALIGNMENT, DESCRIPTOR_BYTES, Descriptor, Extent, FOOTER_BYTES, Flags, Footer,
    HEADER_BYTES, Header, MAX_METADATA_ENTRIES, METADATA_HEADER_BYTES, SPECIAL_BYTES, VOCABULARY_HEADER_BYTES, name_hash,
};
use crate::bytes::{Item, bounded, le_u32, parse, pass, utf8, within};
use crate::crc32::crc32;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, FileInfo, Format, Mode, SpecialRole, Step};
use crate::tensor::identity::{self, remember};
use crate::tensor::TensorHeader;

/// Where the header's fields lie, for errors about them.
mod field {
    pub(super) const FLAGS: u64 = 8;
    pub(super) const METADATA_OFFSET: u64 = 12;
    pub(super) const METADATA_BYTES: u64 = 16;
    pub(super) const VOCABULARY_OFFSET: u64 = 20;
    pub(super) const VOCABULARY_BYTES: u64 = 24;
    pub(super) const INDEX_OFFSET: u64 = 28;
    pub(super) const INDEX_COUNT: u64 = 32;
    pub(super) const DATA_OFFSET: u64 = 36;
    pub(super) const DATA_BYTES: u64 = 40;
    pub(super) const FILE_BYTES: u64 = 48;
    pub(super) const CHECKSUM: u64 = 56;
    pub(super) const RESERVED: u64 = 60;
    /// Within a tensor descriptor.
    pub(super) const DESCRIPTOR_DATA_OFFSET: u64 = 24;
}

/// What the footer says, for [`Verifier`](super::super::Verifier).
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Checksums {
    pub(in super::super) footer_offset: u64,
    pub(in super::super) data: u32,
    pub(in super::super) file: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Metadata,
    Vocabulary,
    Index,
    Data,
    Footer,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Between two parts.
    Gap {
        until: u64,
        then: Part,
    },
    MetadataHeader,
    MetadataEntries {
        remaining: u32,
        end: u64,
    },
    VocabularyHeader,
    Special {
        next: u8,
        tokens_follow: Option<u32>,
        end: u64,
    },
    Tokens {
        next: u32,
        count: u32,
        special_follows: bool,
        end: u64,
    },
    Descriptors {
        next: u32,
        name_bytes: u64,
    },
    Names {
        next: usize,
    },
    /// Inside the data section, before the next tensor or the section's end is looked up.
    Data,
    Padding {
        until: u64,
    },
    Tensor {
        until: u64,
    },
    Footer,
    Complete,
}

/// A tensor's descriptor and a hash of its name that is long enough to tell names apart.
#[derive(Clone, Copy, Debug)]
struct Kept {
    descriptor: Descriptor,
    name: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Section<const TENSORS: usize> {
    header: Header,
    mode: Mode,
    passes_tokens: bool,
    state: State,
    keys: Vec<u64, MAX_METADATA_ENTRIES>,
    tensors: Vec<Kept, TENSORS>,
    footer: Option<Footer>,
}

impl<const TENSORS: usize> Section<TENSORS> {
    /// Checks `header` against itself; `start` are the file's first bytes, for the header's checksum.
    pub(super) fn new(
        header: Header,
        start: &[u8],
        mode: Mode,
        passes_tokens: bool,
    ) -> Result<Self> {
        check_flags(&header, mode)?;
        check_checksum(&header, start)?;
        check_places(&header)?;
        if header.index_count as usize > TENSORS {
            return Err(Error::new(field::INDEX_COUNT, ErrorKind::TooManyTensors));
        }
        let mut section = Self {
            header,
            mode,
            passes_tokens,
            state: State::Complete,
            keys: Vec::new(),
            tensors: Vec::new(),
            footer: None,
        };
        section.leave(HEADER_BYTES);
        Ok(section)
    }

    pub(super) fn info(&self) -> FileInfo {
        FileInfo {
            format: Format::Embd,
            variant: "section",
            version: (self.header.major, self.header.minor),
            tensors: Some(self.header.index_count),
            file_bytes: Some(self.header.file_bytes),
        }
    }

    pub(super) const fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn checksums(&self) -> Option<Checksums> {
        let footer = self.footer.filter(|_| self.header.flags.has(Flags::CHECKSUMS))?;
        Some(Checksums {
            footer_offset: self.header.data.end(),
            data: footer.data_checksum,
            file: footer.file_checksum,
        })
    }

    pub(super) const fn is_complete(&self) -> bool {
        matches!(self.state, State::Complete)
    }

    pub(super) fn skippable(&self, offset: u64) -> u64 {
        let strict = self.mode == Mode::Strict;
        match self.state {
            State::Tensor { until } => until.saturating_sub(offset),
            State::Gap { until, .. } | State::Padding { until } if !strict => {
                until.saturating_sub(offset)
            }
            _ => 0,
        }
    }

    pub(super) fn next<'a>(&mut self, input: &'a [u8], offset: u64) -> Result<Step<'a>> {
        match self.state {
            State::Gap { until, then } if offset >= until => {
                self.state = match then {
                    Part::Metadata => State::MetadataHeader,
                    Part::Vocabulary => State::VocabularyHeader,
                    Part::Index => State::Descriptors { next: 0, name_bytes: 0 },
                    Part::Data => State::Data,
                    Part::Footer => State::Footer,
                };
                Ok(Step::silent(0))
            }
            State::Padding { until } | State::Tensor { until } if offset >= until => {
                self.state = State::Data;
                Ok(Step::silent(0))
            }
            State::Gap { until, .. } | State::Padding { until } => self.pass(input, offset, until),
            State::MetadataHeader => self.metadata_header(input, offset),
            State::MetadataEntries { remaining, end } => {
                self.metadata_entry(input, offset, remaining, end)
            }
            State::VocabularyHeader => self.vocabulary_header(input, offset),
            State::Special { next, tokens_follow, end } => {
                self.special(input, offset, next, tokens_follow, end)
            }
            State::Tokens { next, count, special_follows, end } => {
                self.token(input, offset, next, count, special_follows, end)
            }
            State::Descriptors { next, name_bytes } => {
                self.descriptor(input, offset, next, name_bytes)
            }
            State::Names { next } => self.name(input, offset, next),
            State::Data => {
                self.state = self.data_at(offset);
                Ok(Step::silent(0))
            }
            State::Tensor { until } => Ok(Step::data(input, offset, until)),
            State::Footer => self.footer(input, offset),
            State::Complete if input.is_empty() => Ok(Step::new(0, Event::End)),
            State::Complete => Err(Error::new(offset, ErrorKind::TrailingBytes)),
        }
    }

    /// Goes on to the part that lies next at or behind `offset`.
    fn leave(&mut self, offset: u64) {
        let header = &self.header;
        let vocabulary = header.flags.has(Flags::VOCABULARY);
        let parts = [
            (header.metadata.offset, Part::Metadata, true),
            (header.vocabulary.offset, Part::Vocabulary, vocabulary),
            (header.index_offset, Part::Index, header.index_count > 0),
        ];
        let data = (header.data.offset, Part::Data);
        let (until, then) = parts
            .into_iter()
            .filter(|&(start, _, present)| present && start >= offset)
            .map(|(start, part, _)| (start, part))
            .fold(data, |first, part| if part.0 < first.0 { part } else { first });
        self.state = State::Gap { until, then };
    }

    /// Where the part that starts at or behind `offset` begins: the end of what may lie before it.
    fn bound_behind(&self, offset: u64) -> u64 {
        let header = &self.header;
        let vocabulary = header.flags.has(Flags::VOCABULARY).then_some(header.vocabulary.offset);
        [Some(header.metadata.offset), vocabulary]
            .into_iter()
            .flatten()
            .filter(|&start| start > offset)
            .fold(header.data.offset, u64::min)
    }

    fn pass<'a>(&self, input: &'a [u8], offset: u64, until: u64) -> Result<Step<'a>> {
        let gap = within(input, offset, until);
        if gap.is_empty() {
            return Ok(Step::need_more(1));
        }
        if self.mode == Mode::Strict
            && let Some(at) = gap.iter().position(|&byte| byte != 0)
        {
            return Err(Error::new(offset.saturating_add(at as u64), ErrorKind::ReservedNotZero));
        }
        Ok(Step::silent(gap.len()))
    }

    fn metadata_header<'a>(&mut self, input: &'a [u8], offset: u64) -> Result<Step<'a>> {
        let end = self.header.metadata.end();
        let (head, used) = match bounded(grammar::metadata_header, input, offset, end)? {
            Item::Parsed { item, used } => (item, used),
            Item::NeedMore { at_least } => return Ok(Step::need_more(at_least)),
        };
        let entry_bytes = self.header.metadata.bytes.saturating_sub(METADATA_HEADER_BYTES);
        if u64::from(head.entry_bytes) != entry_bytes {
            return Err(Error::new(offset.saturating_add(4), ErrorKind::SizeMismatch));
        }
        if u64::from(head.entries) > entry_bytes / 5 {
            return Err(Error::new(offset, ErrorKind::BadCount));
        }
        if head.entries as usize > MAX_METADATA_ENTRIES {
            return Err(Error::new(offset, ErrorKind::TooManyEntries));
        }
        self.state = State::MetadataEntries { remaining: head.entries, end };
        Ok(Step::silent(used))
    }

    fn metadata_entry<'a>(
        &mut self,
        input: &'a [u8],
        offset: u64,
        remaining: u32,
        end: u64,
    ) -> Result<Step<'a>> {
        if remaining == 0 {
            return self.finish_part(offset, end);
        }
        let ((key, value), used) = match bounded(grammar::metadata_entry, input, offset, end)? {
            Item::Parsed { item, used } => (item, used),
            Item::NeedMore { at_least } => return Ok(Step::need_more(at_least)),
        };
        remember(&mut self.keys, key, offset, ErrorKind::TooManyEntries)?;
        self.state = State::MetadataEntries { remaining: remaining.saturating_sub(1), end };
        Ok(Step::new(used, Event::Metadata { key, value }))
    }

    /// Leaves a part whose declared size must equal its content.
    fn finish_part<'a>(&mut self, offset: u64, end: u64) -> Result<Step<'a>> {
        if offset != end {
            return Err(Error::new(offset, ErrorKind::SizeMismatch));
        }
        self.leave(offset);
        Ok(Step::silent(0))
    }

    fn vocabulary_header<'a>(&mut self, input: &'a [u8], offset: u64) -> Result<Step<'a>> {
        let section = self.header.vocabulary;
        let end = section.end();
        let (head, used) = match bounded(grammar::vocabulary_header, input, offset, end)? {
            Item::Parsed { item, used } => (item, used),
            Item::NeedMore { at_least } => return Ok(Step::need_more(at_least)),
        };
        let token_bytes =
            section.bytes.saturating_sub(VOCABULARY_HEADER_BYTES.saturating_add(SPECIAL_BYTES));
        if u64::from(head.tokens) > token_bytes / 2 {
            return Err(Error::new(offset, ErrorKind::BadCount));
        }
        // The specification leaves open what `total_size` counts; all four readings are met.
        let counted =
            [0, SPECIAL_BYTES, VOCABULARY_HEADER_BYTES, VOCABULARY_HEADER_BYTES + SPECIAL_BYTES];
        if !counted
            .iter()
            .any(|extra| token_bytes.checked_add(*extra) == Some(head.token_bytes.into()))
        {
            return Err(Error::new(offset.saturating_add(4), ErrorKind::SizeMismatch));
        }
        let special_first = grammar::special_is_first(section, head.special_offset)
            .ok_or(Error::new(offset.saturating_add(8), ErrorKind::OutOfBounds))?;
        self.state = if special_first {
            State::Special { next: 0, tokens_follow: Some(head.tokens), end }
        } else {
            State::Tokens { next: 0, count: head.tokens, special_follows: true, end }
        };
        Ok(Step::silent(used))
    }

    fn special<'a>(
        &mut self,
        input: &'a [u8],
        offset: u64,
        next: u8,
        tokens_follow: Option<u32>,
        end: u64,
    ) -> Result<Step<'a>> {
        let Some(&role) = SpecialRole::ALL.get(usize::from(next)) else {
            return match tokens_follow {
                None => self.finish_part(offset, end),
                Some(count) => {
                    self.state = State::Tokens { next: 0, count, special_follows: false, end };
                    Ok(Step::silent(0))
                }
            };
        };
        let (id, used) = match bounded(le_u32, input, offset, end)? {
            Item::Parsed { item, used } => (item, used),
            Item::NeedMore { at_least } => return Ok(Step::need_more(at_least)),
        };
        self.state = State::Special { next: next.saturating_add(1), tokens_follow, end };
        Ok(Step::new(used, Event::SpecialToken { role, id }))
    }

    fn token<'a>(
        &mut self,
        input: &'a [u8],
        offset: u64,
        next: u32,
        count: u32,
        special_follows: bool,
        end: u64,
    ) -> Result<Step<'a>> {
        let tokens_end = if special_follows { end.saturating_sub(SPECIAL_BYTES) } else { end };
        if next == count {
            if !special_follows {
                return self.finish_part(offset, end);
            }
            if offset != tokens_end {
                return Err(Error::new(offset, ErrorKind::SizeMismatch));
            }
            self.state = State::Special { next: 0, tokens_follow: None, end };
            return Ok(Step::silent(0));
        }
        if self.passes_tokens {
            let left = count.saturating_sub(next);
            let (passed, used) = pass(grammar::token, input, offset, tokens_end, left);
            if passed > 0 {
                let next = next.saturating_add(passed);
                self.state = State::Tokens { next, count, special_follows, end };
                return Ok(Step::silent(used));
            }
        }
        let (bytes, used) = match bounded(grammar::token, input, offset, tokens_end)? {
            Item::Parsed { item, used } => (item, used),
            Item::NeedMore { at_least } => return Ok(Step::need_more(at_least)),
        };
        let id = next;
        self.state = State::Tokens { next: next.saturating_add(1), count, special_follows, end };
        Ok(Step::new(used, Event::Token { id, bytes }))
    }

    fn descriptor<'a>(
        &mut self,
        input: &'a [u8],
        offset: u64,
        next: u32,
        name_bytes: u64,
    ) -> Result<Step<'a>> {
        let bound = self.bound_behind(self.header.index_offset);
        if next == self.header.index_count {
            if offset.saturating_add(name_bytes) > bound {
                return Err(Error::new(offset, ErrorKind::OutOfBounds));
            }
            self.state = State::Names { next: 0 };
            return Ok(Step::silent(0));
        }
        let (descriptor, used) = match bounded(grammar::descriptor, input, offset, bound)? {
            Item::Parsed { item, used } => (item, used),
            Item::NeedMore { at_least } => return Ok(Step::need_more(at_least)),
        };
        self.check_tensor_place(&descriptor).map_err(|kind| {
            Error::new(offset.saturating_add(field::DESCRIPTOR_DATA_OFFSET), kind)
        })?;
        let kept = Kept { descriptor, name: 0 };
        if self.tensors.push(kept).is_err() {
            return Err(Error::new(field::INDEX_COUNT, ErrorKind::TooManyTensors));
        }
        self.state = State::Descriptors {
            next: next.saturating_add(1),
            name_bytes: name_bytes.saturating_add(descriptor.name_bytes.into()),
        };
        Ok(Step::silent(used))
    }

    fn check_tensor_place(&self, descriptor: &Descriptor) -> core::result::Result<(), ErrorKind> {
        let place = self.place(descriptor).ok_or(ErrorKind::OutOfBounds)?;
        let aligned = self.header.flags.has(Flags::ALIGNED);
        if aligned && self.mode == Mode::Strict && !place.offset.is_multiple_of(DATA_ALIGNMENT) {
            return Err(ErrorKind::Misaligned);
        }
        let taken = self.tensors.iter().filter_map(|kept| self.place(&kept.descriptor));
        for other in taken {
            if place.overlaps(other) {
                return Err(ErrorKind::Overlap);
            }
        }
        Ok(())
    }

    /// A tensor's absolute place; `None` if it does not lie inside the data section.
    fn place(&self, descriptor: &Descriptor) -> Option<Extent> {
        let bytes = descriptor.data_bytes();
        let end = descriptor.data_offset.checked_add(bytes)?;
        let offset = self.header.data.offset.checked_add(descriptor.data_offset)?;
        (end <= self.header.data.bytes).then_some(Extent { offset, bytes })
    }

    fn name<'a>(&mut self, input: &'a [u8], offset: u64, next: usize) -> Result<Step<'a>> {
        let Some(kept) = self.tensors.get(next) else {
            self.leave(offset);
            return Ok(Step::silent(0));
        };
        let Descriptor { name_bytes, name_hash: declared, dtype, .. } = kept.descriptor;
        let shape = kept.descriptor.shape();
        let name = match parse(utf8(name_bytes.into()), input, offset)? {
            Item::Parsed { item, .. } => item,
            Item::NeedMore { at_least } => return Ok(Step::need_more(at_least)),
        };
        let descriptor_offset =
            DESCRIPTOR_BYTES.saturating_mul(next as u64).saturating_add(self.header.index_offset);
        if self.mode == Mode::Strict && name_hash(name) != declared {
            return Err(Error::new(descriptor_offset, ErrorKind::NameHashMismatch));
        }
        let hash = identity::hash(name);
        if self.tensors.iter().take(next).any(|other| other.name == hash) {
            return Err(Error::new(offset, ErrorKind::DuplicateName));
        }
        let place = self.place(&kept.descriptor).unwrap_or(self.header.data);
        if let Some(kept) = self.tensors.get_mut(next) {
            kept.name = hash;
        }
        self.state = State::Names { next: next.saturating_add(1) };
        let header = TensorHeader { name, dtype, shape, offset: place.offset, bytes: place.bytes };
        Ok(Step::new(name.len(), Event::Tensor(header)))
    }

    /// What lies at `offset` of the data section: a tensor, or padding up to the next one or the end.
    fn data_at(&self, offset: u64) -> State {
        let end = self.header.data.end();
        if offset >= end {
            return State::Gap { until: end, then: Part::Footer };
        }
        let mut padding_end = end;
        for place in self.tensors.iter().filter_map(|kept| self.place(&kept.descriptor)) {
            if (place.offset..place.end()).contains(&offset) {
                return State::Tensor { until: place.end() };
            }
            if place.offset > offset {
                padding_end = padding_end.min(place.offset);
            }
        }
        State::Padding { until: padding_end }
    }

    fn footer<'a>(&mut self, input: &'a [u8], offset: u64) -> Result<Step<'a>> {
        let (footer, used) = match parse(grammar::footer, input, offset)? {
            Item::Parsed { item, used } => (item, used),
            Item::NeedMore { at_least } => return Ok(Step::need_more(at_least)),
        };
        if self.mode == Mode::Strict && footer.reserved != 0 {
            return Err(Error::new(offset.saturating_add(12), ErrorKind::ReservedNotZero));
        }
        self.footer = Some(footer);
        self.state = State::Complete;
        Ok(Step::silent(used))
    }
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

/// Every section inside the file, behind the header and before the footer, and none over another.
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
    // The data ends where the footer begins, so whatever stands behind its start is inside it.
    match places.iter().find(|(_, place)| place.bytes > 0 && place.offset > header.data.offset) {
        Some((at, _)) => Err(Error::new(*at, ErrorKind::Overlap)),
        None => Ok(()),
    }
}
