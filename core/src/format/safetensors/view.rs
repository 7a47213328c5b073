//! A whole safetensors file in memory: read, mapped, or in flash.

use super::decoder::SafetensorsDecoder;
use super::entry::{Entry, name_hash, sort};
use super::fields::Fields;
use super::{LENGTH_BYTES, METADATA};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, Mode};
use crate::tensor::{TensorHeader, TensorView};
use crate::text::json::{JsonTokens, LexemeKind, Token, is};

/// A validated safetensors file; all views borrow from the file's bytes.
#[derive(Clone, Copy)]
pub struct Safetensors<'a, 'm> {
    bytes: &'a [u8],
    data: u64,
    /// Sorted by the hashes of the names.
    entries: &'m [Entry],
}

/// Omits the data, which may be gigabytes.
impl core::fmt::Debug for Safetensors<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Safetensors")
            .field("bytes", &self.bytes.len())
            .field("data", &self.data)
            .field("tensors", &self.entries.len())
            .finish()
    }
}

impl<'a, 'm> Safetensors<'a, 'm> {
    /// Validates `bytes`, the whole file; the tensors' extents are kept in `entries`, which needs
    /// one for each tensor.
    ///
    /// # Errors
    ///
    /// As the [`SafetensorsDecoder`].
    pub fn parse(bytes: &'a [u8], mode: Mode, entries: &'m mut [Entry]) -> Result<Self> {
        let mut decoder = SafetensorsDecoder::new(mode, entries);
        run(&mut decoder, bytes)?;
        Ok(Self::decoded(bytes, decoder))
    }

    /// The file that `decoder` has read to the end.
    pub(crate) fn decoded(bytes: &'a [u8], decoder: SafetensorsDecoder<'m>) -> Self {
        let data = decoder.data_offset();
        let entries = decoder.into_entries();
        sort(entries, |entry| entry.name);
        Self { bytes, data, entries }
    }

    /// The number of tensors.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no tensors.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The metadata in file order, keys and values as the file spells them.
    #[must_use]
    pub fn metadata(&self) -> SafetensorsMetadata<'a> {
        SafetensorsMetadata { members: self.members(), inside: false }
    }

    /// The value of a metadata key, as the file spells it.
    #[must_use]
    pub fn metadata_value(&self, key: &str) -> Option<&'a str> {
        self.metadata().find(|(known, _)| is(known, key)).map(|(_, value)| value)
    }

    /// The tensors in the order of the header.
    #[must_use]
    pub fn tensors(&self) -> SafetensorsTensors<'a> {
        SafetensorsTensors { members: self.members(), bytes: self.bytes, data: self.data }
    }

    /// The tensor of this name.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<TensorView<'a>> {
        self.tensor_by_hash(name_hash([name, ""])).filter(|tensor| is(tensor.header().name, name))
    }

    /// The tensor whose name is the concatenation of `key` and `suffix`, spelled without escapes.
    pub(crate) fn tensor_of(&self, key: &str, suffix: &str) -> Option<TensorView<'a>> {
        let found = self.tensor_by_hash(name_hash([key, suffix]))?;
        (found.header().name.strip_prefix(key) == Some(suffix)).then_some(found)
    }

    fn tensor_by_hash(&self, hash: u64) -> Option<TensorView<'a>> {
        let found = self.entries.partition_point(|entry| entry.name < hash);
        let entry = self.entries.get(found).filter(|entry| entry.name == hash)?;
        // The name is preceded by its quote.
        let key = u64::from(entry.at).checked_sub(1)?;
        let header =
            self.bytes.get(usize::try_from(key).ok()?..usize::try_from(self.data).ok()?)?;
        let members = JsonTokens::at_key(header, key);
        SafetensorsTensors { members, bytes: self.bytes, data: self.data }.next()
    }

    /// The header's members.
    fn members(&self) -> JsonTokens<'a> {
        let end = usize::try_from(self.data).unwrap_or(usize::MAX);
        let start = usize::try_from(LENGTH_BYTES).unwrap_or(usize::MAX);
        let mut tokens = JsonTokens::new(self.bytes.get(start..end).unwrap_or(&[]), LENGTH_BYTES);
        let _ = tokens.next();
        tokens
    }
}

