//! Unigram: the likeliest segmentation, as `Unigram::encode_optimized` of Hugging Face `tokenizers`
//! has it.

use alloc::vec::Vec;

use super::{byte_ids, no_unknown};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{collected, extend, grow, push, reserved};
use crate::owned::pipeline::tokens::TokenStrings;
use crate::owned::pipeline::trie::{ROOT, Trie};
use crate::token::lattice::{self, Prefixes, Scored, Sum as _};

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
pub(in crate::owned::pipeline) type Step = lattice::LatticeStep<f64>;

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
        Ok(Self { trie, unknown, scores, unknown_score: least.less_penalty(), bytes })
    }

    pub(super) fn encode(
        &self,
        piece: &str,
        steps: &mut Vec<Step>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let large = |_| Error::without_offset(ErrorKind::OverLimit);
        u32::try_from(piece.len()).map_err(large)?;
        grow(steps, piece.len() + 1, Step::unreached())?;
        let steps = &mut steps[..=piece.len()];
        steps.fill(Step::unreached());
        let mut left = piece.chars();
        let mut rest = left.as_str();
        while left.next().is_some() {
            let start = piece.len() - rest.len();
            let bytes = rest.len() - left.as_str().len();
            let tokens = Rest { unigram: self, text: rest };
            rest = left.as_str();
            let id = self.unknown.unwrap_or(0);
            let unknown = Scored { id, bytes, score: self.unknown_score };
            if lattice::leave(steps, start, tokens, unknown)? {
                // Even if it would become bytes.
                self.unknown.ok_or(no_unknown())?;
            }
        }
        self.give(piece, steps, ids)
    }

    /// Writes the ids of the best way. Neighbours that are unknown are one.
    fn give(&self, piece: &str, steps: &mut [Step], ids: &mut Vec<u32>) -> Result<()> {
        let mut unknown = 0..0;
        for (place, id) in lattice::best(steps, piece.len()) {
            if Some(id) == self.unknown {
                let start = if unknown.is_empty() { place.start } else { unknown.start };
                unknown = start..place.end;
                continue;
            }
            if !unknown.is_empty() {
                self.give_unknown(&piece[core::mem::take(&mut unknown)], ids)?;
            }
            push(ids, id)?;
        }
        if unknown.is_empty() { Ok(()) } else { self.give_unknown(&piece[unknown], ids) }
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

/// The rest of a piece, which begins with tokens.
struct Rest<'u, 't> {
    unigram: &'u Unigram,
    text: &'t str,
}

impl Prefixes<f64> for Rest<'_, '_> {
    #[inline]
    fn each(self, mut take: impl FnMut(Scored<f64>)) -> Result<()> {
        let mut node = ROOT;
        let mut left = self.text.chars();
        while let Some(next) = left.next().and_then(|c| self.unigram.trie.child(node, c)) {
            node = next;
            let Some(id) = node.value() else { continue };
            let bytes = self.text.len() - left.as_str().len();
            take(Scored { id, bytes, score: self.unigram.scores.get(id) });
        }
        Ok(())
    }
}
