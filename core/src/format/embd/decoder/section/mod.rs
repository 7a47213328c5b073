//! The section variant: header, then the sections in the order of their offsets, the footer last.

mod header;
mod index;
mod metadata;
mod vocabulary;

use self::header::field;
use super::table::{Records, Table};
use crate::bytes::{parse, within};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, FileInfo, Format, Mode, Step, Version};
use crate::format::embd::grammar::{self, Flags, Footer, HEADER_BYTES, Header};

/// The offset of the number of tensors.
pub(super) const COUNT_AT: u64 = field::INDEX_COUNT;

/// The footer's checksums, for [`EmbdVerifier`](super::super::EmbdVerifier).
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

#[derive(Clone, Debug)]
pub(super) struct Section {
    header: Header,
    mode: Mode,
    passes_tokens: bool,
    state: State,
    footer: Option<Footer>,
}

impl Section {
    /// Checks that `header` is consistent and that there is room for its tensors; `start` are the
    /// file's first bytes, which the header's checksum covers.
    pub(super) fn new<R: Records + ?Sized>(
        header: Header,
        start: &[u8],
        mode: Mode,
        passes_tokens: bool,
        table: &Table<'_, R>,
    ) -> Result<Self> {
        header::check(&header, start, mode)?;
        table.check_room(header.index_count, COUNT_AT)?;
        let mut section =
            Self { header, mode, passes_tokens, state: State::Complete, footer: None };
        section.leave(HEADER_BYTES);
        Ok(section)
    }

    pub(super) fn info(&self) -> FileInfo {
        FileInfo {
            format: Format::Embd,
            variant: "section",
            version: Version::new(self.header.major, self.header.minor),
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

    pub(super) fn next<'a, R: Records + ?Sized>(
        &mut self,
        table: &mut Table<'_, R>,
        input: &'a [u8],
        offset: u64,
    ) -> Result<Step<'a>> {
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
                self.metadata_entry(table, input, offset, remaining, end)
            }
            State::VocabularyHeader => self.vocabulary_header(input, offset),
            State::Special { next, tokens_follow, end } => {
                self.special(input, offset, next, tokens_follow, end)
            }
            State::Tokens { next, count, special_follows, end } => {
                self.token(input, offset, next, count, special_follows, end)
            }
            State::Descriptors { next, name_bytes } => {
                self.descriptor(table, input, offset, next, name_bytes)
            }
            State::Names { next } => self.name(table, input, offset, next),
            State::Data => {
                self.state = self.data_at(table, offset);
                Ok(Step::silent(0))
            }
            State::Tensor { until } => Ok(Step::data(input, offset, until)),
            State::Footer => self.footer(input, offset),
            State::Complete if input.is_empty() => Ok(Step::new(0, Event::End)),
            State::Complete => Err(Error::new(offset, ErrorKind::TrailingBytes)),
        }
    }

    /// Proceeds to the next part at or after `offset`.
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

    /// The start of the next part at or after `offset`, which bounds anything before it.
    fn bound_after(&self, offset: u64) -> u64 {
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

    /// Leaves a part whose declared size must equal its contents.
    fn finish_part<'a>(&mut self, offset: u64, end: u64) -> Result<Step<'a>> {
        if offset != end {
            return Err(Error::new(offset, ErrorKind::SizeMismatch));
        }
        self.leave(offset);
        Ok(Step::silent(0))
    }

    fn footer<'a>(&mut self, input: &'a [u8], offset: u64) -> Result<Step<'a>> {
        let (footer, used) = parsed!(parse(grammar::footer, input, offset)?);
        if self.mode == Mode::Strict && footer.reserved != 0 {
            return Err(Error::new(offset.saturating_add(12), ErrorKind::ReservedNotZero));
        }
        self.footer = Some(footer);
        self.state = State::Complete;
        Ok(Step::silent(used))
    }
}
