//! Heads that make a sparse vector of a text: a weight for some tokens of the vocabulary.

use super::dense::DensePlace;
use super::vocabulary::VocabularyHead;
use crate::error::{Error, ErrorKind, Result};
use crate::model::run::Run;
use crate::model::weights::Weights;

/// A head that makes a sparse vector.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "a model has one of it")]
pub enum SparseHead {
    /// The scores of all tokens of the vocabulary: SPLADE.
    Vocabulary(VocabularyHead),
    /// A weight for each token of the text from its state, if it is positive: BGE-M3.
    Tokens(DensePlace),
}

impl SparseHead {
    /// Floats of scratch memory that [`write`](Self::write) takes for a text of so many tokens.
    #[must_use]
    pub fn scratch(&self, tokens: usize) -> usize {
        match self {
            Self::Vocabulary(head) => head.scratch(tokens),
            Self::Tokens(_) => tokens,
        }
    }

    /// Bytes of scratch memory for weights that cannot be borrowed.
    #[must_use]
    pub fn tile(&self) -> usize {
        match self {
            Self::Vocabulary(head) => head.tile(),
            Self::Tokens(_) => 0,
        }
    }

    /// Calls `put` with token ids and their weights, which are positive. The tokens of the text are
    /// `ids`, and `states` their states; the weights of the head are `floats`. An id may come
    /// several times, in any order: its largest weight counts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if there is less [scratch memory](Self::scratch) or fewer
    /// floats; [`ErrorKind::InvalidArgument`] if sizes do not fit; [`ErrorKind::NotFinite`]; any
    /// error of reading the weights, and of `put`.
    pub fn write<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        floats: &[f32],
        (ids, states): (&[u32], &[f32]),
        scratch: &mut [f32],
        tile: &mut [u8],
        put: &mut dyn FnMut(u32, f32) -> Result<()>,
    ) -> Result<()> {
        let layer = match self {
            Self::Vocabulary(head) => return head.write(run, floats, states, scratch, tile, put),
            Self::Tokens(layer) => layer,
        };
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        let weights = scratch.get_mut(..ids.len()).ok_or(too_small)?;
        layer.over(floats)?.apply(run.kernels, states, weights)?;
        for (id, weight) in ids.iter().zip(weights) {
            if *weight > 0.0 {
                put(*id, *weight)?;
            }
        }
        Ok(())
    }
}
