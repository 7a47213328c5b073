//! A whole `.weights` file in memory: read, mapped, or in flash.

use super::decoder::{DEFAULT_MAX_TENSORS, DecoderOver, EmbdDecoder, InMemory, TensorRecord};
use super::grammar::{
    self, DESCRIPTOR_BYTES, Flags, Header, METADATA_HEADER_BYTES, SPECIAL_BYTES,
    VOCABULARY_HEADER_BYTES,
};
use crate::bytes::{Parse, parsed_at};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, FileInfo, Mode, SpecialRole};
use crate::leaf;
use crate::read::Slice;
use crate::tensor::{Dtype, TensorHeader, TensorView};

/// The layout of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Variant {
    /// The published specification.
    Section,
    /// The layout of the published converter.
    Stream,
}

/// The storage order of a file's linear weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinearLayout {
    /// `[out, in]`, as in the specification and in PyTorch.
    OutIn,
    /// `[in, out]`: the published converter transposes since commit `99df7c6`, which square
    /// matrices do not reveal.
    InOut,
    /// The deciding tensors are missing or square.
    Unknown,
}

/// The ids of the special tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Special {
    ids: [u32; 5],
}

impl Special {
    /// The id of the token with this role.
    #[must_use]
    pub fn id(&self, role: SpecialRole) -> u32 {
        let [pad, unknown, classify, separate, mask] = self.ids;
        match role {
            SpecialRole::Pad => pad,
            SpecialRole::Unknown => unknown,
            SpecialRole::Classify => classify,
            SpecialRole::Separate => separate,
            SpecialRole::Mask => mask,
        }
    }
}

/// The entries of a vocabulary, contiguous: a little-endian length, then that many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmbdTokenEntries<'a> {
    /// The entries; in the stream variant other bytes may follow them.
    pub bytes: &'a [u8],
    /// Absolute offset of the first entry in the file.
    pub offset: u64,
    /// The number of entries.
    pub count: u32,
    /// The width of the length: 2 in the section variant, 4 in the stream variant.
    pub length_bytes: u8,
}

/// A validated `.weights` file; all views borrow from the file's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Embd<'a> {
    bytes: &'a [u8],
    info: FileInfo,
    places: Places,
    _built_in: leaf::Embd,
}

#[derive(Clone, Copy, Debug)]
enum Places {
    Section { header: Header },
    Stream { vocabulary: u64 },
}

impl<'a> Embd<'a> {
    /// Validates `bytes`, the whole file, except for checksums over the data: see
    /// [`EmbdVerifier`](super::EmbdVerifier).
    ///
    /// # Errors
    ///
    /// As the [`EmbdDecoder`].
    pub fn parse(bytes: &'a [u8], mode: Mode) -> Result<Self> {
        Self::parse_with(EmbdDecoder::<DEFAULT_MAX_TENSORS>::new(mode), bytes)
    }

