//! A `.weights` file that lies anywhere: what one pass over it tells, and its weights and tokens read where they lie.
//!
//! [`Contents::read`] drives the decoder over storage and keeps what opening a model needs: the sizes, the places of
//! the tensors in lent memory, and where the tokens lie. Nothing of the file stays in memory: [`StoredWeights`] and
//! [`StoredTokens`] read it again where they are asked.

use core::cmp::Ordering;

use super::config::BertConfig;
use super::weights::{Matrix, Weights};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, Format, SpecialRole};
use crate::format::embd;
use crate::read::{ReadAt, Seek};
use crate::tensor::{Dtype, Shape, TensorHeader, identity};
use crate::token::vocabulary::{Comparison, IdWidth, MAX_TOKEN_BYTES, Ranked, Tokens};
use crate::token::{LengthPrefix, SpecialIds};

/// The longest value of a key in [`BertConfig::KEYS`] that is kept.
const MAX_VALUE_BYTES: usize = 32;
const KEYS: usize = BertConfig::KEYS.len();
const ROLES: usize = SpecialRole::ALL.len();
/// More dimensions than any tensor of these files has.
const DIMS: usize = 4;

/// The place of one tensor, by a hash of its name: names stay in the file.
#[derive(Clone, Copy, Debug)]
pub struct TensorPlace {
    name: u64,
    offset: u64,
    bytes: u64,
    dims: [u32; DIMS],
    ndim: u8,
    dtype: Dtype,
}

impl TensorPlace {
    /// A placeholder, to make the array that [`Contents::read`] fills.
    pub const EMPTY: Self =
        Self { name: 0, offset: 0, bytes: 0, dims: [0; DIMS], ndim: 0, dtype: Dtype::U8 };

    fn of(header: &TensorHeader<'_>) -> Option<Self> {
        let mut dims = [0; DIMS];
        for (at, &dim) in header.shape.dims().iter().enumerate() {
            *dims.get_mut(at)? = u32::try_from(dim).ok()?;
        }
        Some(Self {
            name: identity::hash(header.name),
            offset: header.offset,
            bytes: header.bytes,
            dims,
            ndim: u8::try_from(header.shape.dims().len()).ok()?,
            dtype: header.dtype,
        })
    }

    fn header(&self) -> TensorHeader<'static> {
        let dims = self.dims.map(u64::from);
        let dims = dims.get(..usize::from(self.ndim)).unwrap_or_default();
        let shape = Shape::new(dims).unwrap_or(Shape::SCALAR);
        let Self { dtype, offset, bytes, .. } = *self;
        TensorHeader { name: "", dtype, shape, offset, bytes }
    }
}

/// Where the token entries of a file lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenPlaces {
    /// Absolute offset of the first entry.
    pub offset: u64,
    /// The number of entries.
    pub count: u32,
    /// The width of each entry's length.
    pub prefix: LengthPrefix,
}

/// What one pass over a `.weights` file tells.
#[derive(Debug)]
pub struct Contents<'m> {
    tensors: &'m mut [TensorPlace],
    count: usize,
    values: [heapless::String<MAX_VALUE_BYTES>; KEYS],
    present: u32,
    tokens: Option<TokenPlaces>,
    special: [Option<u32>; ROLES],
}

impl<'m> Contents<'m> {
    /// Reads all of `source` but its tensors, through `buffer`, which holds the largest item at least (some hundred
    /// bytes in real files, [`embd::MAX_ITEM_BYTES`] in any). `tensors` needs room for each tensor.
    ///
    /// # Errors
    ///
    /// What the decoder and the source answer; [`ErrorKind::TooManyTensors`] or [`ErrorKind::BufferTooSmall`] for too
    /// little room.
    pub fn read(
        source: &(impl ReadAt + ?Sized),
        decoder: impl Decode,
        buffer: &mut [u8],
        tensors: &'m mut [TensorPlace],
    ) -> Result<Self> {
        let mut contents = Self {
            tensors,
            count: 0,
            values: [const { heapless::String::new() }; KEYS],
            present: 0,
            tokens: None,
            special: [None; ROLES],
        };
        let mut prefix = LengthPrefix::U16;
        let mut first_token = None;
        let mut seek = Seek::new(source, decoder, buffer).without_data();
        loop {
            let mut is_first_token = false;
            let more = seek.next_event(|event| {
                if let Event::Header(info) = &event {
                    if info.format != Format::Embd {
                        return Err(Error::new(0, ErrorKind::UnknownFormat));
                    }
                    if info.variant == "stream" {
                        prefix = LengthPrefix::U32;
                    }
                }
                is_first_token = matches!(event, Event::Token { id: 0, .. });
                if let Event::Token { id: 0, bytes } = &event {
                    first_token = Some(bytes.len());
                }
                contents.note(&event)
            })?;
            if is_first_token
                && let (Some(bytes), Some(tokens)) = (first_token, &mut contents.tokens)
            {
                let field = if prefix == LengthPrefix::U16 { 2 } else { 4 };
                tokens.prefix = prefix;
                tokens.offset = seek.decoder().offset().saturating_sub(bytes + field);
            }
            if !more {
                return Ok(contents);
            }
        }
    }

