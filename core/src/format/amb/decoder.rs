//! The sans-I/O decoder.

use heapless::Vec;

use super::document::Document;
use super::grammar::{self, HEADER_BYTES, Header, NO_TOKEN, TOKENIZER_HEAD_BYTES, TokenizerKind};
use crate::bytes::{Item, Parse, bounded, le_u32, parse, pass, within};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, FileInfo, Format, Mode, SpecialRole, Step, Value, advance};
use crate::tensor::identity::remember;
use crate::tensor::{Arrangement, Dtype, TensorHeader};

/// How many tensors a [`Decoder`] keeps apart unless told otherwise: models of 100 layers have some 1000.
pub const DEFAULT_MAX_TENSORS: usize = 2048;

/// Where the header's fields lie, for errors about them.
mod field {
    pub(super) const FLAGS: u64 = 6;
    pub(super) const TOKENIZER_BYTES: u64 = 16;
    pub(super) const WEIGHTS_BYTES: u64 = 20;
}

/// Zeros behind a tensor's data end at a multiple of so many bytes of the file.
const ALIGNMENT: u64 = 8;

/// A part of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Absolute offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl Place {
    /// Absolute offset behind the last byte.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// Where the sections lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// JSON about the model's origin.
    pub metadata: Place,
    /// JSON with the model's sizes.
    pub config: Place,
    /// The tokenizer; without bytes there is none.
    pub tokenizer: Place,
    /// The tensors' records.
    pub weights: Place,
}

/// Decodes `.amb` files. `TENSORS` bounds how many tensors a file may have: hashes of their names are kept (8 bytes each)
/// to refuse duplicates.
///
/// Metadata and configuration come as [`Event::Document`]s, told apart by their offsets ([`layout`](Self::layout)); the
/// tokenizer as an [`Event::Value`] `tokenizer` with its kind, [`Event::SpecialToken`]s, and then what the kind has:
/// [`Event::Token`]s of WordPiece; of BPE a value `merges` with two [`Event::Element`]s for each merge, then tokens; of the
/// others their bytes as [`Event::Data`]. Data of a quantised tensor begins behind the four bytes of its quantisation, which
/// [`TensorHeader::dtype`] tells.
#[derive(Clone, Debug)]
pub struct Decoder<const TENSORS: usize = DEFAULT_MAX_TENSORS> {
    mode: Mode,
    passes_tokens: bool,
    offset: u64,
    failed: Option<Error>,
    state: State,
    layout: Layout,
    names: Vec<u64, TENSORS>,
}

/// A tensor whose data is being read.
#[derive(Clone, Copy, Debug)]
struct Data {
    /// Absolute offset behind the data.
    until: u64,
    /// Where the size of the data lies, for errors about it.
    size_at: u64,
}

#[derive(Clone, Debug)]
enum State {
    Header,
    Metadata(Document),
    Config(Document),
    TokenizerHead,
    /// What the head says, one event after the other.
    Special {
        special: [u16; 5],
        next: usize,
        kind: TokenizerKind,
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
    /// The bytes of a tokenizer of another kind.
    Opaque,
    Records,
    /// The mask of an adaptive tensor: blocks whose bits are to come, those in full precision that have been seen, and
    /// how many of them there must be.
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

impl<const TENSORS: usize> Decoder<TENSORS> {
    /// A decoder at the start of a file.
    #[must_use]
    pub const fn new(mode: Mode) -> Self {
        let none = Place { offset: 0, bytes: 0 };
        Self {
            mode,
            passes_tokens: false,
            offset: 0,
            failed: None,
            state: State::Header,
            layout: Layout { metadata: none, config: none, tokenizer: none, weights: none },
            names: Vec::new(),
        }
    }

    /// Checks the vocabulary's tokens without giving them: no [`Event::Token`] comes.
    #[must_use]
    pub const fn without_tokens(mut self) -> Self {
        self.passes_tokens = true;
        self
    }

    /// Where the sections lie, once the header has been read.
    #[must_use]
    pub const fn layout(&self) -> Option<&Layout> {
        if matches!(self.state, State::Header) { None } else { Some(&self.layout) }
    }

    #[inline(never)] // it is long, and there once for all who take steps
    fn step<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
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
            State::Records => self.record(input),
            &mut State::Mask { until, seen, full, data, .. } if offset >= until => {
                // Only now, so that what comes before does not depend on how the input is cut.
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
            Place { bytes: 0, .. } => self.after_metadata(),
            place => State::Metadata(Document::new(place.offset, place.end())),
        };
        let info = FileInfo {
            format: Format::Amb,
            variant: "profile 1",
            version: (1, 0),
            tensors: None,
            file_bytes: Some(file_bytes),
        };
        Ok(Step::new(used, Event::Header(info)))
    }

    const fn after_metadata(&self) -> State {
        match self.layout.config {
            Place { bytes: 0, .. } => self.after_config(),
            place => State::Config(Document::new(place.offset, place.end())),
        }
    }

    const fn after_config(&self) -> State {
        if self.layout.tokenizer.bytes == 0 { State::Records } else { State::TokenizerHead }
    }

    fn tokenizer_head<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let (head, used) = parsed!(self.in_tokenizer(grammar::tokenizer_head, input)?);
        self.state = State::Special { special: head.special, next: 0, kind: head.kind };
        let value = Value::Text(head.kind.name());
        Ok(Step::new(used, Event::Value { key: "tokenizer", value }))
    }

