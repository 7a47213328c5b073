//! A whole `.amb` file in memory: read, mapped, or in flash.

use super::decoder::{AmbDecoder, AmbLayout, AmbPlace, ROLES};
use super::grammar::{
    self, AmbTokenizerKind, NO_TOKEN, Record, TOKENIZER_HEAD_BYTES, TokenizerHead,
};
use crate::bytes::{Item, Parse, le_u32, parse, parsed_at};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Mode, SpecialRole};
use crate::leaf;
use crate::read::Slice;
use crate::tensor::{TensorHeader, TensorView, identity};
use crate::text::json::{JsonTokens, LexemeKind, Token, is};

/// A validated `.amb` file; all views borrow from the file's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Amb<'a> {
    bytes: &'a [u8],
    layout: AmbLayout,
    _built_in: leaf::Amb,
}

/// The entries of a vocabulary, contiguous: a `u16` length, then that many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AmbTokenEntries<'a> {
    /// From the first entry to the end of the tokenizer.
    pub bytes: &'a [u8],
    /// Absolute offset of the first entry in the file.
    pub offset: u64,
    /// The number of entries.
    pub count: u32,
}

impl<'a> Amb<'a> {
    /// Validates `bytes`, the whole file, except for its checksum: see
    /// [`AmbVerifier`](super::AmbVerifier).
    ///
    /// # Errors
    ///
    /// As the [`AmbDecoder`].
    pub fn parse(bytes: &'a [u8], mode: Mode) -> Result<Self> {
        let _built_in = leaf::Amb::built_in()?;
        let mut slice =
            Slice::new(AmbDecoder::in_memory(mode).without_tokens(), bytes).without_data();
        let read = read(&mut slice);
        let decoder = slice.decoder();
        if let Some(layout) = decoder.layout() {
            // The first fault of the file is reported.
            let named = decoder.named() as u64;
            identity::check_in_file(names(bytes, layout.weights.offset, named))?;
        }
        read.map(|layout| Self { bytes, layout, _built_in })
    }

    /// As [`parse`](Self::parse), with a new decoder of another capacity.
    ///
    /// # Errors
    ///
    /// As the [`AmbDecoder`].
    pub fn parse_with<const TENSORS: usize>(
        decoder: AmbDecoder<TENSORS>,
        bytes: &'a [u8],
    ) -> Result<Self> {
        let _built_in = leaf::Amb::built_in()?;
        let mut slice = Slice::new(decoder.without_tokens(), bytes).without_data();
        read(&mut slice).map(|layout| Self { bytes, layout, _built_in })
    }

    /// The offsets and sizes of the sections.
    #[must_use]
    pub const fn layout(&self) -> &AmbLayout {
        &self.layout
    }

