//! Token strings as EMBD, AMB and GGUF store them: entries back to back, each a length and that
//! many bytes.
//!
//! | offset in the entry | size | field |
//! |---|---|---|
//! | 0 | 2, 4 or 8 | length `n` of the string, little-endian |
//! | 2, 4 or 8 | n | the string's bytes |
//!
//! The id of a token is its entry's ordinal. Where an entry lies is known from one of two tables:
//!
//! * **listed**, the file's tensor `vocab.offsets` (UINT32, `[tokens + 1]`): element `i` is the
//!   offset of entry `i` (of its length field) relative to the first entry, and the last element is
//!   the size of all entries together;
//! * **sampled**, made in lent memory by one pass over the entries: the offset of every eighth
//!   entry, from which the others are reached by their lengths.

use core::cmp::Ordering;

use super::{Comparison, MAX_TOKEN_BYTES, Tokens};
use crate::error::{Error, ErrorKind, Result};

/// Entries between two samples.
const STRIDE: u32 = 8;

/// The width of the length field before each string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthPrefix {
    /// Two bytes: EMBD's section variant, AMB.
    U16,
    /// Four bytes: EMBD's stream variant.
    U32,
    /// Eight bytes: GGUF.
    U64,
}

impl LengthPrefix {
    /// The size of the field.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::U16 => 2,
            Self::U32 => 4,
            Self::U64 => 8,
        }
    }

    /// Splits `bytes`, which begin with an entry, into the length of its string and what follows
    /// the field.
    #[cfg_attr(target_family = "wasm", inline)]
    pub(crate) fn length(self, bytes: &[u8]) -> Option<(usize, &[u8])> {
        match self {
            Self::U16 => {
                let (field, rest) = bytes.split_first_chunk()?;
                Some((usize::from(u16::from_le_bytes(*field)), rest))
            }
            Self::U32 => {
                let (field, rest) = bytes.split_first_chunk()?;
                Some((usize::try_from(u32::from_le_bytes(*field)).ok()?, rest))
            }
            Self::U64 => {
                let (field, rest) = bytes.split_first_chunk()?;
                Some((usize::try_from(u64::from_le_bytes(*field)).ok()?, rest))
            }
        }
    }

    /// Splits `bytes`, which begin with an entry, into the entry's string and what follows.
    #[cfg_attr(target_family = "wasm", inline(always))] // for each step to an entry
    fn split(self, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        let (length, rest) = self.length(bytes)?;
        rest.split_at_checked(length)
    }
}