    /// An item that must lie within the tokenizer's section.
    fn in_tokenizer<'a, T>(
        &self,
        grammar: impl FnOnce(&'a [u8]) -> Parse<'a, T>,
        input: &'a [u8],
    ) -> Result<Item<T>> {
        bounded(grammar, input, self.offset, self.layout.tokenizer.end())
    }

    fn special<'a>(&mut self, special: [u16; 5], next: usize, kind: TokenizerKind) -> Step<'a> {
        let Some(&id) = special.get(next) else {
            self.state = match kind {
                TokenizerKind::Bpe => State::MergeCount,
                TokenizerKind::WordPiece => State::TokenCount,
                TokenizerKind::SentencePiece | TokenizerKind::Custom => State::Opaque,
            };
            // A tokenizer that is only declared.
            if self.offset >= self.layout.tokenizer.end() {
                self.state = State::Records;
            }
            return Step::silent(0);
        };
        self.state = State::Special { special, next: next.saturating_add(1), kind };
        match ROLES.get(next) {
            Some(&role) if id != NO_TOKEN => {
                Step::new(0, Event::SpecialToken { role, id: id.into() })
            }
            _ => Step::silent(0),
        }
    }

    fn merge_count<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let (count, used) = parsed!(self.in_tokenizer(le_u32, input)?);
        let parts = u64::from(count).saturating_mul(2);
        self.check_count(parts, used)?;
        self.state = State::Merges { next: 0, parts };
        let value = Value::Array { count: parts };
        Ok(Step::new(used, Event::Value { key: "merges", value }))
    }

    /// Each of so many strings has a length of two bytes.
    fn check_count(&self, strings: u64, used: usize) -> Result<()> {
        let behind = self.offset.saturating_add(used as u64);
        let room = self.layout.tokenizer.end().saturating_sub(behind);
        match strings.checked_mul(2) {
            Some(least) if least <= room => Ok(()),
            _ => Err(Error::new(self.offset, ErrorKind::BadCount)),
        }
    }

    fn merge<'a>(&mut self, input: &'a [u8], next: u64, parts: u64) -> Result<Step<'a>> {
        if next >= parts {
            self.state = State::TokenCount;
            return Ok(Step::silent(0));
        }
        let (text, used) = parsed!(self.in_tokenizer(grammar::text, input)?);
        self.state = State::Merges { next: next.saturating_add(1), parts };
        Ok(Step::new(used, Event::Element { index: next, value: Value::Text(text) }))
    }

    fn token_count<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let (count, used) = parsed!(self.in_tokenizer(le_u32, input)?);
        self.check_count(count.into(), used)?;
        self.state = State::Tokens { next: 0, count };
        Ok(Step::silent(used))
    }

    fn token<'a>(&mut self, input: &'a [u8], next: u32, count: u32) -> Result<Step<'a>> {
        if next >= count {
            if self.offset != self.layout.tokenizer.end() {
                return Err(Error::new(self.offset, ErrorKind::SizeMismatch));
            }
            self.state = State::Records;
            return Ok(Step::silent(0));
        }
        if self.passes_tokens {
            let (left, end) = (count.saturating_sub(next), self.layout.tokenizer.end());
            let (passed, used) = pass(grammar::string, input, self.offset, end, left);
            if passed > 0 {
                self.state = State::Tokens { next: next.saturating_add(passed), count };
                return Ok(Step::silent(used));
            }
        }
        let (bytes, used) = parsed!(self.in_tokenizer(grammar::string, input)?);
        self.state = State::Tokens { next: next.saturating_add(1), count };
        Ok(Step::new(used, Event::Token { id: next, bytes }))
    }

    fn record<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let (offset, end) = (self.offset, self.layout.weights.end());
        if offset >= end {
            self.state = State::Complete;
            return Ok(Step::silent(0));
        }
        let (record, used) = parsed!(bounded(grammar::record, input, offset, end)?);
        remember(&mut self.names, record.name, offset, ErrorKind::TooManyTensors)?;
        let size_at = offset.saturating_add(record.size_at as u64);
        let start = offset.saturating_add(used as u64);
        let until = start.checked_add(record.data_bytes).filter(|until| *until <= end);
        let data = Data { until: until.ok_or(Error::new(size_at, ErrorKind::OutOfBounds))?, size_at };
        self.state = match record.dtype {
            Dtype::Scaled(codes) if codes.arrangement == Arrangement::Adaptive => {
                let elements = record.shape.elements().unwrap_or(0);
                let full = codes.full_blocks(elements, record.data_bytes).unwrap_or(0);
                let until = start.saturating_add(codes.mask_bytes(elements));
                State::Mask { until, blocks: codes.blocks(elements), seen: 0, full, data }
            }
            _ => State::Data(data),
        };
        let header = TensorHeader {
            name: record.name,
            dtype: record.dtype,
            shape: record.shape,
            offset: start,
            bytes: record.data_bytes,
        };
        Ok(Step::new(used, Event::Tensor(header)))
    }

    /// The mask says which blocks are in full precision.
    fn mask<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let (offset, strict) = (self.offset, self.mode == Mode::Strict);
        let State::Mask { until, blocks, seen, .. } = &mut self.state else {
            return Ok(Step::silent(0));
        };
        // The last byte comes by itself, since some of its bits may have no block.
        let end = until.saturating_sub(1).max(offset.saturating_add(1));
        let step = Step::data(input, offset, end);
        let Some(Event::Data { bytes, .. }) = step.event else { return Ok(step) };
        let bits = (bytes.len() as u64).saturating_mul(8);
        let mut ones: u64 = bytes.iter().map(|byte| u64::from(byte.count_ones())).sum();
        if *blocks < bits {
            let byte = bytes.first().copied().unwrap_or(0);
            let beyond = u8::MAX.checked_shl(u32::try_from(*blocks).unwrap_or(0)).unwrap_or(0);
            if byte & beyond != 0 && strict {
                return Err(Error::new(offset, ErrorKind::ReservedNotZero));
            }
            ones = u64::from((byte & !beyond).count_ones());
        }
        *blocks = blocks.saturating_sub(bits);
        *seen = seen.saturating_add(ones);
        Ok(step)
    }

    fn begin_padding<'a>(&mut self) -> Result<Step<'a>> {
        let (offset, end) = (self.offset, self.layout.weights.end());
        let until = offset.checked_next_multiple_of(ALIGNMENT).unwrap_or(end);
        if until > end && self.mode == Mode::Strict {
            return Err(Error::new(offset, ErrorKind::Misaligned));
        }
        self.state = State::Padding { until: until.min(end) };
        Ok(Step::silent(0))
    }

    /// Padding up to `until`, which strict mode wants to be zeros.
    fn padding<'a>(&self, input: &'a [u8], until: u64) -> Result<Step<'a>> {
        let padding = within(input, self.offset, until);
        if padding.is_empty() {
            return Ok(Step::need_more(1));
        }
        match padding.iter().position(|byte| *byte != 0) {
            Some(at) if self.mode == Mode::Strict => {
                let offset = self.offset.saturating_add(at as u64);
                Err(Error::new(offset, ErrorKind::ReservedNotZero))
            }
            _ => Ok(Step::silent(padding.len())),
        }
    }
}