    /// The metadata as spelled in the file: a JSON object, or nothing.
    #[must_use]
    pub fn metadata(&self) -> &'a str {
        self.text(self.layout.metadata)
    }

    /// The configuration as spelled in the file: a JSON object, or nothing.
    #[must_use]
    pub fn config(&self) -> &'a str {
        self.text(self.layout.config)
    }

    /// The value of a member of the metadata: see [`config_value`](Self::config_value).
    ///
    /// # Errors
    ///
    /// As [`config_value`](Self::config_value).
    pub fn metadata_value(&self, key: &str) -> Result<Option<Token<'a>>> {
        member(self.metadata().as_bytes(), self.layout.metadata.offset, key)
    }

    /// The value of a member of the configuration: a string, number, boolean or null as spelled, or
    /// the opening bracket of an array or object.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DuplicateName`] if several members have this name: readers might choose
    /// different ones.
    pub fn config_value(&self, key: &str) -> Result<Option<Token<'a>>> {
        member(self.config().as_bytes(), self.layout.config.offset, key)
    }

    /// The members of the configuration, each with its value: see
    /// [`config_value`](Self::config_value).
    pub fn config_members(&self) -> impl Iterator<Item = (Token<'a>, Token<'a>)> + use<'a> {
        let config = self.layout.config;
        let mut tokens = JsonTokens::new(self.config().as_bytes(), config.offset);
        let mut is_within = tokens.next().is_some_and(|token| token.is_ok());
        core::iter::from_fn(move || {
            let key = tokens.next().filter(|_| is_within)?.ok()?;
            let value = tokens.clone().next()?.ok()?;
            is_within = key.kind == LexemeKind::Key && tokens.skip_value()?.is_ok();
            is_within.then_some((key, value))
        })
    }

    /// The elements of an array that is a member of the configuration, up to the opening bracket of
    /// a nested array; none if there is no such array.
    pub fn config_elements(&self, key: &str) -> impl Iterator<Item = Token<'a>> + use<'a> {
        let config = self.layout.config;
        let array = self.config_value(key).ok().flatten();
        let array = array.filter(|token| token.kind == LexemeKind::BeginArray);
        let bytes = array.and_then(|array| {
            let start = array.offset.checked_sub(config.offset)?;
            self.text(config).as_bytes().get(usize::try_from(start).ok()?..)
        });
        let offset = array.map_or(config.offset, |array| array.offset);
        let tokens = JsonTokens::new(bytes.unwrap_or_default(), offset).map_while(Result::ok);
        let mut is_within = true;
        tokens.skip(1).take_while(move |token| {
            let goes_on = is_within && token.kind != LexemeKind::EndArray;
            is_within = token.kind != LexemeKind::BeginArray;
            goes_on
        })
    }

    /// The error at the first duplicate name in the metadata or the configuration.
    #[must_use]
    pub fn duplicate_member(&self) -> Option<Error> {
        let of = |place: AmbPlace| {
            let bytes = self.text(place).as_bytes();
            // Quadratic in the number of members, of which there are about twenty, so that it needs
            // no memory.
            let keys = JsonTokens::new(bytes, place.offset).filter_map(Result::ok);
            let mut depth = 0_u32;
            let outer = keys.filter(move |token| {
                let outer = depth == 1 && token.kind == LexemeKind::Key;
                match token.kind {
                    LexemeKind::BeginObject | LexemeKind::BeginArray => {
                        depth = depth.saturating_add(1);
                    }
                    LexemeKind::EndObject | LexemeKind::EndArray => depth = depth.saturating_sub(1),
                    _ => {}
                }
                outer
            });
            outer
                .take(MAX_COMPARED_MEMBERS)
                .find_map(|key| member(bytes, place.offset, key.spelling).err())
        };
        of(self.layout.metadata).or_else(|| of(self.layout.config))
    }

    /// The tokenizer; `None` if the file has none.
    #[must_use]
    pub fn tokenizer(&self) -> Option<AmbTokenizer<'a>> {
        let place = self.layout.tokenizer;
        if place.bytes == 0 {
            return None;
        }
        let (head, _) = self.item(grammar::tokenizer_head, place.offset)?;
        let offset = place.offset.checked_add(TOKENIZER_HEAD_BYTES)?;
        let payload = self
            .region(AmbPlace { offset, bytes: place.bytes.checked_sub(TOKENIZER_HEAD_BYTES)? })?;
        Some(AmbTokenizer { head, payload, offset })
    }

    /// The tensors in file order.
    #[must_use]
    pub const fn tensors(&self) -> AmbTensors<'a> {
        AmbTensors { file: *self, next: self.layout.weights.offset }
    }

    /// The tensor of this name.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<TensorView<'a>> {
        self.tensors().find(|tensor| tensor.header().name == name)
    }

    fn text(&self, place: AmbPlace) -> &'a str {
        let bytes = self.region(place).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }

    fn item<T>(
        &self,
        grammar: impl FnOnce(&'a [u8]) -> Parse<'a, T>,
        offset: u64,
    ) -> Option<(T, u64)> {
        parsed_at(grammar, self.bytes, offset)
    }

    fn region(&self, place: AmbPlace) -> Option<&'a [u8]> {
        let start = usize::try_from(place.offset).ok()?;
        let end = start.checked_add(usize::try_from(place.bytes).ok()?)?;
        self.bytes.get(start..end)
    }
}

/// Reads the whole file.
fn read<const TENSORS: usize>(slice: &mut Slice<'_, AmbDecoder<TENSORS>>) -> Result<AmbLayout> {
    while slice.next_event()? != Event::End {}
    let layout = slice.decoder().layout();
    layout.copied().ok_or(Error::without_offset(ErrorKind::UnexpectedEnd))
}

/// The names of the first `count` tensors with the offsets of their records; the first record is at
/// `first`.
fn names(bytes: &[u8], first: u64, count: u64) -> impl Iterator<Item = (u64, u64)> + Clone {
    identity::read_again(first, count, |next| {
        let place = *next;
        let (record, used) = parsed_at(grammar::record, bytes, place)?;
        // The last tensor may end at an offset that no file reaches.
        let data = place.saturating_add(used);
        *next = after(data, &record).unwrap_or(u64::MAX);
        Some((record.name, place))
    })
}

/// The offset of the record after `record`, whose data begins at `data`.
fn after(data: u64, record: &Record<'_>) -> Option<u64> {
    data.checked_add(record.data_bytes)?.checked_next_multiple_of(8)
}

/// Members after this many are not compared with each other, which bounds the time.
const MAX_COMPARED_MEMBERS: usize = 256;

