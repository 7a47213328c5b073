//! Merges of byte pairs, and their application to a word in memory that the caller lends.
//!
//! The pair with the lowest rank is merged first, of several of that rank the leftmost, until no
//! neighbours can be merged: as Hugging Face `tokenizers` and `sentencepiece` do it, with a heap,
//! so that long words take little longer than short ones. A [`Join`] knows the pairs: here a
//! [`MergeTable`] of token ids, in [`sentencepiece`](crate::token::sentencepiece) the pieces of a
//! model.

use core::cmp::Ordering;

use super::heap::Heap;
use crate::error::{Error, ErrorKind, Result};

/// Two neighbours that become one token. The place in the table is the rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merge {
    /// The left token.
    pub left: u32,
    /// The right token.
    pub right: u32,
    /// The token of both.
    pub merged: u32,
}

/// Merges by rank, with an index over the pairs in lent memory.
#[derive(Clone, Copy, Debug)]
pub struct MergeTable<'a> {
    merges: &'a [Merge],
    slots: &'a [u32],
    /// The most slots that any pair is away from where its hash points, plus one.
    longest_probe: usize,
}

/// A slot without a pair.
const EMPTY: u32 = u32::MAX;

/// Slots that are looked at for one pair at most: pairs made to collide are refused.
const MAX_PROBE: usize = 256;

impl<'a> MergeTable<'a> {
    /// How many `u32` [`build`](Self::build) needs.
    #[must_use]
    pub const fn slots_needed(merges: usize) -> usize {
        merges.saturating_mul(2).saturating_add(1)
    }

    /// Indexes `merges` in `slots`. Of a pair that is there twice the first counts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if there are fewer slots than needed;
    /// [`ErrorKind::BadVocabulary`] if pairs collide as only pairs made to collide do, or there are
    /// more than 2³² − 2.
    pub fn build(merges: &'a [Merge], slots: &'a mut [u32]) -> Result<Self> {
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let bad = Error::without_offset(ErrorKind::BadVocabulary);
        let slots = slots.get_mut(..Self::slots_needed(merges.len())).ok_or(small)?;
        slots.fill(EMPTY);
        let mut longest_probe = 0;
        for (rank, merge) in merges.iter().enumerate() {
            let rank = u32::try_from(rank).ok().filter(|rank| *rank != EMPTY).ok_or(bad)?;
            let mut at = home(merge.left, merge.right, slots.len());
            for probe in 0.. {
                if probe >= MAX_PROBE {
                    return Err(bad);
                }
                let Some(slot) = slots.get_mut(at) else { return Err(bad) };
                let known = merges.get(*slot as usize);
                if known.is_some_and(|it| (it.left, it.right) == (merge.left, merge.right)) {
                    break;
                }
                if *slot == EMPTY {
                    *slot = rank;
                    longest_probe = longest_probe.max(probe.saturating_add(1));
                    break;
                }
                at = after(at, slots.len());
            }
        }
        Ok(Self { merges, slots, longest_probe })
    }

    /// Takes up again what [`build`](Self::build) left in `slots`; with other merges or slots pairs
    /// are not found. Slots beyond those that are [needed](Self::slots_needed) are left alone here
    /// as there.
    #[must_use]
    pub fn resume(merges: &'a [Merge], slots: &'a [u32], longest_probe: usize) -> Self {
        let slots = slots.get(..Self::slots_needed(merges.len())).unwrap_or(slots);
        Self { merges, slots, longest_probe }
    }

    /// The last argument of [`resume`](Self::resume).
    #[must_use]
    pub const fn longest_probe(&self) -> usize {
        self.longest_probe
    }

    /// The rank of a pair and what it becomes.
    #[must_use]
    #[cfg_attr(target_family = "wasm", inline)]
    pub fn find(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        let mut at = home(left, right, self.slots.len());
        for _ in 0..self.longest_probe {
            let rank = *self.slots.get(at)?;
            let merge = self.merges.get(rank as usize)?;
            if (merge.left, merge.right) == (left, right) {
                return Some((rank, merge.merged));
            }
            at = after(at, self.slots.len());
        }
        None
    }
}

fn home(left: u32, right: u32, slots: usize) -> usize {
    let pair = u64::from(left) << 32 | u64::from(right);
    let mixed = pair.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let high = mixed >> 32;
    // A multiplication in place of a remainder.
    let place = high.wrapping_mul(slots as u64) >> 32;
    usize::try_from(place).unwrap_or(0)
}

const fn after(at: usize, slots: usize) -> usize {
    let next = at.saturating_add(1);
    if next < slots { next } else { 0 }
}

/// Decides which neighbours become one.
pub trait Join {
    /// A part of a word.
    type Part: Copy;