    fn note(&mut self, event: &Event<'_>) -> Result<()> {
        match *event {
            Event::Metadata { key, value } => {
                let known = BertConfig::KEYS.iter().position(|known| *known == key);
                if let Some(at) = known
                    && let Some(slot) = self.values.get_mut(at)
                {
                    slot.clear();
                    // One that is too long is no number or word that a model has.
                    if slot.push_str(value).is_err() {
                        let _ = slot.push('?');
                    }
                    self.present |= 1 << at;
                }
            }
            Event::Token { id, .. } => {
                let tokens = self.tokens.get_or_insert(TokenPlaces {
                    offset: 0,
                    count: 0,
                    prefix: LengthPrefix::U16,
                });
                tokens.count = id.saturating_add(1);
            }
            Event::SpecialToken { role, id } => {
                let at = SpecialRole::ALL.iter().position(|known| *known == role);
                if let Some(slot) = at.and_then(|at| self.special.get_mut(at)) {
                    *slot = Some(id);
                }
            }
            Event::Tensor(header) => {
                let error = |kind| Error::new(header.offset, kind);
                let slot = self.tensors.get_mut(self.count);
                let slot = slot.ok_or(error(ErrorKind::TooManyTensors))?;
                *slot = TensorPlace::of(&header).ok_or(error(ErrorKind::SizeOverflow))?;
                self.count += 1;
            }
            _ => {}
        }
        Ok(())
    }

    /// The tensor of this name; the header that comes back has none.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<TensorHeader<'static>> {
        let name = identity::hash(name);
        let tensors = self.tensors.get(..self.count).unwrap_or_default();
        tensors.iter().find(|tensor| tensor.name == name).map(TensorPlace::header)
    }

    /// The number of tensors.
    #[must_use]
    pub const fn tensors(&self) -> usize {
        self.count
    }

    /// The model's sizes.
    ///
    /// # Errors
    ///
    /// As [`BertConfig::from_metadata`].
    pub fn config(&self) -> Result<BertConfig> {
        BertConfig::from_metadata(|key| {
            let at = BertConfig::KEYS.iter().position(|known| *known == key)?;
            let value = self.values.get(at)?;
            (self.present >> at & 1 == 1).then_some(value.as_str())
        })
    }

    /// Where the tokens lie; `None` if there are none.
    #[must_use]
    pub const fn tokens(&self) -> Option<TokenPlaces> {
        self.tokens
    }

    /// The ids of the special tokens, if the file has them.
    #[must_use]
    pub fn special(&self) -> Option<SpecialIds> {
        let [pad, unknown, classify, separate, mask] = self.special;
        let count = self.tokens?.count;
        let known = |id: &u32| *id < count;
        Some(SpecialIds {
            pad: pad.filter(known),
            unknown: unknown?,
            classify: classify?,
            separate: separate?,
            mask: mask.filter(known),
        })
    }

    /// The index over the tokens that the file may hold: where `vocab.offsets` and `vocab.sorted_ids` lie.
    #[must_use]
    pub fn token_index(&self) -> Option<TokenIndex> {
        let count = u64::from(self.tokens?.count);
        let offsets = self.tensor(embd::TOKEN_OFFSETS)?;
        let ids = self.tensor(embd::SORTED_IDS)?;
        let width = match ids.dtype {
            Dtype::U16 => IdWidth::U16,
            Dtype::U32 => IdWidth::U32,
            _ => return None,
        };
        let fits = offsets.dtype == Dtype::U32
            && offsets.shape.elements() == count.checked_add(1)
            && ids.shape.elements() == Some(count);
        fits.then_some(TokenIndex { offsets: offsets.offset, ids: ids.offset, width })
    }
}

/// Where the index over the tokens lies that a file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenIndex {
    /// Absolute offset of `vocab.offsets`.
    pub offsets: u64,
    /// Absolute offset of `vocab.sorted_ids`.
    pub ids: u64,
    /// The width of an id there.
    pub width: IdWidth,
}

/// The tokens of a file, read one by one through its own index.
#[derive(Clone, Copy, Debug)]
pub struct StoredTokens<S> {
    source: S,
    places: TokenPlaces,
    index: TokenIndex,
}

