//! The sans-I/O decoder: the header and the documents; the tokenizer and the tensors' records are
//! in separate files.

mod layout;
mod records;
mod tokenizer;

use heapless::{Vec, VecView};

pub use self::layout::{AmbLayout, AmbPlace};
use self::layout::{field, places};
pub(super) use self::tokenizer::ROLES;
use super::document::Document;
use super::grammar::{self, AmbTokenizerKind};
use crate::bytes::parse;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, FileInfo, Format, Mode, Step, Version, advance};

/// The default capacity of a [`AmbDecoder`] in tensors: models of 100 layers have about 1000.
pub const DEFAULT_MAX_TENSORS: usize = 2048;

/// Decodes `.amb` files. `TENSORS` is the largest number of tensors: hashes of their names are kept
/// to reject duplicates.
///
/// The decoder takes 8 bytes for each of `TENSORS`, and 1 KB: 17 KB with the default. On a small
/// stack choose a smaller capacity or keep the decoder in a `static`.
///
/// ```
/// use nanoembed_core::format::amb::AmbDecoder;
///
/// assert!(size_of::<AmbDecoder<64>>() <= 64 * 8 + 1024);
/// ```
/// Metadata and configuration come as [`Event::Document`]s, distinguished by their offsets
/// ([`layout`](Self::layout)); the tokenizer as an [`Event::Value`] `tokenizer` with its kind,
/// [`Event::SpecialToken`]s, and then its payload: [`Event::Token`]s for WordPiece; for BPE a value
/// `merges` with two [`Event::Element`]s for each merge, then tokens; for the others their bytes as
/// [`Event::Data`]. Data of a quantised tensor begins after the four bytes of its quantisation,
/// which [`TensorHeader::dtype`](crate::tensor::TensorHeader::dtype) contains.
#[derive(Clone, Debug)]
pub struct AmbDecoder<const TENSORS: usize = DEFAULT_MAX_TENSORS> {
    machine: Machine,
    names: Vec<u64, TENSORS>,
}

/// The decoder's state except for the names.
#[derive(Clone, Debug)]
struct Machine {
    mode: Mode,
    passes_tokens: bool,
    /// True if names are only counted, and compared after the file has been read.
    is_in_memory: bool,
    named: usize,
    offset: u64,
    failed: Option<Error>,
    state: State,
    layout: AmbLayout,
}

/// A tensor whose data is being read.
#[derive(Clone, Copy, Debug)]
struct Data {
    /// Absolute offset of the end of the data.
    until: u64,
    /// The offset of the data's size field, for errors about it.
    size_at: u64,
}

#[derive(Clone, Debug)]
enum State {
    Header,
    Metadata(Document),
    Config(Document),
    TokenizerHead,
    /// The contents of the head, one event after the other.
    Special {
        special: [u16; 5],
        next: usize,
        kind: AmbTokenizerKind,
    },
    MergeCount,
    /// Parts of merges, two each.
    Merges {
        next: u64,
        parts: u64,
    },
    TokenCount,
    Tokens {
        next: u32,
        count: u32,
    },
    /// The bytes of another kind of tokenizer.
    Opaque,
    Records,
    /// The mask of an adaptive tensor: blocks whose bits are to come, full-precision blocks seen so
    /// far, and their required number.
    Mask {
        until: u64,
        blocks: u64,
        seen: u64,
        full: u64,
        data: Data,
    },
    Data(Data),
    Padding {
        until: u64,
    },
    Complete,
}

impl<const TENSORS: usize> AmbDecoder<TENSORS> {
    /// A decoder at the start of a file.
    #[must_use]
    pub const fn new(mode: Mode) -> Self {
        Self { machine: Machine::new(mode, false), names: Vec::new() }
    }

    /// Validates the vocabulary's tokens without yielding them: no [`Event::Token`] comes.
    #[must_use]
    pub const fn without_tokens(mut self) -> Self {
        self.machine.passes_tokens = true;
        self
    }

    /// The offsets and sizes of the sections, once the header has been read.
    #[must_use]
    pub const fn layout(&self) -> Option<&AmbLayout> {
        if matches!(self.machine.state, State::Header) { None } else { Some(&self.machine.layout) }
    }

    /// The number of tensor names that are still to be compared with each other.
    pub(super) const fn named(&self) -> usize {
        self.machine.named
    }
}

impl AmbDecoder<0> {
    /// A decoder of a whole file in memory, whose names are compared afterwards: it keeps none, and
    /// accepts as many tensors as a decoder with the default capacity.
    pub(super) const fn in_memory(mode: Mode) -> Self {
        Self { machine: Machine::new(mode, true), names: Vec::new() }
    }
}

