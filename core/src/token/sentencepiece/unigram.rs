//! The likeliest segmentation: scores are logarithms of probabilities, and the path through the
//! text with the highest sum is found from left to right (Viterbi). T. Kudo, "Subword
//! Regularization", 2018, and `EncodeOptimized` of `unigram_model.cc` of sentencepiece, whose ids
//! these are: sums are rounded to f32 in the same order, and of equal sums the first one found
//! stays.

use super::normalize::character_bytes;
use super::pieces::{Piece, TOO_LONG};
use super::trie::{Kind, Trie};
use crate::error::{Error, ErrorKind, Result};

/// How much less likely than all pieces a character without a piece is.
const UNKNOWN_PENALTY: f32 = 10.0;

/// Sums beyond it are set back to 0, so that they keep their precision.
const LARGEST_SUM: f32 = 100_000.0;

/// The best way to a place in a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step {
    sum: f32,
    /// The piece that ends here; [`UNKNOWN`] if none does.
    id: u32,
    /// Where it starts; when the way is known, where the next one ends.
    other: u32,
}

/// Stands for the id of a character without a piece.
const UNKNOWN: u32 = u32::MAX;

/// Stands for a place that no way leads to.
const NOWHERE: u32 = u32::MAX;

/// What is looked for in a word.
#[derive(Clone, Copy)]
pub(super) struct Lattice<'m> {
    pub(super) trie: Trie<'m>,
    pub(super) pieces: &'m [Piece],
    /// The lowest score of all normal pieces.
    pub(super) least_score: f32,
}

impl Lattice<'_> {
    /// Finds the best way through `word` in `steps`, of which it needs one more than bytes, from a
    /// sum of `sum` on; calls `emit` with the length and the id of each piece, and returns the sum.
    ///
    /// # Errors
    ///
    /// `buffer_too_small` if there are too few `steps`.
    pub(super) fn segment(
        &self,
        word: &[u8],
        sum: f32,
        steps: &mut [Step],
        emit: impl FnMut(usize, Option<u32>),
    ) -> Result<f32> {
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let steps = steps.get_mut(..word.len().saturating_add(1)).ok_or(small)?;
        u32::try_from(word.len()).map_err(|_| small)?;
        steps.fill(Step { sum: 0.0, id: UNKNOWN, other: NOWHERE });
        if let Some(first) = steps.first_mut() {
            first.sum = sum;
        }
        let mut start = 0;
        while let Some((first, _)) = word.get(start..).and_then(<[u8]>::split_first) {
            let bytes = character_bytes(*first).min(word.len().saturating_sub(start));
            self.leave(word, start, bytes, steps);
            start = start.saturating_add(bytes);
        }
        give(steps, emit);
        Ok(steps.last().map_or(sum, |step| step.sum))
    }

    /// Tries all pieces that begin at `start`, where there is a character of so many bytes.
    fn leave(&self, word: &[u8], start: usize, bytes: usize, steps: &mut [Step]) {
        let Some((here, ahead)) = steps.get_mut(start..).and_then(<[Step]>::split_first_mut) else {
            return;
        };
        if here.sum.abs() > LARGEST_SUM {
            let ahead = ahead.iter_mut().take(TOO_LONG.into());
            let reached = ahead.filter(|step| step.other != NOWHERE);
            reached.for_each(|step| step.sum -= here.sum);
            here.sum = 0.0;
        }
        let rest = word.get(start..).unwrap_or_default();
        let from = u32::try_from(start).unwrap_or(NOWHERE);
        let mut has_character = false;
        let mut node = None;
        for (index, (byte, step)) in rest.iter().zip(ahead.iter_mut()).enumerate() {
            let next = match node {
                None => self.trie.root(*byte),
                Some(node) => self.trie.child(node, *byte),
            };
            let Some(next) = next else { break };
            node = Some(next);
            let Some(hit) = self.trie.piece(next) else { continue };
            let score = match hit.kind {
                Kind::Unused => continue,
                Kind::UserDefined => symbol_score(index),
                Kind::Normal => self.pieces.get(hit.id as usize).map_or(0.0, |it| it.score),
            };
            step.offer(here.sum + score, hit.id, from);
            has_character |= index.saturating_add(1) == bytes;
        }
        if !has_character && let Some(step) = bytes.checked_sub(1).and_then(|at| ahead.get_mut(at))
        {
            step.offer(here.sum + (self.least_score - UNKNOWN_PENALTY), UNKNOWN, from);
        }
    }
}

/// A symbol that the user defined is better than all ways around it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "as the reference"
)]
fn symbol_score(index: usize) -> f32 {
    (0.1 * index as f64) as f32
}

impl Step {
    fn offer(&mut self, sum: f32, id: u32, start: u32) {
        if self.other == NOWHERE || sum > self.sum {
            *self = Self { sum, id, other: start };
        }
    }
}

/// Calls `emit` with the pieces of the best way from the first to the last of `steps`.
fn give(steps: &mut [Step], mut emit: impl FnMut(usize, Option<u32>)) {
    // From the end to the start, each step learns where the next one ends.
    let mut at = steps.len().saturating_sub(1);
    let mut next = NOWHERE;
    while let Some(step) = steps.get_mut(at) {
        let before = core::mem::replace(&mut step.other, next);
        next = u32::try_from(at).unwrap_or(NOWHERE);
        // Towards the start in any case.
        match before as usize {
            before if before < at => at = before,
            _ => break,
        }
    }
    let mut at = 0_usize;
    while let Some(end) = steps.get(at).map(|step| step.other as usize) {
        let Some(step) = steps.get(end) else { break };
        emit(end.saturating_sub(at), Some(step.id).filter(|id| *id != UNKNOWN));
        at = end;
    }
}