/// What the special tokens of the tokenizer's head are for, in their order.
pub(super) const ROLES: [SpecialRole; 5] = [
    SpecialRole::Classify,
    SpecialRole::Separate,
    SpecialRole::Pad,
    SpecialRole::Unknown,
    SpecialRole::Mask,
];

/// Where sections of these sizes lie.
fn places(header: &Header) -> Result<Layout> {
    let overflow = Error::new(field::WEIGHTS_BYTES, ErrorKind::SizeOverflow);
    let place = |offset: u64, bytes: u64| {
        offset.checked_add(bytes).map(|_| Place { offset, bytes }).ok_or(overflow)
    };
    let metadata = place(HEADER_BYTES, header.metadata_bytes.into())?;
    let config = place(metadata.end(), header.config_bytes.into())?;
    let tokenizer = place(config.end(), header.tokenizer_bytes.into())?;
    let weights = place(tokenizer.end(), header.weights_bytes)?;
    if (1..TOKENIZER_HEAD_BYTES).contains(&tokenizer.bytes) {
        return Err(Error::new(field::TOKENIZER_BYTES, ErrorKind::SizeMismatch));
    }
    Ok(Layout { metadata, config, tokenizer, weights })
}

impl<const TENSORS: usize> Decode for Decoder<TENSORS> {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let step = self.step(input);
        advance(step, &mut self.offset, &mut self.failed)
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn skippable(&self) -> u64 {
        let until = match &self.state {
            _ if self.failed.is_some() => return 0,
            State::Data(data) => data.until,
            State::Opaque => self.layout.tokenizer.end(),
            State::Padding { until } if self.mode == Mode::Lenient => *until,
            _ => return 0,
        };
        until.saturating_sub(self.offset)
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        let bytes = bytes.min(self.skippable());
        self.offset = self.offset.saturating_add(bytes);
        bytes
    }

    fn is_complete(&self) -> bool {
        self.failed.is_none() && matches!(self.state, State::Complete)
    }
}
