//! The likeliest segmentation of a text: scores are logarithms of probabilities, and the way through
//! the text with the highest sum is found from left to right (Viterbi). T. Kudo, "Subword
//! Regularization", 2018.
//!
//! `sentencepiece` sums in f32, Hugging Face `tokenizers` in f64. Sums are rounded in their order,
//! and of equal sums the first one found stays, so that ids are theirs.

use core::ops::Range;

use crate::error::{Error, ErrorKind, Result};

/// How much less likely than all tokens a character without one is.
const UNKNOWN_PENALTY: f32 = 10.0;

/// A number that scores are added in.
pub trait Sum: Copy + Default + PartialOrd {
    /// The sum of both.
    fn plus(self, score: Self) -> Self;

    /// The score of a character without a token, beside tokens of which the least has this one.
    fn less_penalty(self) -> Self;
}

impl Sum for f32 {
    #[inline]
    fn plus(self, score: Self) -> Self {
        self + score
    }

    fn less_penalty(self) -> Self {
        self - UNKNOWN_PENALTY
    }
}

impl Sum for f64 {
    #[inline]
    fn plus(self, score: Self) -> Self {
        self + score
    }

    fn less_penalty(self) -> Self {
        self - Self::from(UNKNOWN_PENALTY)
    }
}

/// Stands for a place that no way leads to.
pub(super) const NOWHERE: u32 = u32::MAX;

/// The best way to a place in a text.
#[derive(Clone, Copy, Debug, Default)]
pub struct LatticeStep<S> {
    pub(super) sum: S,
    /// The token that ends here.
    pub(super) id: u32,
    /// Where it starts, or [`NOWHERE`]; when the way is known, where the next one ends.
    pub(super) other: u32,
}

impl<S: Sum> LatticeStep<S> {
    /// A place that no way leads to yet, which is the start of one, too.
    pub(crate) fn unreached() -> Self {
        Self { sum: S::default(), id: 0, other: NOWHERE }
    }
}

/// A token that a text begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scored<S> {
    pub(crate) id: u32,
    pub(crate) bytes: usize,
    pub(crate) score: S,
}

/// A text that begins with tokens.
pub(crate) trait Prefixes<S> {
    /// Calls `take` with all tokens that the text begins with, the shortest one first.
    fn each(self, take: impl FnMut(Scored<S>)) -> Result<()>;
}

/// Tries all tokens that begin at `start`, where there is a character, which is `unknown` if it is
/// no token. Returns true if the best way to its end is that it is unknown.
///
/// # Errors
///
/// [`ErrorKind::BufferTooSmall`] if `steps` end before; what reading tokens returns.
#[inline]
pub(crate) fn leave<S: Sum>(
    steps: &mut [LatticeStep<S>],
    start: usize,
    tokens: impl Prefixes<S>,
    unknown: Scored<S>,
) -> Result<bool> {
    let small = Error::without_offset(ErrorKind::BufferTooSmall);
    let [here, ahead @ ..] = steps.get_mut(start..).unwrap_or_default() else { return Err(small) };
    #[expect(clippy::cast_possible_truncation, reason = "texts are shorter")]
    let (sum, from) = (here.sum, start as u32);
    let mut has_character = false;
    let mut offer = |token: Scored<S>| {
        // No token has no bytes.
        let step = ahead.get_mut(token.bytes.wrapping_sub(1));
        step.is_some_and(|step| step.offer(token.score.plus(sum), token.id, from))
    };
    tokens.each(|token| {
        offer(token);
        has_character |= token.bytes == unknown.bytes;
    })?;
    Ok(!has_character && offer(unknown))
}

/// The tokens of the best way to `end`, with the places that they stand in.
#[inline]
pub(crate) fn best<S>(
    steps: &mut [LatticeStep<S>],
    end: usize,
) -> impl Iterator<Item = (Range<usize>, u32)> {
    // From the end to the start, each step learns where the token after it ends.
    let mut at = end;
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
    next = steps.first().map_or(NOWHERE, |first| first.other);
    let steps = &*steps;
    let mut end = 0;
    core::iter::from_fn(move || {
        let start = end;
        let step = steps.get(next as usize)?;
        (end, next) = (next as usize, step.other);
        Some((start..end, step.id))
    })
}

impl<S: Sum> LatticeStep<S> {
    /// Takes another way if it is better; returns true if it is.
    #[inline]
    fn offer(&mut self, sum: S, id: u32, start: u32) -> bool {
        let is_better = self.other == NOWHERE || sum > self.sum;
        if is_better {
            *self = Self { sum, id, other: start };
        }
        is_better
    }
}
