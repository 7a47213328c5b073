//! The sans-I/O decoder.

use heapless::{Vec, VecView};

use super::grammar::{self, DEFAULT_ALIGNMENT, Header, PairValue, Type};
use super::{ALIGNMENT_KEY, TOKENS_KEY};
use crate::bytes::parse;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, FileInfo, Format, Mode, Step, Value, Version, advance};
use crate::tensor::TensorHeader;
use crate::tensor::identity::remember;

/// The default capacity of a [`GgufDecoder`] in tensors: models of 100 layers have about 1000.
pub const DEFAULT_MAX_TENSORS: usize = 2048;

/// The largest number of metadata pairs, whose keys must differ.
pub(super) const MAX_PAIRS: usize = 256;

/// The offset of the header's counts.
const TENSORS_OFFSET: u64 = 8;
const PAIRS_OFFSET: u64 = 16;

/// Decodes GGUF files. `TENSORS` is the largest number of tensors: for each, the hash of its name,
/// which must be unique, and the end of its data are kept.
///
/// The decoder takes 16 bytes for each of `TENSORS`, and 3 KB: 35 KB with the default. On a small
/// stack choose a smaller capacity or keep the decoder in a `static`.
///
/// ```
/// use nanoembed_core::format::gguf::GgufDecoder;
///
/// assert!(size_of::<GgufDecoder<64>>() <= 64 * 16 + 3072);
/// ```
///
/// Strings of the metadata come as [`Event::Metadata`], other values as [`Event::Value`], elements
/// of arrays as [`Event::Element`], and those of `tokenizer.ggml.tokens` as [`Event::Token`].
/// Tensors are described before the offset of the data is known: [`TensorHeader::offset`] is
/// relative to the data, whose offset [`data_offset`](Self::data_offset) returns afterwards.
/// Padding is skipped; in strict mode it must be zeros.
#[derive(Clone, Debug)]
pub struct GgufDecoder<const TENSORS: usize = DEFAULT_MAX_TENSORS, const PAIRS: usize = MAX_PAIRS> {
    machine: Machine,
    keys: Vec<u64, PAIRS>,
    names: Vec<u64, TENSORS>,
    /// The end of each tensor, relative to the data.
    ends: Vec<u64, TENSORS>,
}

/// The decoder's state except for its lists of pairs and tensors.
#[derive(Clone, Debug)]
struct Machine {
    mode: Mode,
    offset: u64,
    failed: Option<Error>,
    state: State,
    counts: Header,
    alignment: u64,
    data: Option<u64>,
    most_tensors: usize,
    in_memory: Option<InMemory>,
}

/// The state of decoding a file in memory, in place of the lists that a [`GgufDecoder`] keeps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InMemory {
    /// Keys and names of tensors that are still to be compared with each other.
    pub(super) keys: u64,
    pub(super) names: u64,
    /// The end of the last tensor, relative to the data.
    end: u64,
}

/// The lists that a decoder keeps, to find duplicates and overlaps.
struct Kept<'k> {
    keys: &'k mut VecView<u64>,
    names: &'k mut VecView<u64>,
    ends: &'k mut VecView<u64>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Header,
    Pairs {
        left: u64,
    },
    Elements {
        of: Type,
        next: u64,
        count: u64,
        tokens: bool,
        pairs_left: u64,
    },
    /// Descriptions of tensors, and the required offset of the next one in the data.
    Tensors {
        left: u64,
        expected: u64,
    },
    /// Zeros before the data.
    Padding {
        until: u64,
    },
    /// The data of a tensor, and the padding after it if another one follows.
    Data {
        tensor: usize,
    },
    /// Zeros after the data.
    Tail {
        until: u64,
    },
}

impl<const TENSORS: usize> GgufDecoder<TENSORS> {
    /// A decoder at the start of a file.
    #[must_use]
    pub const fn new(mode: Mode) -> Self {
        Self::over(Machine::new(mode, TENSORS, None))
    }
}

