//! The tokens of the file, read one by one.

use core::cmp::Ordering;

use crate::error::{Error, ErrorKind, Result};
use crate::format::embd;
use crate::read::ReadAt;
use crate::tensor::{Dtype, TensorHeader};
use crate::token::LengthPrefix;
use crate::token::vocabulary::{Comparison, IdWidth, MAX_TOKEN_BYTES, Ranked, Tokens};

/// Where the token entries of a file lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenPlaces {
    /// Absolute offset of the first entry.
    pub offset: u64,
    /// The number of entries.
    pub count: u32,
    /// The width of each entry's length.
    pub prefix: LengthPrefix,
}

/// Where the index over the tokens lies that a file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenIndex {
    /// Absolute offset of `vocab.offsets`.
    pub offsets: u64,
    /// Absolute offset of `vocab.sorted_ids`.
    pub ids: u64,
    /// The width of an id there.
    pub width: IdWidth,
}

impl TokenIndex {
    /// The index over `tokens` tokens by the tensors that `find` knows; `None` if they are not
    /// there, or no such index.
    pub(in crate::model) fn find<'h>(
        tokens: u32,
        find: impl Fn(&str) -> Option<TensorHeader<'h>>,
    ) -> Option<Self> {
        let (offsets, ids) = (find(embd::TOKEN_OFFSETS)?, find(embd::SORTED_IDS)?);
        let width = match ids.dtype {
            Dtype::U16 => IdWidth::U16,
            Dtype::U32 => IdWidth::U32,
            _ => return None,
        };
        let count = u64::from(tokens);
        let fits = offsets.dtype == Dtype::U32
            && offsets.shape.elements() == count.checked_add(1)
            && ids.shape.elements() == Some(count);
        fits.then_some(Self { offsets: offsets.offset, ids: ids.offset, width })
    }
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
        let comparison = Comparison::new(token, text);
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