impl<S: ReadAt> StoredTokens<S> {
    /// The tokens at `places` of `source`, by the file's `index`.
    pub const fn new(source: S, places: TokenPlaces, index: TokenIndex) -> Self {
        Self { source, places, index }
    }

    /// Offset and length of a token's string.
    fn place(&self, id: u32) -> Result<(u64, usize)> {
        let bad = Error::new(self.places.offset, ErrorKind::BadVocabulary);
        if id >= self.places.count {
            return Err(bad);
        }
        let mut bytes = [0; 8];
        let at = self.index.offsets.saturating_add(u64::from(id).saturating_mul(4));
        self.source.read_exact_at(at, &mut bytes)?;
        let [a, b, c, d, e, f, g, h] = bytes;
        let (start, end) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        let field: u32 = if self.places.prefix == LengthPrefix::U16 { 2 } else { 4 };
        let length = end.checked_sub(start).and_then(|size| size.checked_sub(field)).ok_or(bad)?;
        let start = u64::from(start).saturating_add(field.into());
        Ok((self.places.offset.saturating_add(start), length as usize))
    }
}

impl<S: ReadAt> Tokens for StoredTokens<S> {
    fn count(&self) -> u32 {
        self.places.count
    }

    fn compare(&self, id: u32, text: &[u8]) -> Result<Comparison> {
        let (offset, length) = self.place(id)?;
        // What lies behind the text's length does not change the order.
        let mut buffer = [0; MAX_TOKEN_BYTES + 1];
        let needed = length.min(text.len().saturating_add(1)).min(buffer.len());
        let token = buffer.get_mut(..needed).unwrap_or_default();
        self.source.read_exact_at(offset, token)?;
        let comparison = Comparison::of(token, text);
        Ok(Comparison { token_bytes: length, ..comparison })
    }

    fn order(&self, id: u32, text: &[u8]) -> Result<Ordering> {
        self.compare(id, text).map(|comparison| comparison.order)
    }

    fn copy(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        let (offset, length) = self.place(id)?;
        let room = length.min(out.len());
        self.source.read_exact_at(offset, out.get_mut(..room).unwrap_or_default())?;
        Ok(length)
    }
}

/// The order of a file's tokens, read id by id.
#[derive(Clone, Copy, Debug)]
pub struct StoredIds<S> {
    source: S,
    count: u32,
    index: TokenIndex,
}

impl<S: ReadAt> StoredIds<S> {
    /// The order of `count` tokens by the file's `index`.
    pub const fn new(source: S, count: u32, index: TokenIndex) -> Self {
        Self { source, count, index }
    }
}

impl<S: ReadAt> Ranked for StoredIds<S> {
    fn count(&self) -> usize {
        self.count as usize
    }

    fn id(&self, rank: u32) -> Result<u32> {
        if rank >= self.count {
            return Err(self.bad());
        }
        let mut bytes = [0; 4];
        let width: u32 = if self.index.width == IdWidth::U16 { 2 } else { 4 };
        let at = u64::from(rank).saturating_mul(width.into()).saturating_add(self.index.ids);
        let id = bytes.get_mut(..width as usize).unwrap_or_default();
        self.source.read_exact_at(at, id)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn bad(&self) -> Error {
        Error::new(self.index.ids, ErrorKind::BadVocabulary)
    }
}

/// Weights behind random access: every row is read into the tile that the model's workspace has.
#[derive(Clone, Copy, Debug)]
pub struct StoredWeights<S, F> {
    source: S,
    find: F,
}

impl<S: ReadAt, F: Fn(&str) -> Option<TensorHeader<'static>>> StoredWeights<S, F> {
    /// Weights in `source`, whose tensors `find` knows by name.
    pub const fn new(source: S, find: F) -> Self {
        Self { source, find }
    }
}

impl<S: ReadAt, F: Fn(&str) -> Option<TensorHeader<'static>>> Weights for StoredWeights<S, F> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>> {
        Matrix::find(name, &self.find)
    }

    fn bytes<'t>(&'t self, offset: u64, length: usize, tile: &'t mut [u8]) -> Result<&'t [u8]> {
        let end = offset.checked_add(length as u64);
        if end.is_none_or(|end| end > self.source.len()) {
            return Err(Error::new(offset, ErrorKind::OutOfBounds));
        }
        let tile =
            tile.get_mut(..length).ok_or(Error::without_offset(ErrorKind::BufferTooSmall))?;
        self.source.read_exact_at(offset, tile)?;
        Ok(tile)
    }

    fn borrows(&self) -> bool {
        false
    }
}
