//! The merges of a file, and an index over them.

use super::{BAD, TOO_SMALL};
use crate::error::{Error, ErrorKind, Result};
use crate::format::embd::EmbdTokenEntries;
use crate::source::byte_pairs::joined;
use crate::source::memory::{TokenizerMemory, TokenizerNeeds};
use crate::text::json::{Fault, Read};
use crate::token::bpe::{Merge, MergeTable};
use crate::token::vocabulary::MAX_TOKEN_BYTES;
use crate::token::{Entries, HashVocabulary, Vocabulary as _};

/// Parts of a word that are merged at least: bytes, or characters.
pub(super) const WORD: usize = 128;

/// The ids of both parts of every merge, 32 bits each.
#[derive(Clone, Copy, Debug)]
pub(super) struct MergeList<'a>(&'a [[u8; 8]]);

impl<'a> MergeList<'a> {
    /// The merges `beside` tokens whose settings say so many.
    pub(super) fn read(
        beside: &'a [u8],
        said: u64,
        entries: &EmbdTokenEntries<'_>,
    ) -> Read<'static, Self> {
        let (pairs, rest) = beside.as_chunks();
        if rest.is_empty() && pairs.len() as u64 == said {
            return Ok(Self(pairs));
        }
        let error = Error::new(entries.offset, ErrorKind::BadVocabulary);
        Err(Fault { error, key: "merges", only: "" })
    }

    /// Adds what an index takes.
    pub(super) const fn add_needs(&self, needs: &mut TokenizerNeeds) {
        needs.merges = self.0.len();
        needs.merge_slots = MergeTable::slots_needed(self.0.len());
    }

    /// Makes the index in what it takes of `memory`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if a merge is none of these tokens, or there twice.
    pub(super) fn index<'m>(
        &self,
        tokens: &HashVocabulary<'_, Entries<'_>>,
        memory: &mut TokenizerMemory<'m>,
    ) -> Result<MergeTable<'m>> {
        let (merges, slots) = (&mut memory.merges, &mut memory.merge_slots);
        let (merges, slots) = (core::mem::take(merges), core::mem::take(slots));
        let merges = merges.get_mut(..self.0.len()).ok_or(TOO_SMALL)?;
        for (place, pair) in merges.iter_mut().zip(self.0) {
            *place = merge(tokens, *pair)?;
        }
        let table = MergeTable::build(merges, slots)?;
        let ranks = (0..).zip(merges.iter());
        let mut ranks = ranks.map(|(rank, it)| Some(rank) == rank_of(&table, it));
        // Of a pair that is there twice `tokenizers` takes the last one.
        if ranks.all(|is_own| is_own) { Ok(table) } else { Err(BAD) }
    }

    /// Returns true if `are_joined` holds of both parts of any merge.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if one is none of these tokens.
    pub(super) fn any(
        &self,
        tokens: &HashVocabulary<'_, Entries<'_>>,
        are_joined: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Result<bool> {
        for pair in self.0 {
            let (left, right) = ids(*pair);
            let (mut first, mut second) = ([0; MAX_TOKEN_BYTES], [0; MAX_TOKEN_BYTES]);
            if are_joined(spelled(tokens, left, &mut first)?, spelled(tokens, right, &mut second)?)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

const fn ids(pair: [u8; 8]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = pair;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

fn spelled<'r>(
    tokens: &HashVocabulary<'_, Entries<'_>>,
    id: u32,
    room: &'r mut [u8],
) -> Result<&'r [u8]> {
    let bytes = tokens.token(id, room).map_err(|_| BAD)?;
    room.get(..bytes).ok_or(BAD)
}

/// The merge of a pair of ids.
fn merge(tokens: &HashVocabulary<'_, Entries<'_>>, pair: [u8; 8]) -> Result<Merge> {
    let (left, right) = ids(pair);
    let (mut first, mut second) = ([0; MAX_TOKEN_BYTES], [0; MAX_TOKEN_BYTES]);
    let first = spelled(tokens, left, &mut first)?;
    let second = spelled(tokens, right, &mut second)?;
    let mut room = [0; MAX_TOKEN_BYTES];
    let whole = joined(first, second, &mut room).ok_or(BAD)?;
    let merged = tokens.find(whole)?.ok_or(BAD)?;
    Ok(Merge { left, right, merged })
}

fn rank_of(table: &MergeTable<'_>, merge: &Merge) -> Option<u32> {
    table.find(merge.left, merge.right).map(|(rank, _)| rank)
}

/// A word that does not fit is no fault of who lends memory.
pub(super) fn too_long(error: Error) -> Error {
    match error.kind() {
        ErrorKind::BufferTooSmall => Error::without_offset(ErrorKind::OverLimit),
        _ => error,
    }
}
