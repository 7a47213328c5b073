//! An index stored in the file: all ids in the byte order of their strings, for binary search.
//!
//! It is the tensor `vocab.sorted_ids`, UINT16 or UINT32, `[tokens]`; equal strings follow by id. A
//! device without memory for a hash index reads it, and `vocab.offsets`, in place.

use core::cmp::Ordering;
use core::marker::PhantomData;

use super::{Entries, MAX_TOKEN_BYTES, Match, Tokens, Vocabulary, splits_character};
use crate::error::{Error, ErrorKind, Result};

/// The width of a stored id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdWidth {
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
}

/// The bytes of the tensor `vocab.sorted_ids`.
#[derive(Clone, Copy, Debug)]
pub struct SortedIds<'a> {
    /// Little-endian ids.
    pub bytes: &'a [u8],
    /// Their width.
    pub width: IdWidth,
    /// Absolute offset of `bytes` in the file, for errors.
    pub offset: u64,
}

/// All ids in the byte order of their strings, wherever they lie.
pub trait Ranked {
    /// How many there are.
    fn count(&self) -> usize;

    /// The id at `rank`.
    ///
    /// # Errors
    ///
    /// `bad_vocabulary` if there is no such rank, and what reading answers.
    fn id(&self, rank: u32) -> Result<u32>;

    /// The error of an order that is damaged.
    fn bad(&self) -> Error;
}

impl Ranked for SortedIds<'_> {
    fn count(&self) -> usize {
        match self.width {
            IdWidth::U16 => self.bytes.len() / 2,
            IdWidth::U32 => self.bytes.len() / 4,
        }
    }

    fn id(&self, rank: u32) -> Result<u32> {
        let rank = rank as usize;
        let id = match self.width {
            IdWidth::U16 => {
                self.bytes.as_chunks().0.get(rank).map(|&id| u16::from_le_bytes(id).into())
            }
            IdWidth::U32 => self.bytes.as_chunks().0.get(rank).map(|&id| u32::from_le_bytes(id)),
        };
        id.ok_or(self.bad())
    }

    fn bad(&self) -> Error {
        Error::new(self.offset, ErrorKind::BadVocabulary)
    }
}

/// A vocabulary that is searched in the file's own order.
#[derive(Clone, Copy, Debug)]
pub struct SortedVocabulary<'a, T, R = SortedIds<'a>> {
    tokens: T,
    ids: R,
    lent: PhantomData<&'a [u8]>,
}

impl<T: Tokens, R: Ranked> SortedVocabulary<'_, T, R> {
    /// The `tokens` with their order in `ids`, which is trusted: with a wrong one tokens are not
    /// found, no more. See [`check`](SortedVocabulary::check).
    ///
    /// # Errors
    ///
    /// `bad_vocabulary` if there is not one id for each token.
    pub fn new(tokens: T, ids: R) -> Result<Self> {
        if ids.count() != tokens.count() as usize {
            return Err(ids.bad());
        }
        Ok(Self { tokens, ids, lent: PhantomData })
    }

    /// The number of tokens up to `text` in the order, among the first `ranks`.
    fn up_to(&self, text: &[u8], ranks: u32) -> Result<u32> {
        self.up_to_between(text, 0, ranks)
    }

    /// The same, if it is likely not far below `ranks`.
    fn up_to_near(&self, text: &[u8], ranks: u32) -> Result<u32> {
        let (mut high, mut distance) = (ranks, 1_u32);
        while let Some(low) = high.checked_sub(distance) {
            if !self.is_after(low, text)? {
                return self.up_to_between(text, low.saturating_add(1), high);
            }
            high = low;
            distance = distance.saturating_mul(2);
        }
        self.up_to_between(text, 0, high)
    }

    fn up_to_between(&self, text: &[u8], mut low: u32, mut high: u32) -> Result<u32> {
        while low < high {
            let middle = low.midpoint(high);
            if self.is_after(middle, text)? {
                high = middle;
            } else {
                low = middle.saturating_add(1);
            }
        }
        Ok(low)
    }

    /// Returns true if the token at `rank` comes after `text`.
    fn is_after(&self, rank: u32, text: &[u8]) -> Result<bool> {
        self.tokens.order(self.ids.id(rank)?, text).map(Ordering::is_gt)
    }
}

impl SortedVocabulary<'_, Entries<'_>> {
    /// Reads the whole order: every id once, strings ascending, equal strings by id.
    ///
    /// # Errors
    ///
    /// `bad_vocabulary` if it is anything else.
    pub fn check(&self) -> Result<()> {
        let mut previous = None;
        for rank in 0..self.tokens.count() {
            let id = self.ids.id(rank)?;
            let here = Some((self.tokens.get(id)?, id));
            // As many ids as tokens, all different: each occurs.
            if previous >= here {
                return Err(self.ids.bad());
            }
            previous = here;
        }
        Ok(())
    }
}

impl<T: Tokens, R: Ranked> Vocabulary for SortedVocabulary<'_, T, R> {
    fn count(&self) -> u32 {
        self.tokens.count()
    }

    fn find(&self, token: &[u8]) -> Result<Option<u32>> {
        let up_to = self.up_to(token, self.count())?;
        let Some(rank) = up_to.checked_sub(1) else { return Ok(None) };
        let id = self.ids.id(rank)?;
        let is_equal = self.tokens.compare(id, token)?.order.is_eq();
        Ok((is_equal && token.len() <= MAX_TOKEN_BYTES).then_some(id))
    }

    /// Every token that `text` starts with lies, in the order, at or before the last token up to
    /// `text`, and that one lies between it and `text`, so starts with it, too. Hence: if that one
    /// is no prefix itself, only what it has in common with `text` needs to be searched on.
    fn longest_prefix(&self, text: &[u8], at_least: usize) -> Result<Option<Match>> {
        let mut wanted = text.get(..MAX_TOKEN_BYTES).unwrap_or(text);
        let mut ranks = self.up_to(wanted, self.count())?;
        loop {
            let Some(rank) = ranks.checked_sub(1) else { return Ok(None) };
            let id = self.ids.id(rank)?;
            let comparison = self.tokens.compare(id, wanted)?;
            let bytes = comparison.common;
            if bytes < at_least.max(1) {
                return Ok(None);
            }
            if comparison.is_prefix() && !splits_character(text, bytes) {
                return Ok(Some(Match { id, bytes }));
            }
            let shorter = if comparison.is_prefix() { bytes.saturating_sub(1) } else { bytes };
            if shorter >= wanted.len() {
                // A token that goes on after `wanted` was found before it: the source has changed.
                return Err(self.ids.bad());
            }
            wanted = wanted.get(..shorter).unwrap_or_default();
            ranks = self.up_to_near(wanted, ranks)?;
        }
    }

    fn token(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        self.tokens.copy(id, out)
    }
}
