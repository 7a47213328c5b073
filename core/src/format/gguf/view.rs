//! A whole GGUF file in memory: read, mapped, or in flash.

use super::decoder::{DEFAULT_MAX_TENSORS, GgufDecoder};
use super::grammar::{self, HEADER_BYTES, PairValue, Type};
use crate::bytes::{Parse, parsed_at};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, Mode, Value};
use crate::leaf;
use crate::tensor::{TensorHeader, TensorView, identity};

/// A validated GGUF file; all views borrow from the file's bytes.
#[derive(Clone, Copy)]
pub struct Gguf<'a> {
    bytes: &'a [u8],
    version: u16,
    pairs: u64,
    tensors: u64,
    /// Absolute offsets of the descriptions of tensors and of the data.
    index: u64,
    data: u64,
    _built_in: leaf::Gguf,
}

impl core::fmt::Debug for Gguf<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Gguf")
            .field("version", &self.version)
            .field("pairs", &self.pairs)
            .field("tensors", &self.tensors)
            .field("data", &self.data)
            .finish_non_exhaustive()
    }
}

impl<'a> Gguf<'a> {
    /// Validates `bytes`, the whole file.
    ///
    /// # Errors
    ///
    /// As the [`GgufDecoder`].
    pub fn parse(bytes: &'a [u8], mode: Mode) -> Result<Self> {
        match mode {
            Mode::Strict => Self::parse_with(GgufDecoder::<DEFAULT_MAX_TENSORS>::new(mode), bytes),
            Mode::Lenient => Self::parse_lenient(bytes),
        }
    }

    /// As [`parse`](Self::parse), with a new decoder of another capacity.
    ///
    /// # Errors
    ///
    /// As the [`GgufDecoder`].
    #[inline(never)] // so that others are without the decoder's stack
    pub fn parse_with<const TENSORS: usize>(
        mut decoder: GgufDecoder<TENSORS>,
        bytes: &'a [u8],
    ) -> Result<Self> {
        let _built_in = leaf::Gguf::built_in()?;
        let mut index = 0;
        read(&mut decoder, bytes, &mut index)?;
        let counts = decoder.counts();
        let (pairs, tensors) = (counts.pairs, counts.tensors);
        Ok(Self { pairs, tensors, ..Self::unread(bytes, &decoder, index, _built_in) })
    }

    #[inline(never)]
    fn parse_lenient(bytes: &'a [u8]) -> Result<Self> {
        let _built_in = leaf::Gguf::built_in()?;
        let mut decoder = GgufDecoder::in_memory();
        let mut index = 0;
        let read = read(&mut decoder, bytes, &mut index);
        let compared = decoder.compared();
        let (pairs, tensors) = (compared.keys, compared.names);
        // The first fault of the file is reported.
        let file = Self { pairs, tensors, ..Self::unread(bytes, &decoder, index, _built_in) };
        identity::check_in_file(file.keys())?;
        identity::check_in_file(file.names())?;
        read.map(|()| file)
    }

    /// Hash and offset of each key.
    fn keys(&self) -> impl Iterator<Item = (u64, u64)> + Clone {
        identity::read_again(self.metadata(), self.pairs, |pairs| {
            let place = (pairs.left > 0).then_some(pairs.next)?;
            let ((key, _), _) = pairs.file.item(grammar::pair, place)?;
            if pairs.next().is_none() {
                // The file is invalid or ends within the value.
                pairs.left = 0;
            }
            Some((key, place))
        })
    }

    /// Hash and offset of each tensor's name.
    fn names(&self) -> impl Iterator<Item = (u64, u64)> + Clone {
        identity::read_again(self.tensors(), self.tensors, |tensors| {
            let place = tensors.next;
            tensors.described().map(|tensor| (tensor.name, place))
        })
    }

    /// A file whose pairs and tensors have not been read yet.
    fn unread<const TENSORS: usize, const PAIRS: usize>(
        bytes: &'a [u8],
        decoder: &GgufDecoder<TENSORS, PAIRS>,
        index: u64,
        _built_in: leaf::Gguf,
    ) -> Self {
        let version = decoder.counts().version;
        let data = decoder.data_offset().unwrap_or(0);
        Self { bytes, version, pairs: 0, tensors: 0, index, data, _built_in }
    }

