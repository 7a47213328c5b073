//! Unigram: the likeliest segmentation, found from left to right (Viterbi), as
//! `Unigram::encode_optimized` of Hugging Face `tokenizers` has it: sums are rounded to f64 in the
//! same order, and of equal sums the first one found stays.

use alloc::vec::Vec;

use super::{byte_ids, no_unknown};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{collected, extend, grow, push, reserved};
use crate::owned::pipeline::tokens::TokenStrings;
use crate::owned::pipeline::trie::{Node, Trie};

/// How much less likely than all pieces a character without a piece is.
const UNKNOWN_PENALTY: f64 = 10.0;

/// A Unigram model.
#[derive(Clone, Debug)]
pub(in crate::owned::pipeline) struct Unigram {
    pub(super) trie: Trie,
    pub(super) unknown: Option<u32>,
    pub(in crate::owned::pipeline) scores: Scores,
    /// The score of a character without a piece.
    unknown_score: f64,
    /// The tokens of bytes; empty if characters without a piece do not become bytes.
    bytes: Vec<Option<u32>>,
}

/// The scores of all tokens. Most files have been written from f32.
#[derive(Clone, Debug)]
pub(in crate::owned::pipeline) enum Scores {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl Scores {
    fn new(scores: Vec<f64>) -> Result<Self> {
        if scores.iter().any(|score| f64::from(*score as f32) != *score) {
            return Ok(Self::Double(scores));
        }
        let mut singles = reserved(scores.len())?;
        singles.extend(scores.iter().map(|score| *score as f32));
        Ok(Self::Single(singles))
    }

    #[inline]
    fn get(&self, id: u32) -> f64 {
        match self {
            Self::Single(scores) => scores[id as usize].into(),
            Self::Double(scores) => scores[id as usize],
        }
    }

    /// All of them, in the order of their ids.
    pub(in crate::owned::pipeline) fn to_vec(&self) -> Result<Vec<f64>> {
        match self {
            Self::Single(scores) => collected(scores.iter().map(|score| f64::from(*score))),
            Self::Double(scores) => collected(scores.iter().copied()),
        }
    }
}

/// The best way to a place in a piece.
#[derive(Clone, Copy, Debug)]
pub(in crate::owned::pipeline) struct Step {
    sum: f64,
    /// The token that ends here.
    id: u32,
    /// Where it starts; [`NOWHERE`] if no token ends here.
    start: u32,
}

const NOWHERE: u32 = u32::MAX;

const UNREACHED: Step = Step { sum: 0.0, id: 0, start: NOWHERE };

impl Unigram {
    pub(super) fn new(
        tokens: &TokenStrings,
        scores: Vec<f64>,
        unknown: Option<u32>,
        byte_fallback: bool,
    ) -> Result<Self> {
        let trie = Trie::build(tokens)?;
        let least = scores
            .iter()
            .copied()
            .fold(f64::INFINITY, |least, score| if score < least { score } else { least });
        let bytes = if byte_fallback { byte_ids(|token| trie.find(token))? } else { Vec::new() };
        let scores = Scores::new(scores)?;
        Ok(Self { trie, unknown, scores, unknown_score: least - UNKNOWN_PENALTY, bytes })
    }

    pub(super) fn encode(
        &self,
        piece: &str,
        steps: &mut Vec<Step>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let large = |_| Error::without_offset(ErrorKind::OverLimit);
        u32::try_from(piece.len()).map_err(large)?;
        grow(steps, piece.len() + 1, UNREACHED)?;
        let steps = &mut steps[..=piece.len()];
        steps.fill(UNREACHED);
        for (start, c) in piece.char_indices() {
            self.leave(piece, start, c.len_utf8(), steps)?;
        }
        self.give(piece, steps, ids)
    }

    /// Tries all tokens that begin at `start`, where there is a character of so many bytes.
    fn leave(&self, piece: &str, start: usize, bytes: usize, steps: &mut [Step]) -> Result<()> {
        let sum = steps[start].sum;
        let mut node = Node::ROOT;
        let mut has_character = false;
        for (at, c) in piece[start..].char_indices() {
            let Some(next) = self.trie.child(node, c) else { break };
            node = next;
            let Some(id) = node.token() else { continue };
            let length = at + c.len_utf8();
            steps[start + length].offer(self.scores.get(id) + sum, id, start);
            has_character |= length == bytes;
        }
        if !has_character {
            let step = &mut steps[start + bytes];
            if step.offer(self.unknown_score + sum, self.unknown.unwrap_or(0), start) {
                // Even if it would become bytes.
                self.unknown.ok_or(no_unknown())?;
            }
        }
        Ok(())
    }

    /// Writes the ids of the best way, of which `steps` has the ends. Neighbours that are unknown
    /// are one.
    fn give(&self, piece: &str, steps: &mut [Step], ids: &mut Vec<u32>) -> Result<()> {
        // From the end to the start, each step learns where the token behind it ends.
        let mut end = piece.len();
        let mut next = NOWHERE;
        while end > 0 {
            let start = core::mem::replace(&mut steps[end].start, next);
            next = end as u32;
            end = start as usize;
        }
        let mut start = 0;
        while start < piece.len() {
            let mut end = next as usize;
            let id = steps[end].id;
            next = steps[end].start;
            let is_unknown = |id| Some(id) == self.unknown;
            if !is_unknown(id) {
                push(ids, id)?;
                start = end;
                continue;
            }
            while end < piece.len() && is_unknown(steps[next as usize].id) {
                end = next as usize;
                next = steps[end].start;
            }
            self.give_unknown(&piece[start..end], ids)?;
            start = end;
        }
        Ok(())
    }

    fn give_unknown(&self, run: &str, ids: &mut Vec<u32>) -> Result<()> {
        if let Some(id) = self.trie.find(run) {
            return push(ids, id);
        }
        let of = |byte: u8| self.bytes.get(usize::from(byte)).copied().flatten();
        if run.bytes().all(|byte| of(byte).is_some()) {
            extend(ids, run.bytes().filter_map(of))
        } else {
            push(ids, self.unknown.ok_or(no_unknown())?)
        }
    }
}

impl Step {
    /// Takes another way if it is better; answers whether it is.
    #[inline]
    fn offer(&mut self, sum: f64, id: u32, start: usize) -> bool {
        let is_better = self.start == NOWHERE || sum > self.sum;
        if is_better {
            *self = Self { sum, id, start: start as u32 };
        }
        is_better
    }
}
