//! The tokens of the file, read one by one.

use core::cmp::Ordering;

use crate::error::{Error, ErrorKind, Result};
use crate::format::embd;
use crate::read::ReadAt;
use crate::tensor::{Dtype, TensorHeader};
use crate::token::LengthPrefix;
use crate::token::vocabulary::{Comparison, IdWidth, MAX_TOKEN_BYTES, Ranked, Tokens};

/// The size of the longest length field.
const FIELD: usize = LengthPrefix::U64.bytes();

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
    pub(in crate::source) fn find<'h>(
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

    /// Offset of a token's entry and length of its string, as the index has them.
    fn entry(&self, id: u32) -> Result<(u64, usize)> {
        let bad = self.bad();
        if id >= self.places.count {
            return Err(bad);
        }
        let mut bytes = [0; 8];
        let at = self.index.offsets.saturating_add(u64::from(id).saturating_mul(4));
        self.source.read_exact_at(at, &mut bytes)?;
        let [a, b, c, d, e, f, g, h] = bytes;
        let (start, end) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        if self.places.offset.saturating_add(end.into()) > self.source.len() {
            return Err(bad);
        }
        let size = end.checked_sub(start).ok_or(bad)? as usize;
        let length = size.checked_sub(self.places.prefix.bytes()).ok_or(bad)?;
        Ok((self.places.offset.saturating_add(start.into()), length))
    }

    /// Fills `entry` from `offset` on, where an entry starts, and returns what lies there of its
    /// string; its length field must say `length`.
    fn read<'b>(&self, offset: u64, length: usize, entry: &'b mut [u8]) -> Result<&'b [u8]> {
        self.source.read_exact_at(offset, entry)?;
        match self.places.prefix.length(entry) {
            Some((said, string)) if said == length => Ok(string),
            _ => Err(self.bad()),
        }
    }

    const fn bad(&self) -> Error {
        Error::new(self.places.offset, ErrorKind::BadVocabulary)
    }
}

impl<S: ReadAt> Tokens for StoredTokens<S> {
    fn count(&self) -> u32 {
        self.places.count
    }

    fn compare(&self, id: u32, text: &[u8]) -> Result<Comparison> {
        let (offset, length) = self.entry(id)?;
        // What lies after the text's length does not change the order.
        let mut buffer = [0; FIELD + MAX_TOKEN_BYTES + 1];
        let needed = length.min(text.len().saturating_add(1)).min(MAX_TOKEN_BYTES + 1);
        let needed = needed.saturating_add(self.places.prefix.bytes());
        let token = self.read(offset, length, buffer.get_mut(..needed).unwrap_or_default())?;
        let comparison = Comparison::new(token, text);
        Ok(Comparison { token_bytes: length, ..comparison })
    }

    fn order(&self, id: u32, text: &[u8]) -> Result<Ordering> {
        self.compare(id, text).map(|comparison| comparison.order)
    }

    fn copy(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        let (offset, length) = self.entry(id)?;
        let prefix = self.places.prefix.bytes();
        let mut field = [0; FIELD];
        self.read(offset, length, field.get_mut(..prefix).unwrap_or_default())?;
        let string = offset.saturating_add(prefix as u64);
        let room = length.min(out.len());
        self.source.read_exact_at(string, out.get_mut(..room).unwrap_or_default())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    const STRINGS: u64 = 5;
    const OFFSETS: u64 = 12;

    /// Five other bytes, the entries `"a"` and `"bc"`, and where they start and end.
    fn file() -> [u8; 24] {
        let mut file = *b"other\x01\0a\x02\0bc0123456789ab";
        for (place, value) in file[12..].chunks_exact_mut(4).zip([0_u32, 3, 7]) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        file
    }

    fn tokens(file: &[u8]) -> StoredTokens<&[u8]> {
        let places = TokenPlaces { offset: STRINGS, count: 2, prefix: LengthPrefix::U16 };
        let index = TokenIndex { offsets: OFFSETS, ids: 0, width: IdWidth::U16 };
        StoredTokens::new(file, places, index)
    }

    #[test]
    fn tokens_are_the_strings_of_their_entries() {
        let file = file();
        let tokens = tokens(&file);
        let mut out = [0; 4];
        assert_eq!(tokens.copy(1, &mut out), Ok(2));
        assert_eq!(&out[..2], b"bc");
        assert_eq!(tokens.order(0, b"a"), Ok(Ordering::Equal));
        assert_eq!(tokens.order(1, b"bb"), Ok(Ordering::Greater));
        assert_eq!(tokens.order(1, b"bcd"), Ok(Ordering::Less));
    }

    #[test]
    fn an_index_that_does_not_lead_to_the_entry_is_refused() {
        let bad = Error::new(STRINGS, ErrorKind::BadVocabulary);
        let refused = |at: usize, value: u8, id: u32| {
            let mut file = file();
            file[at] = value;
            let tokens = tokens(&file);
            assert_eq!(tokens.order(id, b"bc"), Err(bad), "byte {at}");
            assert_eq!(tokens.copy(id, &mut [0; 4]), Err(bad), "byte {at}");
        };
        // The last entry ends after the file, another one within its neighbour.
        refused(23, 1, 1);
        refused(16, 4, 0);
        // An entry begins after its end, or has no room for its length.
        refused(16, 8, 1);
        refused(16, 6, 1);
        // The length in front of the string is another one.
        refused(5, 2, 0);
        refused(8, 1, 1);
        assert_eq!(tokens(&file()).order(2, b"bc"), Err(bad));
    }
}