/// The value of a member of the object `json`, which is at `offset`.
fn member<'a>(json: &'a [u8], offset: u64, key: &str) -> Result<Option<Token<'a>>> {
    let mut tokens = JsonTokens::new(json, offset);
    let mut found = None;
    tokens.next().transpose()?;
    while let Some(token) = tokens.next().transpose()? {
        if token.kind != LexemeKind::Key {
            continue;
        }
        let mut value = tokens.clone();
        if is(token.spelling, key) {
            if found.is_some() {
                return Err(Error::new(token.offset, ErrorKind::DuplicateName));
            }
            found = value.next().transpose()?;
        }
        if let Some(skipped) = tokens.skip_value() {
            skipped?;
        }
    }
    Ok(found)
}

/// The tokenizer section.
#[derive(Clone, Copy, Debug)]
pub struct AmbTokenizer<'a> {
    head: TokenizerHead,
    payload: &'a [u8],
    offset: u64,
}

impl<'a> AmbTokenizer<'a> {
    /// The kind of the payload.
    #[must_use]
    pub const fn kind(&self) -> AmbTokenizerKind {
        self.head.kind
    }

    /// The id of the token with this role, if there is one.
    #[must_use]
    pub fn special(&self, role: SpecialRole) -> Option<u32> {
        let index = ROLES.iter().position(|known| *known == role)?;
        self.head.special.get(index).filter(|id| **id != NO_TOKEN).map(|id| (*id).into())
    }

    /// The bytes after the special tokens: a SentencePiece model, an application's own format, or
    /// merges and tokens.
    #[must_use]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Absolute offset of the [`payload`](Self::payload) in the file.
    #[must_use]
    pub const fn payload_offset(&self) -> u64 {
        self.offset
    }

    /// The merges of BPE in order of rank; none for other kinds.
    #[must_use]
    pub fn merges(&self) -> AmbMerges<'a> {
        let is_bpe = self.kind() == AmbTokenizerKind::Bpe;
        match parse(le_u32, self.payload, 0) {
            Ok(Item::Parsed { item, used }) if is_bpe => {
                AmbMerges { rest: self.payload.get(used..).unwrap_or_default(), left: item }
            }
            _ => AmbMerges { rest: &[], left: 0 },
        }
    }

    /// The entries of WordPiece or BPE tokens, for an index over them; `None` if there are none.
    #[must_use]
    pub fn token_entries(&self) -> Option<AmbTokenEntries<'a>> {
        let rest = match self.kind() {
            AmbTokenizerKind::WordPiece => self.payload,
            AmbTokenizerKind::Bpe => {
                let mut merges = self.merges();
                while merges.next().is_some() {}
                merges.rest
            }
            AmbTokenizerKind::SentencePiece | AmbTokenizerKind::Custom => return None,
        };
        let Ok(Item::Parsed { item: count, used }) = parse(le_u32, rest, 0) else { return None };
        let bytes = rest.get(used..)?;
        let before = self.payload.len().checked_sub(bytes.len())?;
        let offset = self.offset.checked_add(before as u64)?;
        (count > 0).then_some(AmbTokenEntries { bytes, offset, count })
    }

    /// The tokens of WordPiece or BPE in the order of their ids.
    #[must_use]
    pub fn tokens(&self) -> AmbTokens<'a> {
        match self.token_entries() {
            Some(entries) => AmbTokens { rest: entries.bytes, left: entries.count },
            None => AmbTokens { rest: &[], left: 0 },
        }
    }
}

/// Iterates over the merges of BPE: pairs of parts.
#[derive(Clone, Debug)]
pub struct AmbMerges<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> Iterator for AmbMerges<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (rest, first) = grammar::text(self.rest).ok()?;
        let (rest, second) = grammar::text(rest).ok()?;
        self.rest = rest;
        Some((first, second))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for AmbMerges<'_> {}

/// Iterates over the tokens of a vocabulary.
#[derive(Clone, Debug)]
pub struct AmbTokens<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> Iterator for AmbTokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (rest, token) = grammar::string(self.rest).ok()?;
        self.rest = rest;
        Some(token)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for AmbTokens<'_> {}

/// Iterates over the tensors of an [`Amb`], in file order.
#[derive(Clone, Debug)]
pub struct AmbTensors<'a> {
    file: Amb<'a>,
    next: u64,
}

impl<'a> Iterator for AmbTensors<'a> {
    type Item = TensorView<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let end = self.file.layout.weights.end();
        if self.next >= end {
            return None;
        }
        let (record, used) = self.file.item(grammar::record, self.next)?;
        let offset = self.next.checked_add(used)?;
        let header = TensorHeader {
            name: record.name,
            dtype: record.dtype,
            shape: record.shape,
            offset,
            bytes: record.data_bytes,
        };
        self.next = after(offset, &record)?;
        TensorView::new(header, self.file.region(AmbPlace { offset, bytes: record.data_bytes })?)
    }
}