impl Machine {
    const fn new(mode: Mode, is_in_memory: bool) -> Self {
        let none = AmbPlace { offset: 0, bytes: 0 };
        Self {
            mode,
            passes_tokens: false,
            is_in_memory,
            named: 0,
            offset: 0,
            failed: None,
            state: State::Header,
            layout: AmbLayout { metadata: none, config: none, tokenizer: none, weights: none },
        }
    }

    #[inline(never)] // it is long, and there once for all who take steps
    fn step<'a>(&mut self, names: &mut VecView<u64>, input: &'a [u8]) -> Result<Step<'a>> {
        let offset = self.offset;
        match &mut self.state {
            State::Header => self.header(input),
            State::Metadata(document) => {
                if let Some(step) = document.next(input, offset)? {
                    return Ok(step);
                }
                self.state = self.after_metadata();
                Ok(Step::silent(0))
            }
            State::Config(document) => {
                if let Some(step) = document.next(input, offset)? {
                    return Ok(step);
                }
                self.state = self.after_config();
                Ok(Step::silent(0))
            }
            State::TokenizerHead => self.tokenizer_head(input),
            State::Special { special, next, kind } => {
                let (special, next, kind) = (*special, *next, *kind);
                Ok(self.special(special, next, kind))
            }
            State::MergeCount => self.merge_count(input),
            &mut State::Merges { next, parts } => self.merge(input, next, parts),
            State::TokenCount => self.token_count(input),
            &mut State::Tokens { next, count } => self.token(input, next, count),
            State::Opaque if offset >= self.layout.tokenizer.end() => {
                self.state = State::Records;
                Ok(Step::silent(0))
            }
            State::Opaque => Ok(Step::data(input, offset, self.layout.tokenizer.end())),
            State::Records => self.record(names, input),
            &mut State::Mask { until, seen, full, data, .. } if offset >= until => {
                // Reported only now, so that earlier events do not depend on how the input is cut.
                if seen != full {
                    return Err(Error::new(data.size_at, ErrorKind::SizeMismatch));
                }
                self.state = State::Data(data);
                Ok(Step::silent(0))
            }
            State::Mask { .. } => self.mask(input),
            &mut State::Data(Data { until, .. }) if offset >= until => self.begin_padding(),
            &mut State::Data(Data { until, .. }) => Ok(Step::data(input, offset, until)),
            &mut State::Padding { until } if offset >= until => {
                self.state = State::Records;
                Ok(Step::silent(0))
            }
            &mut State::Padding { until } => self.padding(input, until),
            State::Complete if input.is_empty() => Ok(Step::new(0, Event::End)),
            State::Complete if self.mode == Mode::Lenient => Ok(Step::silent(input.len())),
            State::Complete => Err(Error::new(offset, ErrorKind::TrailingBytes)),
        }
    }

    fn header<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let (header, used) = parsed!(parse(grammar::header, input, 0)?);
        if header.flags != 0 && self.mode == Mode::Strict {
            return Err(Error::new(field::FLAGS, ErrorKind::UnknownFlags));
        }
        self.layout = places(&header)?;
        let file_bytes = self.layout.weights.end();
        self.state = match self.layout.metadata {
            AmbPlace { bytes: 0, .. } => self.after_metadata(),
            place => State::Metadata(Document::new(place.offset, place.end())),
        };
        let info = FileInfo {
            format: Format::Amb,
            variant: "profile 1",
            version: Version::new(1, 0),
            tensors: None,
            file_bytes: Some(file_bytes),
        };
        Ok(Step::new(used, Event::Header(info)))
    }

    const fn after_metadata(&self) -> State {
        match self.layout.config {
            AmbPlace { bytes: 0, .. } => self.after_config(),
            place => State::Config(Document::new(place.offset, place.end())),
        }
    }

    const fn after_config(&self) -> State {
        if self.layout.tokenizer.bytes == 0 { State::Records } else { State::TokenizerHead }
    }
}

impl<const TENSORS: usize> Decode for AmbDecoder<TENSORS> {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let Self { machine, names } = self;
        if let Some(error) = machine.failed {
            return Err(error);
        }
        let step = machine.step(names, input);
        advance(step, &mut machine.offset, &mut machine.failed)
    }

    fn offset(&self) -> u64 {
        self.machine.offset
    }

    fn skippable(&self) -> u64 {
        let machine = &self.machine;
        let until = match &machine.state {
            _ if machine.failed.is_some() => return 0,
            State::Data(data) => data.until,
            State::Opaque => machine.layout.tokenizer.end(),
            State::Padding { until } if machine.mode == Mode::Lenient => *until,
            _ => return 0,
        };
        until.saturating_sub(machine.offset)
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        let bytes = bytes.min(self.skippable());
        self.machine.offset = self.machine.offset.saturating_add(bytes);
        bytes
    }

    fn is_complete(&self) -> bool {
        self.machine.failed.is_none() && matches!(self.machine.state, State::Complete)
    }
}
