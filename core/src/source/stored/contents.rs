//! The results of one pass over the file.

use super::tokens::{TokenIndex, TokenPlaces};
use crate::describe::BertConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, Format, SpecialRole};
use crate::read::{ReadAt, Seek};
use crate::tensor::{Dtype, Shape, TensorHeader, identity};
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

    fn from_header(header: &TensorHeader<'_>) -> Option<Self> {
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

/// The results of one pass over a `.weights` file.
#[derive(Debug)]
pub struct Contents<'m> {
    tensors: &'m mut [TensorPlace],
    count: usize,
    values: [heapless::String<MAX_VALUE_BYTES>; KEYS],
    present: u32,
    tokens: Option<TokenPlaces>,
    special: [Option<u32>; ROLES],
    /// True if the file keeps the texts of a folder in place of settings of its own.
    has_folder_texts: bool,
}

impl<'m> Contents<'m> {
    /// Nothing, before a file is [read](Self::read) that has no more tensors than there is room for.
    #[must_use]
    pub const fn new(tensors: &'m mut [TensorPlace]) -> Self {
        Self {
            tensors,
            count: 0,
            values: [const { heapless::String::new() }; KEYS],
            present: 0,
            tokens: None,
            special: [None; ROLES],
            has_folder_texts: false,
        }
    }

    /// Reads all of `source` but its tensors, through `buffer`, which holds the largest item at
    /// least (some hundred bytes in real files, [`embd::MAX_ITEM_BYTES`] in any). Where it lies it
    /// is filled: it is large for a small stack.
    ///
    /// [`embd::MAX_ITEM_BYTES`]: crate::format::embd::MAX_ITEM_BYTES
    ///
    /// # Errors
    ///
    /// Errors of the decoder and of the source; [`ErrorKind::TooManyTensors`] or
    /// [`ErrorKind::BufferTooSmall`] for too little room.
    pub fn read(
        &mut self,
        source: &(impl ReadAt + ?Sized),
        decoder: impl Decode,
        buffer: &mut [u8],
    ) -> Result<()> {
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
                self.note(&event)
            })?;
            if is_first_token && let (Some(bytes), Some(tokens)) = (first_token, &mut self.tokens) {
                let field = if prefix == LengthPrefix::U16 { 2 } else { 4 };
                tokens.prefix = prefix;
                tokens.offset = seek.decoder().offset().saturating_sub(bytes.saturating_add(field));
            }
            if !more {
                return Ok(());
            }
        }
    }

    fn note(&mut self, event: &Event<'_>) -> Result<()> {
        match *event {
            Event::Metadata { key, value } => {
                self.has_folder_texts |= key == "config.json";
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
                *slot = TensorPlace::from_header(&header).ok_or(error(ErrorKind::SizeOverflow))?;
                self.count = self.count.saturating_add(1);
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
    /// As [`BertConfig::from_metadata`]; [`ErrorKind::UnsupportedArchitecture`] if the file keeps the
    /// texts of a folder in place of these.
    pub fn config(&self) -> Result<BertConfig> {
        if self.has_folder_texts {
            return Err(Error::without_offset(ErrorKind::UnsupportedArchitecture));
        }
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

    /// The index over the tokens that the file may hold: where `vocab.offsets` and
    /// `vocab.sorted_ids` lie.
    #[must_use]
    pub fn token_index(&self) -> Option<TokenIndex> {
        TokenIndex::find(self.tokens?.count, |name| self.tensor(name))
    }
}