/// The entries of a vocabulary, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a> {
    /// From the first byte of the first entry on; may go on after the last.
    bytes: &'a [u8],
    /// Absolute offset of `bytes` in the file, for errors.
    offset: u64,
    count: u32,
    prefix: LengthPrefix,
    places: Places<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Places<'a> {
    /// Little-endian u32 for each entry and the end.
    Listed(&'a [u8]),
    /// Every [`STRIDE`]-th entry.
    Sampled(&'a [u32]),
}

impl<'a> Entries<'a> {
    /// How many `u32` [`sample`](Entries::sample) needs for `count` tokens.
    #[must_use]
    pub const fn samples_needed(count: u32) -> usize {
        count.div_ceil(STRIDE) as usize
    }

    /// `count` entries at the start of `bytes`, which lie at the absolute `offset` of the file,
    /// with the places of every eighth noted in `samples`. Reads every length.
    ///
    /// # Errors
    ///
    /// `buffer_too_small` if `samples` has fewer than [`samples_needed`](Entries::samples_needed);
    /// `bad_count` if `bytes` end before the last entry does, at the entry that is cut.
    pub fn sample(
        bytes: &'a [u8],
        offset: u64,
        count: u32,
        prefix: LengthPrefix,
        samples: &'a mut [u32],
    ) -> Result<Self> {
        let samples = samples
            .get_mut(..Self::samples_needed(count))
            .ok_or(Error::without_offset(ErrorKind::BufferTooSmall))?;
        let mut rest = bytes;
        let mut left = count;
        for sample in samples.iter_mut() {
            let at = bytes.len().saturating_sub(rest.len());
            let here = offset.saturating_add(at as u64);
            *sample = u32::try_from(at).map_err(|_| Error::new(here, ErrorKind::SizeOverflow))?;
            for _ in 0..left.min(STRIDE) {
                let at = bytes.len().saturating_sub(rest.len()) as u64;
                let cut = Error::new(offset.saturating_add(at), ErrorKind::BadCount);
                (_, rest) = prefix.split(rest).ok_or(cut)?;
            }
            left = left.saturating_sub(STRIDE);
        }
        Ok(Self { bytes, offset, count, prefix, places: Places::Sampled(samples) })
    }

    /// Takes up again what [`sample`](Entries::sample) left in `samples`, of the same entries.
    #[must_use]
    pub const fn resume(
        bytes: &'a [u8],
        offset: u64,
        count: u32,
        prefix: LengthPrefix,
        samples: &'a [u32],
    ) -> Self {
        Self { bytes, offset, count, prefix, places: Places::Sampled(samples) }
    }

    /// `count` entries at the start of `bytes`, which lie at the absolute `offset` of the file,
    /// with their places in `offsets`: the bytes of the tensor `vocab.offsets`. Nothing is read
    /// before it is asked for.
    ///
    /// # Errors
    ///
    /// `bad_vocabulary` if `offsets` is not four bytes for each entry and the end.
    pub fn listed(
        bytes: &'a [u8],
        offset: u64,
        count: u32,
        prefix: LengthPrefix,
        offsets: &'a [u8],
    ) -> Result<Self> {
        let expected = (count as usize).checked_add(1).and_then(|places| places.checked_mul(4));
        if expected != Some(offsets.len()) {
            return Err(Error::new(offset, ErrorKind::BadVocabulary));
        }
        Ok(Self { bytes, offset, count, prefix, places: Places::Listed(offsets) })
    }

    /// The string of token `id`.
    ///
    /// # Errors
    ///
    /// `bad_vocabulary` if there is no such token, or its entry does not lie where the table of
    /// places says.
    #[cfg_attr(target_family = "wasm", inline)]
    pub fn get(&self, id: u32) -> Result<&'a [u8]> {
        self.entry(id).map(|(_, string)| string)
    }

    /// The size of all entries together, in bytes.
    ///
    /// # Errors
    ///
    /// As [`get`](Entries::get).
    pub fn size(&self) -> Result<usize> {
        let Some(last) = self.count.checked_sub(1) else { return Ok(0) };
        let (start, string) = self.entry(last)?;
        Ok(start.saturating_add(self.prefix.bytes()).saturating_add(string.len()))
    }

    /// Where an entry starts, and its string.
    fn entry(&self, id: u32) -> Result<(usize, &'a [u8])> {
        let entry = match self.places {
            _ if id >= self.count => None,
            Places::Listed(offsets) => self.listed_entry(offsets, id),
            Places::Sampled(samples) => self.sampled_entry(samples, id),
        };
        entry.ok_or(Error::new(self.offset, ErrorKind::BadVocabulary))
    }

    fn listed_entry(&self, offsets: &[u8], id: u32) -> Option<(usize, &'a [u8])> {
        let (places, _) = offsets.as_chunks();
        let start = u32::from_le_bytes(*places.get(id as usize)?) as usize;
        let end = u32::from_le_bytes(*places.get((id as usize).checked_add(1)?)?) as usize;
        let (string, rest) = self.prefix.split(self.bytes.get(start..end)?)?;
        rest.is_empty().then_some((start, string))
    }

    fn sampled_entry(&self, samples: &[u32], id: u32) -> Option<(usize, &'a [u8])> {
        let sample = *samples.get((id / STRIDE) as usize)? as usize;
        let mut rest = self.bytes.get(sample..)?;
        for _ in 0..id % STRIDE {
            (_, rest) = self.prefix.split(rest)?;
        }
        let start = self.bytes.len().saturating_sub(rest.len());
        self.prefix.split(rest).map(|(string, _)| (start, string))
    }

    /// Fills `ids` with the order that the tensor `vocab.sorted_ids` records: all ids by the bytes
    /// of their strings, equal strings by id. For writers of files.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if `ids` has not one place for each token; as [`get`](Entries::get).
    pub fn sort(&self, ids: &mut [u32]) -> Result<()> {
        if ids.len() != self.count as usize {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        for (id, place) in (0..self.count).zip(ids.iter_mut()) {
            self.get(id)?;
            *place = id;
        }
        let key = |&id: &u32| (self.get(id).unwrap_or_default(), id);
        ids.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        Ok(())
    }
}

impl Tokens for Entries<'_> {
    fn count(&self) -> u32 {
        self.count
    }

    fn compare(&self, id: u32, text: &[u8]) -> Result<Comparison> {
        self.get(id).map(|token| Comparison::new(token, text))
    }

    fn order(&self, id: u32, text: &[u8]) -> Result<Ordering> {
        self.get(id).map(|token| token.cmp(text))
    }

    #[cfg_attr(target_family = "wasm", inline)]
    fn equals(&self, id: u32, text: &[u8]) -> Result<bool> {
        self.get(id).map(|token| token == text)
    }

    #[cfg_attr(target_family = "wasm", inline)]
    fn copy(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        let token = self.get(id)?;
        for (to, from) in out.iter_mut().zip(token) {
            *to = *from;
        }
        Ok(token.len())
    }

    fn each(&self, visit: &mut dyn FnMut(u32, &[u8]) -> Result<bool>) -> Result<()> {
        let mut rest = self.bytes;
        for id in 0..self.count {
            let token = match self.places {
                Places::Listed(_) => self.get(id)?,
                // From one to the next, not from a sample to each.
                Places::Sampled(_) => {
                    let bad = Error::new(self.offset, ErrorKind::BadVocabulary);
                    let (token, after) = self.prefix.split(rest).ok_or(bad)?;
                    rest = after;
                    token
                }
            };
            if token.len() <= MAX_TOKEN_BYTES && !visit(id, token)? {
                break;
            }
        }
        Ok(())
    }
}