/// Runs a decoder over a whole file in memory, skipping skippable data.
pub(crate) fn run(decoder: &mut impl Decode, bytes: &[u8]) -> Result<()> {
    loop {
        decoder
            .skip(decoder.skippable().min((bytes.len() as u64).saturating_sub(decoder.offset())));
        let seen = usize::try_from(decoder.offset()).unwrap_or(usize::MAX);
        match decoder.next(bytes.get(seen..).unwrap_or(&[]))?.event {
            Some(Event::End) => return Ok(()),
            Some(Event::NeedMore { .. }) => {
                return Err(Error::new(decoder.offset(), ErrorKind::UnexpectedEnd));
            }
            _ => {}
        }
    }
}

fn token<'a>(tokens: &mut JsonTokens<'a>) -> Option<Token<'a>> {
    tokens.next()?.ok()
}

/// Iterates over the metadata of a [`Safetensors`], key and value as the file spells them.
#[derive(Clone, Debug)]
pub struct SafetensorsMetadata<'a> {
    members: JsonTokens<'a>,
    inside: bool,
}

impl<'a> Iterator for SafetensorsMetadata<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.inside {
            let key = token(&mut self.members).filter(|key| key.kind == LexemeKind::Key)?;
            if is(key.spelling, METADATA) {
                self.inside = token(&mut self.members)?.kind == LexemeKind::BeginObject;
            } else {
                self.members.skip_value()?.ok()?;
            }
        }
        let key = token(&mut self.members)?;
        if key.kind != LexemeKind::Key {
            self.members = JsonTokens::new(&[], 0);
            return None;
        }
        let value = token(&mut self.members)?;
        Some((key.spelling, value.spelling))
    }
}

/// Iterates over the tensors of a [`Safetensors`], in the order of the header.
#[derive(Clone)]
pub struct SafetensorsTensors<'a> {
    members: JsonTokens<'a>,
    bytes: &'a [u8],
    data: u64,
}

impl core::fmt::Debug for SafetensorsTensors<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tensors").finish_non_exhaustive()
    }
}

impl<'a> SafetensorsTensors<'a> {
    fn fields(&mut self, name: &'a str) -> Option<TensorHeader<'a>> {
        let mut fields = Fields::default();
        token(&mut self.members)?;
        loop {
            let key = token(&mut self.members)?;
            if key.kind == LexemeKind::EndObject {
                return fields.finish(name, self.data, key.offset).ok();
            }
            if is(key.spelling, "dtype") {
                let dtype = token(&mut self.members)?;
                fields.dtype(dtype.spelling, dtype.offset).ok()?;
            } else if is(key.spelling, "shape") {
                token(&mut self.members)?;
                fields.begin_shape();
                while let Some(dim) = self.number() {
                    fields.dim(dim.spelling, dim.offset).ok()?;
                }
            } else if is(key.spelling, "data_offsets") {
                token(&mut self.members)?;
                fields.begin_offsets(key.offset);
                while let Some(offset) = self.number() {
                    fields.data_offset(offset.spelling, offset.offset).ok()?;
                }
            } else {
                self.members.skip_value()?.ok()?;
            }
        }
    }

    /// The next number of an array; `None` at its end.
    fn number(&mut self) -> Option<Token<'a>> {
        token(&mut self.members).filter(|token| token.kind == LexemeKind::Number)
    }
}

impl<'a> Iterator for SafetensorsTensors<'a> {
    type Item = TensorView<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let name = loop {
            let key = token(&mut self.members).filter(|key| key.kind == LexemeKind::Key)?;
            if !is(key.spelling, METADATA) {
                break key.spelling;
            }
            self.members.skip_value()?.ok()?;
        };
        let header = self.fields(name)?;
        let start = usize::try_from(header.offset).ok()?;
        let end = start.checked_add(usize::try_from(header.bytes).ok()?)?;
        TensorView::new(header, self.bytes.get(start..end)?)
    }
}
