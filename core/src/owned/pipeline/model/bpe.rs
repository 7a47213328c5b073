//! BPE: a piece begins as its characters, and neighbours are merged, the pair of the lowest rank
//! first.

use alloc::string::String;
use alloc::vec::Vec;

use super::{byte_ids, no_unknown};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{collected, extend, filled, grow, push, write};
use crate::owned::pipeline::text::owned;
use crate::owned::pipeline::tokens::TokenStrings;
use crate::text::character::utf8;
use crate::token::bpe::merge::{Candidate, Merge, MergeTable, Symbol, Word, merge};
use crate::token::spec;
use crate::token::vocabulary::HashIndex;
use crate::token::{HashVocabulary, Vocabulary};

/// A BPE model.
#[derive(Clone, Debug)]
pub(in crate::owned::pipeline) struct Bpe {
    slots: Vec<u32>,
    index: HashIndex,
    pub(in crate::owned::pipeline) merges: Vec<Merge>,
    merge_slots: Vec<u32>,
    longest_probe: usize,
    /// The ids of the characters below [`LOW`], which byte-level vocabularies are made of.
    low: Vec<Option<u32>>,
    /// The tokens of bytes; empty if characters without a token do not become bytes.
    bytes: Vec<Option<u32>>,
    unknown: Unknown,
    fuses_unknown: bool,
    ignores_merges: bool,
    /// Stands before all characters of a piece but the first.
    prefix: String,
    /// Stands after the last one.
    suffix: String,
}

/// Code points from here on are looked up.
const LOW: u32 = 0x180;

/// The fate of a character without a token.
#[derive(Clone, Copy, Debug)]
enum Unknown {
    /// It is left out.
    Dropped,
    /// The model says a token for it that the vocabulary does not have.
    Missing,
    Token(u32),
}

/// Memory of one thread.
#[derive(Debug, Default)]
pub(in crate::owned::pipeline) struct BpeScratch {
    affixed: String,
    parts: Vec<u32>,
    symbols: Vec<Symbol>,
    heap: Vec<Candidate>,
}

impl Bpe {
    /// A model over `tokens` that merges nothing.
    pub(super) fn over(tokens: &TokenStrings, settings: &spec::BpeSpec<'_>) -> Result<Self> {
        let needed = HashVocabulary::<&TokenStrings>::slots_needed(tokens.len() as u32);
        let mut slots = filled(needed, 0)?;
        let index = HashVocabulary::build(tokens, &mut slots)?.index();
        let mut bpe = Self {
            slots,
            index,
            merges: Vec::new(),
            merge_slots: Vec::new(),
            longest_probe: 0,
            low: Vec::new(),
            bytes: Vec::new(),
            unknown: Unknown::Dropped,
            fuses_unknown: settings.fuses_unknown,
            ignores_merges: settings.ignores_merges,
            prefix: owned(settings.prefix)?,
            suffix: owned(settings.suffix)?,
        };
        let mut room = [0; 4];
        let low = (0..LOW).filter_map(char::from_u32);
        bpe.low = collected(low.map(|c| bpe.find(tokens, utf8(c, &mut room))))?;
        if settings.byte_fallback {
            bpe.bytes = byte_ids(|token| bpe.find(tokens, token))?;
        }
        if let Some(token) = settings.unknown {
            let id = bpe.find(tokens, &owned(token)?);
            bpe.unknown = id.map_or(Unknown::Missing, Unknown::Token);
        }
        Ok(bpe)
    }

    /// Merges pairs of ids, which are in the order of their ranks.
    ///
    /// # Errors
    ///
    /// The rank of a pair that does not become a token, with the error.
    pub(super) fn merging(
        mut self,
        tokens: &TokenStrings,
        pairs: &[(u32, u32)],
    ) -> core::result::Result<Self, (usize, Error)> {
        self.merges = self.merges_of(tokens, pairs)?;
        self.index_merges().map_err(|error| (0, error))?;
        Ok(self)
    }

    /// The merges of pairs.
    fn merges_of(
        &self,
        tokens: &TokenStrings,
        pairs: &[(u32, u32)],
    ) -> core::result::Result<Vec<Merge>, (usize, Error)> {
        let mut joined = String::new();
        let mut merges = crate::limit::reserved(pairs.len()).map_err(|error| (0, error))?;
        for (rank, &(left, right)) in pairs.iter().enumerate() {
            let bad = (rank, Error::without_offset(ErrorKind::BadVocabulary));
            joined.clear();
            let right_token = tokens.get(right).ok_or(bad)?;
            let after = right_token.get(self.prefix.len()..).ok_or(bad)?;
            write(&mut joined, tokens.get(left).ok_or(bad)?)
                .and_then(|()| write(&mut joined, after))
                .map_err(|error| (rank, error))?;
            let merged = self.find(tokens, &joined).ok_or(bad)?;
            merges.push(Merge { left, right, merged });
        }
        Ok(merges)
    }