impl GgufDecoder<0, 0> {
    /// A lenient decoder of a whole file in memory, which keeps no keys and names, since they are
    /// compared afterwards, and skips the data as a whole. It accepts as many tensors as a decoder
    /// with the default capacity.
    pub(super) const fn in_memory() -> Self {
        let in_memory = InMemory { keys: 0, names: 0, end: 0 };
        Self::over(Machine::new(Mode::Lenient, DEFAULT_MAX_TENSORS, Some(in_memory)))
    }

    /// The keys and names that are still to be compared.
    pub(super) fn compared(&self) -> InMemory {
        self.machine.in_memory.unwrap_or_default()
    }
}

impl<const TENSORS: usize, const PAIRS: usize> GgufDecoder<TENSORS, PAIRS> {
    const fn over(machine: Machine) -> Self {
        Self { machine, keys: Vec::new(), names: Vec::new(), ends: Vec::new() }
    }

    /// Absolute offset of the data, once all tensors have been described.
    #[must_use]
    pub const fn data_offset(&self) -> Option<u64> {
        self.machine.data
    }

    pub(super) const fn counts(&self) -> &Header {
        &self.machine.counts
    }
}

impl Machine {
    const fn new(mode: Mode, most_tensors: usize, in_memory: Option<InMemory>) -> Self {
        Self {
            mode,
            offset: 0,
            failed: None,
            state: State::Header,
            counts: Header { version: 0, tensors: 0, pairs: 0 },
            alignment: DEFAULT_ALIGNMENT,
            data: None,
            most_tensors,
            in_memory,
        }
    }

    #[inline(never)] // it is long, and there once for all who take steps
    fn step<'a>(&mut self, kept: &mut Kept<'_>, input: &'a [u8]) -> Result<Step<'a>> {
        match self.state {
            State::Header => self.header(input),
            State::Pairs { left: 0 } => {
                let left = self.counts.tensors;
                self.state = State::Tensors { left, expected: 0 };
                Ok(Step::silent(0))
            }
            State::Pairs { left } => self.pair(kept, input, left),
            State::Elements { next, count, pairs_left, .. } if next == count => {
                self.state = State::Pairs { left: pairs_left };
                Ok(Step::silent(0))
            }
            State::Elements { of, next, count, tokens, pairs_left } => {
                self.state =
                    State::Elements { of, next: next.saturating_add(1), count, tokens, pairs_left };
                let step = self.element(input, of, next, tokens)?;
                if matches!(step.event, Some(Event::NeedMore { .. })) {
                    self.state = State::Elements { of, next, count, tokens, pairs_left };
                }
                Ok(step)
            }
            State::Tensors { left: 0, expected } => self.begin_data(expected),
            State::Tensors { left, expected } => self.tensor(kept, input, left, expected),
            State::Padding { until } if self.offset < until => self.zeros(input, until),
            State::Padding { .. } => {
                self.state = State::Data { tensor: 0 };
                Ok(Step::silent(0))
            }
            State::Data { tensor } => self.tensor_data(kept.ends, input, tensor),
            State::Tail { until } if self.offset < until && !self.may_end() => {
                self.zeros(input, until)
            }
            State::Tail { .. } if input.is_empty() => Ok(Step::new(0, Event::End)),
            State::Tail { until } if self.offset < until => self.zeros(input, until),
            State::Tail { .. } => Err(Error::new(self.offset, ErrorKind::TrailingBytes)),
        }
    }

    /// Returns true if the padding after the data may be missing: if there is no data, or in
    /// lenient mode.
    fn may_end(&self) -> bool {
        self.counts.tensors == 0 || self.mode == Mode::Lenient
    }