    /// As [`parse`](Self::parse), with a new decoder of another capacity.
    ///
    /// # Errors
    ///
    /// As the [`EmbdDecoder`].
    pub fn parse_with<M>(decoder: DecoderOver<M>, bytes: &'a [u8]) -> Result<Self>
    where
        M: AsRef<[TensorRecord]> + AsMut<[TensorRecord]>,
    {
        let mut slice = Slice::new(decoder.without_tokens(), bytes).without_data();
        let read = read(&mut slice)?;
        Ok(read.view(bytes, slice.decoder().header()))
    }

    /// As [`parse`](Self::parse), but reads tensor descriptions again instead of keeping them: for
    /// small stacks without caller-provided memory (see [`lent`](DecoderOver::lent)).
    ///
    /// # Errors
    ///
    /// As the [`EmbdDecoder`].
    pub fn parse_in_place(bytes: &'a [u8], mode: Mode) -> Result<Self> {
        let mut slice = Slice::new(InMemory::new(mode, bytes), bytes).without_data();
        let read = read(&mut slice);
        // The first fault of the file is reported.
        slice.decoder().check_names()?;
        Ok(read?.view(bytes, slice.decoder().header()))
    }

    /// The contents of the fixed header.
    #[must_use]
    pub const fn info(&self) -> &FileInfo {
        &self.info
    }

    /// The layout of this file.
    #[must_use]
    pub const fn variant(&self) -> Variant {
        match self.places {
            Places::Section { .. } => Variant::Section,
            Places::Stream { .. } => Variant::Stream,
        }
    }

    /// The feature flags; the stream variant has none.
    #[must_use]
    pub const fn flags(&self) -> Flags {
        match &self.places {
            Places::Section { header } => header.flags,
            Places::Stream { .. } => Flags(0),
        }
    }

    /// The metadata in file order.
    #[must_use]
    pub fn metadata(&self) -> EmbdMetadata<'a> {
        let (offset, remaining) = match &self.places {
            Places::Section { header } => {
                let entries = self
                    .item(grammar::metadata_header, header.metadata.offset)
                    .map_or(0, |(head, _)| head.entries);
                (header.metadata.offset.saturating_add(METADATA_HEADER_BYTES), entries)
            }
            Places::Stream { .. } => (0, 0),
        };
        EmbdMetadata { file: *self, offset, remaining }
    }