    /// The format's version, 2 or 3.
    #[must_use]
    pub const fn version(&self) -> u16 {
        self.version
    }

    /// The part of a split model that the file is; `None` for whole models.
    #[must_use]
    pub fn split(&self) -> Option<Split> {
        let number = |key: &str| match self.value(key)? {
            Value::Unsigned(number) => u32::try_from(number).ok(),
            Value::Signed(number) => u32::try_from(number).ok(),
            _ => None,
        };
        let count = number(SPLIT_COUNT_KEY).filter(|count| *count > 1)?;
        let number_of_part = number(SPLIT_NUMBER_KEY).unwrap_or(0);
        Some(Split { number: number_of_part, count, tensors: number(SPLIT_TENSORS_KEY) })
    }

    /// Absolute offset of the data.
    #[must_use]
    pub const fn data_offset(&self) -> u64 {
        self.data
    }

    /// The metadata in file order; of arrays only the length.
    #[must_use]
    pub const fn metadata(&self) -> GgufMetadata<'a> {
        GgufMetadata { file: *self, next: HEADER_BYTES, left: self.pairs }
    }

    /// The value of a metadata key.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<Value<'a>> {
        self.metadata().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// The pair at an [offset](GgufMetadata::offset) of the metadata; of arrays only the length.
    pub(crate) fn pair(&self, offset: u64) -> Option<(&'a str, Value<'a>)> {
        let ((key, value), _) = self.item(grammar::pair, offset)?;
        Some(match value {
            PairValue::One { value, .. } => (key, value),
            PairValue::Array { count, .. } => (key, Value::Array { count }),
        })
    }

    /// The stored bytes of a metadata key's value, its type first, as
    /// [`WriteValue::Stored`](super::WriteValue::Stored) takes them.
    #[must_use]
    pub fn stored_value(&self, key: &str) -> Option<&'a [u8]> {
        let mut metadata = self.metadata();
        loop {
            let place = metadata.next;
            if metadata.next()?.0 == key {
                // After the key and its length.
                let start = place.checked_add(8)?.checked_add(key.len() as u64)?;
                let range = usize::try_from(start).ok()?..usize::try_from(metadata.next).ok()?;
                return self.bytes.get(range);
            }
        }
    }

    /// The elements of the array under a metadata key. Tokens that are not UTF-8 end the iteration;
    /// see [`tokens`](Self::tokens).
    #[must_use]
    pub fn elements(&self, key: &str) -> Option<Elements<'a>> {
        let mut metadata = self.metadata();
        loop {
            let place = metadata.next;
            let ((known, value), used) = self.item(grammar::pair, place)?;
            if known == key {
                let PairValue::Array { of, count } = value else { return None };
                let next = place.checked_add(used)?;
                return Some(Elements { file: *self, of, next, left: count });
            }
            metadata.next()?;
        }
    }

    /// The vocabulary's tokens in the order of their ids.
    pub fn tokens(&self) -> impl Iterator<Item = &'a [u8]> {
        let file = *self;
        let elements = self.elements(super::TOKENS_KEY).filter(|found| found.of == Type::Text);
        let (mut next, mut left) = elements.map_or((0, 0), |found| (found.next, found.left));
        core::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let (token, used) = file.item(grammar::token, next)?;
            next = next.checked_add(used)?;
            Some(token)
        })
    }

    /// The entries of the vocabulary's tokens, for an index over them; `None` if there are none.
    #[must_use]
    pub fn token_entries(&self) -> Option<GgufTokenEntries<'a>> {
        let found = self.elements(super::TOKENS_KEY).filter(|found| found.of == Type::Text)?;
        let bytes = self.bytes.get(usize::try_from(found.next).ok()?..)?;
        let count = u32::try_from(found.left).ok().filter(|count| *count > 0)?;
        Some(GgufTokenEntries { bytes, offset: found.next, count })
    }

    /// The tensors in file order, with absolute offsets.
    #[must_use]
    pub const fn tensors(&self) -> GgufTensors<'a> {
        GgufTensors { file: *self, next: self.index, left: self.tensors }
    }

    /// The tensor of this name.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<TensorView<'a>> {
        self.tensors().find(|tensor| tensor.header().name == name)
    }

    fn item<T>(
        &self,
        grammar: impl FnOnce(&'a [u8]) -> Parse<'a, T>,
        offset: u64,
    ) -> Option<(T, u64)> {
        parsed_at(grammar, self.bytes, offset)
    }
}