    fn header<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let (header, used) = parsed!(parse(grammar::header, input, 0)?);
        if header.tensors > self.most_tensors as u64 {
            return Err(Error::new(TENSORS_OFFSET, ErrorKind::TooManyTensors));
        }
        if header.pairs > MAX_PAIRS as u64 {
            return Err(Error::new(PAIRS_OFFSET, ErrorKind::TooManyEntries));
        }
        self.counts = header;
        self.state = State::Pairs { left: header.pairs };
        let info = FileInfo {
            format: Format::Gguf,
            variant: "gguf",
            version: Version::new(header.version, 0),
            tensors: u32::try_from(header.tensors).ok(),
            file_bytes: None,
        };
        Ok(Step::new(used, Event::Header(info)))
    }

    fn pair<'a>(&mut self, kept: &mut Kept<'_>, input: &'a [u8], left: u64) -> Result<Step<'a>> {
        let ((key, value), used) = parsed!(parse(grammar::pair, input, self.offset)?);
        match &mut self.in_memory {
            Some(there) => there.keys = there.keys.saturating_add(1),
            None => remember(kept.keys, key, self.offset, ErrorKind::TooManyEntries)?,
        }
        let left = left.saturating_sub(1);
        self.state = State::Pairs { left };
        // The key is preceded by its length, the value by its type.
        let value_type = self.offset.saturating_add(8).saturating_add(key.len() as u64);
        let event = match value {
            PairValue::One { value, kind } => {
                if key == ALIGNMENT_KEY {
                    self.set_alignment(value, kind, value_type)?;
                }
                match value {
                    Value::Text(value) => Event::Metadata { key, value },
                    value => Event::Value { key, value },
                }
            }
            PairValue::Array { of, count } => {
                if key == ALIGNMENT_KEY {
                    return Err(Error::new(value_type, ErrorKind::BadAlignment));
                }
                let tokens = key == TOKENS_KEY && of == Type::Text;
                let fits = count.checked_mul(of.least_bytes()).is_some()
                    && (!tokens || u32::try_from(count).is_ok());
                if !fits {
                    // After both types.
                    return Err(Error::new(value_type.saturating_add(8), ErrorKind::BadCount));
                }
                self.state = State::Elements { of, next: 0, count, tokens, pairs_left: left };
                Event::Value { key, value: Value::Array { count } }
            }
        };
        Ok(Step::new(used, event))
    }

    /// Takes the alignment from a value whose type is at the offset `at`.
    fn set_alignment(&mut self, value: Value<'_>, kind: Type, at: u64) -> Result<()> {
        match value {
            Value::Unsigned(alignment) if kind == Type::U32 && alignment.is_power_of_two() => {
                self.alignment = alignment;
                Ok(())
            }
            Value::Unsigned(_) if kind == Type::U32 => {
                Err(Error::new(at.saturating_add(4), ErrorKind::BadAlignment))
            }
            _ => Err(Error::new(at, ErrorKind::BadAlignment)),
        }
    }

    fn element<'a>(
        &self,
        input: &'a [u8],
        of: Type,
        index: u64,
        is_token: bool,
    ) -> Result<Step<'a>> {
        if is_token {
            let (bytes, used) = parsed!(parse(grammar::token, input, self.offset)?);
            let id = u32::try_from(index).unwrap_or(u32::MAX);
            return Ok(Step::new(used, Event::Token { id, bytes }));
        }
        let (value, used) = parsed!(parse(grammar::value(of), input, self.offset)?);
        Ok(Step::new(used, Event::Element { index, value }))
    }

    fn tensor<'a>(
        &mut self,
        kept: &mut Kept<'_>,
        input: &'a [u8],
        left: u64,
        expected: u64,
    ) -> Result<Step<'a>> {
        let ((tensor, field), used) = parsed!(parse(grammar::tensor, input, self.offset)?);
        match &mut self.in_memory {
            Some(there) => there.names = there.names.saturating_add(1),
            None => remember(kept.names, tensor.name, self.offset, ErrorKind::TooManyTensors)?,
        }
        let wrong = |kind| Error::new(self.offset.saturating_add(field as u64), kind);
        let TensorHeader { offset, bytes, .. } = tensor;
        if offset < expected {
            return Err(wrong(ErrorKind::Overlap));
        }
        if offset > expected {
            return Err(wrong(ErrorKind::NotContiguous));
        }
        let end = offset.checked_add(bytes).ok_or(wrong(ErrorKind::OutOfBounds))?;
        let expected = align(end, self.alignment).ok_or(wrong(ErrorKind::OutOfBounds))?;
        match &mut self.in_memory {
            Some(there) => there.end = end,
            None => kept.ends.push(end).map_err(|_| wrong(ErrorKind::TooManyTensors))?,
        }
        self.state = State::Tensors { left: left.saturating_sub(1), expected };
        Ok(Step::new(used, Event::Tensor(tensor)))
    }

    fn begin_data<'a>(&mut self, expected: u64) -> Result<Step<'a>> {
        let start = align(self.offset, self.alignment);
        // No offset may exceed 64 bits, padding included.
        let start = start.filter(|start| start.checked_add(expected).is_some());
        let start = start.ok_or(Error::new(self.offset, ErrorKind::OutOfBounds))?;
        self.data = Some(start);
        self.state = match self.counts.tensors {
            0 => State::Tail { until: start },
            _ => State::Padding { until: start },
        };
        Ok(Step::silent(0))
    }

    /// Absolute offset of the end of a tensor's data, and of the padding after it.
    fn end_of(&self, ends: &VecView<u64>, tensor: usize) -> (u64, u64) {
        let start = self.data.unwrap_or(0);
        let end = match &self.in_memory {
            Some(there) => there.end,
            None => ends.get(tensor).copied().unwrap_or(0),
        };
        let padded = align(end, self.alignment).unwrap_or(end);
        (start.saturating_add(end), start.saturating_add(padded))
    }

    fn tensor_data<'a>(
        &mut self,
        ends: &VecView<u64>,
        input: &'a [u8],
        tensor: usize,
    ) -> Result<Step<'a>> {
        let (end, padded) = self.end_of(ends, tensor);
        let next = tensor.saturating_add(1);
        let is_last = next >= ends.len();
        if self.offset < end {
            return Ok(Step::data(input, self.offset, end));
        }
        if !is_last && self.offset < padded {
            return self.zeros(input, padded);
        }
        self.state =
            if is_last { State::Tail { until: padded } } else { State::Data { tensor: next } };
        Ok(Step::silent(0))
    }

    /// Padding up to `until`, which must be zeros in strict mode.
    fn zeros<'a>(&self, input: &'a [u8], until: u64) -> Result<Step<'a>> {
        let room = usize::try_from(until.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let padding = input.get(..room).unwrap_or(input);
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

/// The next multiple of `alignment`, a power of two.
fn align(offset: u64, alignment: u64) -> Option<u64> {
    offset.checked_next_multiple_of(alignment)
}

impl<const TENSORS: usize, const PAIRS: usize> Decode for GgufDecoder<TENSORS, PAIRS> {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let Self { machine, keys, names, ends } = self;
        if let Some(error) = machine.failed {
            return Err(error);
        }
        let step = machine.step(&mut Kept { keys, names, ends }, input);
        advance(step, &mut machine.offset, &mut machine.failed)
    }

    fn offset(&self) -> u64 {
        self.machine.offset
    }

    fn skippable(&self) -> u64 {
        let Self { machine, ends, .. } = self;
        let State::Data { tensor } = machine.state else { return 0 };
        if machine.failed.is_some() {
            return 0;
        }
        // Strict mode checks the padding between tensors.
        let last = ends.len().saturating_sub(1);
        let tensor = if machine.mode == Mode::Strict { tensor } else { last };
        machine.end_of(ends, tensor).0.saturating_sub(machine.offset)
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        let bytes = bytes.min(self.skippable());
        self.machine.offset = self.machine.offset.saturating_add(bytes);
        bytes
    }

    fn is_complete(&self) -> bool {
        let machine = &self.machine;
        let State::Tail { until } = machine.state else { return false };
        machine.failed.is_none() && (machine.offset >= until || machine.may_end())
    }
}