    /// The value of a metadata key.
    #[must_use]
    pub fn metadata_value(&self, key: &str) -> Option<&'a str> {
        self.metadata_entry(key).map(|(_, value)| value)
    }

    /// The offset of the entry of a metadata key, and its value.
    #[must_use]
    pub fn metadata_entry(&self, key: &str) -> Option<(u64, &'a str)> {
        let mut entries = self.metadata();
        loop {
            let offset = entries.offset;
            let (known, value) = entries.next()?;
            if known == key {
                return Some((offset, value));
            }
        }
    }

    /// The tokens in the order of their ids.
    #[must_use]
    pub fn tokens(&self) -> EmbdTokens<'a> {
        let (offset, remaining) = match &self.places {
            Places::Section { header } => self.section_tokens(header).unwrap_or((0, 0)),
            Places::Stream { vocabulary } => self
                .item(crate::bytes::le_u32, *vocabulary)
                .map_or((0, 0), |(count, used)| (vocabulary.saturating_add(used), count)),
        };
        EmbdTokens { file: *self, offset, remaining }
    }

    /// The token entries, for a vocabulary index over them; `None` if there are no tokens.
    #[must_use]
    pub fn token_entries(&self) -> Option<EmbdTokenEntries<'a>> {
        let (offset, count, length_bytes) = match &self.places {
            Places::Section { header } => {
                let (offset, count) = self.section_tokens(header)?;
                (offset, count, 2)
            }
            Places::Stream { vocabulary } => {
                let (count, used) = self.item(crate::bytes::le_u32, *vocabulary)?;
                (vocabulary.checked_add(used)?, count, 4)
            }
        };
        let bytes = match &self.places {
            Places::Section { header } => {
                let around = VOCABULARY_HEADER_BYTES + SPECIAL_BYTES;
                self.region(offset, header.vocabulary.bytes.checked_sub(around)?)?
            }
            Places::Stream { .. } => self.bytes.get(usize::try_from(offset).ok()?..)?,
        };
        (count > 0).then_some(EmbdTokenEntries { bytes, offset, count, length_bytes })
    }

    /// The special tokens; `None` without an embedded vocabulary, and in the stream variant.
    #[must_use]
    pub fn special(&self) -> Option<Special> {
        let Places::Section { header } = &self.places else { return None };
        let (tokens, _) = self.section_tokens(header)?;
        let first = header.vocabulary.offset.saturating_add(VOCABULARY_HEADER_BYTES);
        let place = if tokens == first {
            header.vocabulary.end().checked_sub(SPECIAL_BYTES)?
        } else {
            first
        };
        self.item(grammar::special, place).map(|(ids, _)| Special { ids })
    }

    /// The tensors in file order.
    #[must_use]
    pub fn tensors(&self) -> EmbdTensors<'a> {
        let (next, names) = match &self.places {
            Places::Section { header } => {
                let index = DESCRIPTOR_BYTES.saturating_mul(header.index_count.into());
                (header.index_offset, header.index_offset.saturating_add(index))
            }
            Places::Stream { .. } => (12, 0),
        };
        EmbdTensors { file: *self, next, names, remaining: self.info.tensors.unwrap_or(0) }
    }

    /// The tensor of this name.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<TensorView<'a>> {
        let mut tensors = self.tensors();
        if let Places::Section { .. } = self.places {
            tensors.pass_to(name)?;
        }
        tensors.find(|tensor| tensor.header().name == name)
    }

    /// The storage order of linear weights, determined by the first layer's
    /// `intermediate.dense.weight` and the width of the word embeddings.
    #[must_use]
    pub fn linear_layout(&self) -> LinearLayout {
        let dims = |name| self.tensor(name).map(|tensor| tensor.header().shape);
        let words = dims("embeddings.word_embeddings.weight");
        let linear = dims("encoder.layer.0.intermediate.dense.weight");
        let (Some(words), Some(linear)) = (words, linear) else { return LinearLayout::Unknown };
        match (linear.dims(), words.dims()) {
            ([rows, cols], [_, hidden]) if rows != cols && cols == hidden => LinearLayout::OutIn,
            ([rows, cols], [_, hidden]) if rows != cols && rows == hidden => LinearLayout::InOut,
            _ => LinearLayout::Unknown,
        }
    }

    /// Offset of the first token entry, and the number of tokens.
    fn section_tokens(&self, header: &Header) -> Option<(u64, u32)> {
        if !header.flags.has(Flags::VOCABULARY) {
            return None;
        }
        let section = header.vocabulary;
        let (head, used) = self.item(grammar::vocabulary_header, section.offset)?;
        let special = if grammar::special_is_first(section, head.special_offset)? {
            SPECIAL_BYTES
        } else {
            0
        };
        Some((section.offset.checked_add(used)?.checked_add(special)?, head.tokens))
    }

    fn item<T>(
        &self,
        grammar: impl FnOnce(&'a [u8]) -> Parse<'a, T>,
        offset: u64,
    ) -> Option<(T, u64)> {
        parsed_at(grammar, self.bytes, offset)
    }

    fn region(&self, offset: u64, bytes: u64) -> Option<&'a [u8]> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(bytes).ok()?)?;
        self.bytes.get(start..end)
    }

    fn tensor_view(&self, header: TensorHeader<'a>) -> Option<TensorView<'a>> {
        TensorView::new(header, self.region(header.offset, header.bytes)?)
    }
}

/// The contents of a file, collected from its events.
struct Read {
    info: FileInfo,
    /// The end of the last tensor.
    tensors_end: u64,
    _built_in: leaf::Embd,
}

impl Read {
    fn view<'a>(&self, bytes: &'a [u8], header: Option<&Header>) -> Embd<'a> {
        let places = match header {
            Some(header) => Places::Section { header: *header },
            None => Places::Stream { vocabulary: self.tensors_end },
        };
        Embd { bytes, info: self.info, places, _built_in: self._built_in }
    }
}

fn read(slice: &mut Slice<'_, impl Decode>) -> Result<Read> {
    let _built_in = leaf::Embd::built_in()?;
    let mut info = None;
    let mut tensors_end = 0;
    loop {
        match slice.next_event()? {
            Event::Header(header) => {
                info = Some(header);
                tensors_end = 12;
            }
            Event::Tensor(tensor) => tensors_end = tensor.offset.saturating_add(tensor.bytes),
            Event::End => break,
            _ => {}
        }
    }
    let info = info.ok_or(Error::new(0, ErrorKind::UnexpectedEnd))?;
    Ok(Read { info, tensors_end, _built_in })
}

