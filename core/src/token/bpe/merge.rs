//! Merges of byte pairs, and their application to a word in memory that the caller lends.
//!
//! The pair with the lowest rank is merged first, of several of that rank the leftmost, until no neighbours can be merged: as
//! Hugging Face `tokenizers` does it, with a heap, so that long words take little longer than short ones.

use crate::error::{Error, ErrorKind, Result};

/// Two neighbours that become one token. The place in the table is the rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merge {
    /// The left token.
    pub left: u32,
    /// The right token.
    pub right: u32,
    /// What both become.
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
    /// [`ErrorKind::BufferTooSmall`] if there are fewer slots than needed; [`ErrorKind::BadVocabulary`] if pairs collide as
    /// only pairs made to collide do, or there are more than 2³² − 2.
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

    /// Takes up again what [`build`](Self::build) left in `slots`; with other merges or slots pairs are not found.
    #[must_use]
    pub const fn resume(merges: &'a [Merge], slots: &'a [u32], longest_probe: usize) -> Self {
        Self { merges, slots, longest_probe }
    }

    /// What [`resume`](Self::resume) needs beside the memory.
    #[must_use]
    pub const fn longest_probe(&self) -> usize {
        self.longest_probe
    }

    /// The rank of a pair and what it becomes.
    #[must_use]
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

/// One token of a word and its neighbours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Symbol {
    id: u32,
    /// Index + 1 of the neighbours; 0 where there is none.
    left: u32,
    right: u32,
    /// Whether it has become part of its left neighbour.
    gone: bool,
}

/// A pair that may be merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    rank: u32,
    at: u32,
    /// What the pair becomes.
    merged: u32,
    /// The ids that it was found with: it is void when they have changed.
    left: u32,
    right: u32,
}

/// Memory for one word.
#[derive(Debug)]
pub struct Word<'s> {
    /// One for each byte of the longest word.
    pub symbols: &'s mut [Symbol],
    /// Three for each byte.
    pub heap: &'s mut [Candidate],
}

/// Merges the tokens `ids` of a word; calls `emit` with what is left, in order.
///
/// # Errors
///
/// [`ErrorKind::BufferTooSmall`] if the word is longer than the memory; what `emit` returns.
pub fn merge(
    table: &MergeTable<'_>,
    ids: impl Iterator<Item = u32>,
    memory: &mut Word<'_>,
    emit: &mut dyn FnMut(u32) -> Result<()>,
) -> Result<()> {
    let small = Error::without_offset(ErrorKind::BufferTooSmall);
    let mut length = 0_usize;
    for id in ids {
        let place = memory.symbols.get_mut(length).ok_or(small)?;
        let left = u32::try_from(length).map_err(|_| small)?;
        length = length.saturating_add(1);
        *place = Symbol { id, left, right: left.saturating_add(2), gone: false };
    }
    let symbols = memory.symbols.get_mut(..length).ok_or(small)?;
    if let Some(last) = symbols.last_mut() {
        last.right = 0;
    }
    let mut heap = Heap { entries: memory.heap, length: 0 };
    for at in 0..length.saturating_sub(1) {
        push(table, symbols, at, &mut heap)?;
    }
    while let Some(best) = heap.pop() {
        let at = best.at as usize;
        let Some(left) = symbols.get(at).copied() else { continue };
        let Some(next) = (left.right as usize).checked_sub(1) else { continue };
        let Some(right) = symbols.get(next).copied() else { continue };
        if left.gone || (left.id, right.id) != (best.left, best.right) {
            continue;
        }
        if let Some(symbol) = symbols.get_mut(next) {
            symbol.gone = true;
        }
        if let Some(symbol) = symbols.get_mut(at) {
            (symbol.id, symbol.right) = (best.merged, right.right);
        }
        if let Some(beyond) = (right.right as usize).checked_sub(1) {
            if let Some(symbol) = symbols.get_mut(beyond) {
                symbol.left = best.at.saturating_add(1);
            }
            push(table, symbols, at, &mut heap)?;
        }
        if let Some(before) = (left.left as usize).checked_sub(1) {
            push(table, symbols, before, &mut heap)?;
        }
    }
    symbols.iter().filter(|symbol| !symbol.gone).try_for_each(|symbol| emit(symbol.id))
}

/// Notes the pair of the symbol at `at` and its right neighbour, if it can be merged.
fn push(table: &MergeTable<'_>, symbols: &[Symbol], at: usize, heap: &mut Heap<'_>) -> Result<()> {
    let Some(left) = symbols.get(at) else { return Ok(()) };
    let right = (left.right as usize).checked_sub(1).and_then(|next| symbols.get(next));
    let Some(right) = right else { return Ok(()) };
    let Some((rank, merged)) = table.find(left.id, right.id) else { return Ok(()) };
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    heap.push(Candidate { rank, at, merged, left: left.id, right: right.id })
}

/// A binary heap with the least candidate on top.
struct Heap<'s> {
    entries: &'s mut [Candidate],
    length: usize,
}

impl Heap<'_> {
    fn push(&mut self, candidate: Candidate) -> Result<()> {
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let mut at = self.length;
        *self.entries.get_mut(at).ok_or(small)? = candidate;
        self.length = at.saturating_add(1);
        while let Some(parent) = at.checked_sub(1).map(|at| at / 2) {
            if self.entries.get(at) >= self.entries.get(parent) {
                break;
            }
            self.swap(at, parent);
            at = parent;
        }
        Ok(())
    }

    /// As `swap` of slices, without a panic.
    fn swap(&mut self, a: usize, b: usize) {
        let (Some(&first), Some(&second)) = (self.entries.get(a), self.entries.get(b)) else {
            return;
        };
        if let Some(slot) = self.entries.get_mut(a) {
            *slot = second;
        }
        if let Some(slot) = self.entries.get_mut(b) {
            *slot = first;
        }
    }

    fn pop(&mut self) -> Option<Candidate> {
        let last = self.length.checked_sub(1)?;
        let top = self.entries.first().copied()?;
        self.swap(0, last);
        self.length = last;
        let mut at = 0_usize;
        loop {
            let left = at.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            if left >= last {
                return Some(top);
            }
            let right_is_less = right < last && self.entries.get(right) < self.entries.get(left);
            let least = if right_is_less { right } else { left };
            if self.entries.get(least) >= self.entries.get(at) {
                return Some(top);
            }
            self.swap(at, least);
            at = least;
        }
    }
}