    /// The rank of two neighbours, the least of which are joined first, and what they become;
    /// `None` if they stay apart.
    fn join(&mut self, left: Self::Part, right: Self::Part) -> Option<(u32, Self::Part)>;
}

impl Join for &MergeTable<'_> {
    type Part = u32;

    fn join(&mut self, left: u32, right: u32) -> Option<(u32, u32)> {
        self.find(left, right)
    }
}

/// One part of a word and its neighbours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Symbol<P = u32> {
    part: P,
    /// Index + 1 of the neighbours; 0 where there is none.
    left: u32,
    right: u32,
    /// How many symbols it was at first; 0 when it has become part of its left neighbour.
    joined: u32,
}

/// A pair that may be merged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Candidate<P = u32> {
    rank: u32,
    at: u32,
    /// How many symbols both were at first: it is void when one of them has grown.
    joined: u32,
    /// The part of the pair.
    part: P,
}

impl<P> PartialEq for Candidate<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<P> Eq for Candidate<P> {}

impl<P> PartialOrd for Candidate<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Candidate<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.rank, self.at).cmp(&(other.rank, other.at))
    }
}

/// Memory for one word.
#[derive(Debug)]
pub struct Word<'s, P = u32> {
    /// One for each part of the longest word.
    pub symbols: &'s mut [Symbol<P>],
    /// Three for each part.
    pub heap: &'s mut [Candidate<P>],
}

/// Iterates over what is left of a word when nothing more can be merged.
#[derive(Clone, Debug)]
pub struct Merged<'m, P>(core::slice::Iter<'m, Symbol<P>>);

impl<P: Copy> Iterator for Merged<'_, P> {
    type Item = P;

    fn next(&mut self) -> Option<P> {
        self.0.find(|symbol| symbol.joined > 0).map(|symbol| symbol.part)
    }
}

/// Merges the `parts` of a word and gives what is left, in order.
///
/// # Errors
///
/// [`ErrorKind::BufferTooSmall`] if the word is longer than the memory.
pub fn merge<'m, J: Join>(
    join: &mut J,
    parts: impl Iterator<Item = J::Part>,
    memory: &'m mut Word<'_, J::Part>,
) -> Result<Merged<'m, J::Part>> {
    let small = Error::without_offset(ErrorKind::BufferTooSmall);
    let mut length = 0_usize;
    for part in parts {
        let place = memory.symbols.get_mut(length).ok_or(small)?;
        let left = u32::try_from(length).map_err(|_| small)?;
        length = length.saturating_add(1);
        *place = Symbol { part, left, right: left.saturating_add(2), joined: 1 };
    }
    let symbols = memory.symbols.get_mut(..length).ok_or(small)?;
    if let Some(last) = symbols.last_mut() {
        last.right = 0;
    }
    let mut heap = Heap { entries: &mut *memory.heap, length: 0 };
    for at in 0..length.saturating_sub(1) {
        push(join, symbols, at, &mut heap)?;
    }
    while let Some(best) = heap.pop() {
        let at = best.at as usize;
        let Some(left) = symbols.get(at).copied() else { continue };
        let Some(next) = (left.right as usize).checked_sub(1) else { continue };
        let Some(right) = symbols.get(next).copied() else { continue };
        if left.joined == 0 || left.joined.saturating_add(right.joined) != best.joined {
            continue;
        }
        if let Some(symbol) = symbols.get_mut(next) {
            symbol.joined = 0;
        }
        if let Some(symbol) = symbols.get_mut(at) {
            (symbol.part, symbol.right, symbol.joined) = (best.part, right.right, best.joined);
        }
        // The left pair first: `sentencepiece` keeps the last split that it saw of a piece.
        if let Some(before) = (left.left as usize).checked_sub(1) {
            push(join, symbols, before, &mut heap)?;
        }
        if let Some(beyond) = (right.right as usize).checked_sub(1) {
            if let Some(symbol) = symbols.get_mut(beyond) {
                symbol.left = best.at.saturating_add(1);
            }
            push(join, symbols, at, &mut heap)?;
        }
    }
    Ok(Merged(symbols.iter()))
}

/// Notes the pair of the symbol at `at` and its right neighbour, if it can be merged.
fn push<J: Join>(
    join: &mut J,
    symbols: &[Symbol<J::Part>],
    at: usize,
    heap: &mut Heap<'_, Candidate<J::Part>>,
) -> Result<()> {
    let Some(left) = symbols.get(at) else { return Ok(()) };
    let right = (left.right as usize).checked_sub(1).and_then(|next| symbols.get(next));
    let Some(right) = right else { return Ok(()) };
    let Some((rank, part)) = join.join(left.part, right.part) else { return Ok(()) };
    let joined = left.joined.saturating_add(right.joined);
    heap.push(Candidate { rank, at: u32::try_from(at).unwrap_or(u32::MAX), joined, part })
}