/// Iterates over the metadata of an [`Embd`], key and value.
#[derive(Clone, Debug)]
pub struct EmbdMetadata<'a> {
    file: Embd<'a>,
    offset: u64,
    remaining: u32,
}

impl<'a> Iterator for EmbdMetadata<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        self.remaining = self.remaining.checked_sub(1)?;
        let (entry, used) = self.file.item(grammar::metadata_entry, self.offset)?;
        self.offset = self.offset.saturating_add(used);
        Some(entry)
    }
}

/// Iterates over the tokens of an [`Embd`], in the order of their ids.
#[derive(Clone, Debug)]
pub struct EmbdTokens<'a> {
    file: Embd<'a>,
    offset: u64,
    remaining: u32,
}

impl<'a> Iterator for EmbdTokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        self.remaining = self.remaining.checked_sub(1)?;
        let (bytes, used) = match self.file.places {
            Places::Section { .. } => self.file.item(grammar::token, self.offset)?,
            Places::Stream { .. } => self.file.item(grammar::stream_string, self.offset)?,
        };
        self.offset = self.offset.saturating_add(used);
        Some(bytes)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining as usize, Some(self.remaining as usize))
    }
}

impl ExactSizeIterator for EmbdTokens<'_> {}

/// Iterates over the tensors of an [`Embd`], in file order.
#[derive(Clone, Debug)]
pub struct EmbdTensors<'a> {
    file: Embd<'a>,
    /// The next descriptor, or the next inline header.
    next: u64,
    /// The next name, if names are stored separately.
    names: u64,
    remaining: u32,
}

impl<'a> EmbdTensors<'a> {
    /// Skips the tensors of an index before the one of this name, without decoding them.
    fn pass_to(&mut self, name: &str) -> Option<()> {
        while self.remaining > 0 {
            let (bytes, _) = self.file.item(grammar::descriptor_name_bytes, self.next)?;
            if self.file.region(self.names, bytes.into())? == name.as_bytes() {
                break;
            }
            self.next = self.next.saturating_add(DESCRIPTOR_BYTES);
            self.names = self.names.saturating_add(bytes.into());
            self.remaining = self.remaining.saturating_sub(1);
        }
        Some(())
    }

    fn next_in_index(&mut self, data: u64) -> Option<TensorHeader<'a>> {
        let (descriptor, used) = self.file.item(grammar::descriptor, self.next)?;
        let name_bytes = descriptor.name_bytes.into();
        let (name, _) = self.file.item(crate::bytes::utf8(name_bytes), self.names)?;
        self.next = self.next.saturating_add(used);
        self.names = self.names.saturating_add(name_bytes as u64);
        Some(TensorHeader {
            name,
            dtype: descriptor.dtype,
            shape: descriptor.shape(),
            offset: data.checked_add(descriptor.data_offset)?,
            bytes: descriptor.data_bytes(),
        })
    }

    fn next_in_stream(&mut self) -> Option<TensorHeader<'a>> {
        let (tensor, used) = self.file.item(grammar::stream_tensor, self.next)?;
        let offset = self.next.checked_add(used)?;
        self.next = offset.checked_add(tensor.data_bytes)?;
        Some(TensorHeader {
            name: tensor.name,
            dtype: Dtype::F32,
            shape: tensor.shape,
            offset,
            bytes: tensor.data_bytes,
        })
    }
}

impl<'a> Iterator for EmbdTensors<'a> {
    type Item = TensorView<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.remaining = self.remaining.checked_sub(1)?;
        let header = match self.file.places {
            Places::Section { header } => self.next_in_index(header.data.offset)?,
            Places::Stream { .. } => self.next_in_stream()?,
        };
        self.file.tensor_view(header)
    }
}
