//! The likeliest segmentation of a word, as `EncodeOptimized` of `unigram_model.cc` of
//! `sentencepiece` has it.

use super::normalize::character_bytes;
use super::pieces::{Piece, TOO_LONG};
use super::trie::{Kind, Trie};
use crate::error::{Error, ErrorKind, Result};
use crate::token::lattice::{self, NOWHERE, Prefixes, Scored, Sum as _};

/// The best way to a place in a word.
pub type Step = lattice::LatticeStep<f32>;

/// Sums beyond it are set back to 0, so that they keep their precision.
const LARGEST_SUM: f32 = 100_000.0;

/// Stands for the id of a character without a piece.
const UNKNOWN: u32 = u32::MAX;

/// The pieces that are looked for in a word.
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
        mut emit: impl FnMut(usize, Option<u32>),
    ) -> Result<f32> {
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let steps = steps.get_mut(..word.len().saturating_add(1)).ok_or(small)?;
        u32::try_from(word.len()).map_err(|_| small)?;
        steps.fill(Step::unreached());
        if let Some(first) = steps.first_mut() {
            first.sum = sum;
        }
        let mut start = 0;
        while let Some((first, _)) = word.get(start..).and_then(<[u8]>::split_first) {
            let bytes = character_bytes(*first).min(word.len().saturating_sub(start));
            self.leave(word, start, bytes, steps)?;
            start = start.saturating_add(bytes);
        }
        for (place, id) in lattice::best(steps, word.len()) {
            emit(place.len(), Some(id).filter(|id| *id != UNKNOWN));
        }
        Ok(steps.last().map_or(sum, |step| step.sum))
    }

    /// Tries all pieces that begin at `start`, where there is a character of so many bytes.
    fn leave(&self, word: &[u8], start: usize, bytes: usize, steps: &mut [Step]) -> Result<()> {
        let here = steps.get(start).map_or(0.0, |here| here.sum);
        if here.abs() > LARGEST_SUM
            && let Some((first, ahead)) = steps.get_mut(start..).and_then(<[_]>::split_first_mut)
        {
            let ahead = ahead.iter_mut().take(TOO_LONG.into());
            let reached = ahead.filter(|step| step.other != NOWHERE);
            reached.for_each(|step| step.sum -= here);
            first.sum = 0.0;
        }
        let text = word.get(start..).unwrap_or_default();
        let unknown = Scored { id: UNKNOWN, bytes, score: self.least_score.less_penalty() };
        lattice::leave(steps, start, Rest { lattice: self, text }, unknown).map(|_| ())
    }
}

/// The rest of a word, which begins with pieces.
struct Rest<'l, 't> {
    lattice: &'l Lattice<'l>,
    text: &'t [u8],
}

impl Prefixes<f32> for Rest<'_, '_> {
    #[inline]
    fn each(self, mut take: impl FnMut(Scored<f32>)) -> Result<()> {
        let Lattice { trie, pieces, .. } = self.lattice;
        let mut node = None;
        for (index, byte) in self.text.iter().enumerate() {
            let next = match node {
                None => trie.root(*byte),
                Some(node) => trie.next(node, *byte),
            };
            let Some(next) = next else { break };
            node = Some(next);
            let Some(hit) = trie.piece(next) else { continue };
            let score = match hit.kind {
                Kind::Unused => continue,
                Kind::UserDefined => symbol_score(index),
                Kind::Normal => pieces.get(hit.id as usize).map_or(0.0, |it| it.score),
            };
            take(Scored { id: hit.id, bytes: index.saturating_add(1), score });
        }
        Ok(())
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