/// Reads the whole file; returns the offset of the first tensor description.
fn read<const TENSORS: usize, const PAIRS: usize>(
    decoder: &mut GgufDecoder<TENSORS, PAIRS>,
    bytes: &[u8],
    index: &mut u64,
) -> Result<()> {
    loop {
        let there = (bytes.len() as u64).saturating_sub(decoder.offset());
        decoder.skip(decoder.skippable().min(there));
        let before = decoder.offset();
        let seen = usize::try_from(before).unwrap_or(usize::MAX);
        match decoder.next(bytes.get(seen..).unwrap_or(&[]))?.event {
            Some(Event::End) => return Ok(()),
            Some(Event::NeedMore { .. }) => {
                return Err(Error::new(before, ErrorKind::UnexpectedEnd));
            }
            Some(Event::Tensor(_)) if *index == 0 => *index = before,
            _ => {}
        }
    }
}

/// The keys that describe a part of a split model.
const SPLIT_NUMBER_KEY: &str = "split.no";
const SPLIT_COUNT_KEY: &str = "split.count";
const SPLIT_TENSORS_KEY: &str = "split.tensors.count";

/// The position of a part in a split model, as llama.cpp's `gguf-split` writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Split {
    /// The index of the part, from 0; the first has the model's metadata.
    pub number: u32,
    /// The number of parts.
    pub count: u32,
    /// The number of tensors in all parts together, if stated.
    pub tensors: Option<u32>,
}

/// Iterates over the metadata of a [`Gguf`], key and value.
#[derive(Clone, Debug)]
pub struct GgufMetadata<'a> {
    file: Gguf<'a>,
    next: u64,
    left: u64,
}

impl GgufMetadata<'_> {
    /// Absolute offset of the next pair.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.next
    }
}

impl<'a> Iterator for GgufMetadata<'a> {
    type Item = (&'a str, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let ((key, value), used) = self.file.item(grammar::pair, self.next)?;
        self.next = self.next.checked_add(used)?;
        match value {
            PairValue::One { value, .. } => Some((key, value)),
            PairValue::Array { of, count } => {
                if of == Type::Text {
                    for _ in 0..count {
                        let (_, used) = self.file.item(grammar::token, self.next)?;
                        self.next = self.next.checked_add(used)?;
                    }
                } else {
                    let bytes = count.checked_mul(of.least_bytes())?;
                    self.next = self.next.checked_add(bytes)?;
                }
                Some((key, Value::Array { count }))
            }
        }
    }
}

/// The entries of a vocabulary, contiguous: a `u64` length, then that many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GgufTokenEntries<'a> {
    /// From the first entry to the end of the file.
    pub bytes: &'a [u8],
    /// Absolute offset of the first entry in the file.
    pub offset: u64,
    /// The number of entries.
    pub count: u32,
}

/// Iterates over the elements of an array of a [`Gguf`].
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    file: Gguf<'a>,
    of: Type,
    next: u64,
    left: u64,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (value, used) = self.file.item(grammar::value(self.of), self.next)?;
        self.next = self.next.checked_add(used)?;
        Some(value)
    }
}

/// Iterates over the tensors of a [`Gguf`], in file order.
#[derive(Clone, Debug)]
pub struct GgufTensors<'a> {
    file: Gguf<'a>,
    next: u64,
    left: u64,
}

impl<'a> GgufTensors<'a> {
    /// The next tensor as described, with an offset relative to the data.
    fn described(&mut self) -> Option<TensorHeader<'a>> {
        self.left = self.left.checked_sub(1)?;
        let ((tensor, _), used) = self.file.item(grammar::tensor, self.next)?;
        self.next = self.next.checked_add(used)?;
        Some(tensor)
    }
}

impl<'a> Iterator for GgufTensors<'a> {
    type Item = TensorView<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let tensor = self.described()?;
        let offset = self.file.data.checked_add(tensor.offset)?;
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(tensor.bytes).ok()?)?;
        TensorView::new(TensorHeader { offset, ..tensor }, self.file.bytes.get(start..end)?)
    }
}