    /// Builds the index over the merges. Of a pair that is there twice the last counts, as in
    /// `tokenizers`; the others are made pairs that never occur.
    fn index_merges(&mut self) -> Result<()> {
        self.merge_slots = filled(MergeTable::slots_needed(self.merges.len()), 0)?;
        let table = MergeTable::build(&self.merges, &mut self.merge_slots)?;
        self.longest_probe = table.longest_probe();
        let rank_of = |merge: &Merge| table.find(merge.left, merge.right).map(|(rank, _)| rank);
        let is_twice = |(rank, merge): (u32, &Merge)| rank_of(merge) != Some(rank);
        if !(0..).zip(&self.merges).any(is_twice) {
            return Ok(());
        }
        let mut order: Vec<u32> = collected(0..self.merges.len() as u32)?;
        let pair = |rank: u32| {
            let merge = self.merges[rank as usize];
            (merge.left, merge.right, rank)
        };
        order.sort_unstable_by_key(|rank| pair(*rank));
        let mut dead = Vec::new();
        for pairs in order.windows(2) {
            let (a, b) = (pair(pairs[0]), pair(pairs[1]));
            if (a.0, a.1) == (b.0, b.1) {
                push(&mut dead, pairs[0])?;
            }
        }
        for rank in dead {
            // Pairs of an id that no token has, each another one.
            self.merges[rank as usize] = Merge { left: u32::MAX, right: rank, merged: 0 };
        }
        let table = MergeTable::build(&self.merges, &mut self.merge_slots)?;
        self.longest_probe = table.longest_probe();
        Ok(())
    }

    pub(super) const fn unknown(&self) -> Option<u32> {
        match self.unknown {
            Unknown::Token(id) => Some(id),
            _ => None,
        }
    }

    /// The pairs in the order of their ranks, those left out that a later one has replaced.
    pub(in crate::owned::pipeline) fn pairs(&self) -> Result<Vec<(u32, u32)>> {
        let live = self.merges.iter().filter(|merge| merge.left != u32::MAX);
        collected(live.map(|merge| (merge.left, merge.right)))
    }

    /// The id of a token.
    pub(super) fn find(&self, tokens: &TokenStrings, token: &str) -> Option<u32> {
        let vocabulary = HashVocabulary::resume(tokens, &self.slots, self.index);
        if token.is_empty() { None } else { vocabulary.find(token.as_bytes()).ok().flatten() }
    }

    pub(super) fn encode(
        &self,
        tokens: &TokenStrings,
        piece: &str,
        scratch: &mut BpeScratch,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        if self.ignores_merges
            && let Some(id) = self.find(tokens, piece)
        {
            return push(ids, id);
        }
        let BpeScratch { affixed, parts, symbols, heap } = scratch;
        parts.clear();
        self.split(tokens, piece, affixed, parts)?;
        grow(symbols, parts.len(), Symbol::default())?;
        grow(heap, parts.len().saturating_mul(3), Candidate::default())?;
        let mut word = Word { symbols: &mut symbols[..], heap: &mut heap[..] };
        let table = MergeTable::resume(&self.merges, &self.merge_slots, self.longest_probe);
        extend(ids, merge(&mut &table, parts.iter().copied(), &mut word)?)
    }

    /// Writes the ids of the characters of `piece` after `parts`.
    fn split(
        &self,
        tokens: &TokenStrings,
        piece: &str,
        affixed: &mut String,
        parts: &mut Vec<u32>,
    ) -> Result<()> {
        let Self { prefix, suffix, fuses_unknown, .. } = self;
        let mut unknown = None;
        for (at, c) in piece.char_indices() {
            let is_last = at + c.len_utf8() == piece.len();
            let is_plain = (at == 0 || prefix.is_empty()) && (!is_last || suffix.is_empty());
            let known = self.low.get(c as usize).filter(|_| is_plain);
            let id = if let Some(known) = known {
                *known
            } else {
                let mut room = [0; 4];
                let parts = [
                    if at == 0 { "" } else { prefix },
                    utf8(c, &mut room),
                    if is_last { suffix } else { "" },
                ];
                affixed.clear();
                parts.iter().try_for_each(|part| write(affixed, part))?;
                self.find(tokens, affixed)
            };
            if let Some(id) = id {
                extend(parts, unknown.take())?;
                push(parts, id)?;
                continue;
            }
            if known.is_some() {
                affixed.clear();
                write(affixed, utf8(c, &mut [0; 4]))?;
            }
            // What is unknown before them stays after bytes: so it is in `tokenizers`.
            if self.give_bytes(affixed, parts)? {
                continue;
            }
            let id = match self.unknown {
                Unknown::Dropped => continue,
                Unknown::Missing => return Err(no_unknown()),
                Unknown::Token(id) => id,
            };
            let before = unknown.replace(id);
            extend(parts, before.filter(|_| !fuses_unknown))?;
        }
        extend(parts, unknown)
    }

    /// Writes the tokens of the bytes of `text`, if all of them have one.
    fn give_bytes(&self, text: &str, parts: &mut Vec<u32>) -> Result<bool> {
        let of = |byte: u8| self.bytes.get(usize::from(byte)).copied().flatten();
        let is_whole = text.bytes().all(|byte| of(byte).is_some());
        if is_whole {
            extend(parts, text.bytes().filter_map(of))?;
        }
        Ok(is_whole)
    }
}
