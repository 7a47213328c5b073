//! Tokens to vectors.

use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{Kernels, RowSummary};
use crate::model::block::layer::Layer;
use crate::model::config::Config;
use crate::model::head::dense::Dense;
use crate::model::head::embedding::Embedding;
use crate::model::parallel::Parallel;
use crate::model::pass::packed::workspace::Workspace;
use crate::model::pass::packed::{Batch, Encoder};
use crate::model::run::Run;
use crate::model::weights::Weights;

/// A transformer with what stands behind it.
///
/// `L` holds one [`Layer`] per layer: a slice, an array or a `Vec`.
#[derive(Clone, Debug)]
pub struct Transformer<'m, L> {
    pub(super) encoder: Encoder<L>,
    pub(super) dense: &'m [Dense<'m>],
    pub(super) embedding: Embedding,
    pub(super) dimensions: usize,
}

impl<L: AsRef<[Layer]> + Sync> Transformer<'_, L> {
    /// What the transformer is.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.encoder.config().transformer
    }

    /// Elements of an embedding.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Writes what kernels want to know of its weights: see
    /// [`Encoder::summarize`](crate::model::Encoder::summarize).
    ///
    /// # Errors
    ///
    /// As that.
    pub fn summarize(
        &self,
        weights: &(impl Weights + ?Sized),
        kernels: &Kernels,
        tile: &mut [u8],
        summaries: &mut [RowSummary],
    ) -> Result<()> {
        self.encoder.summarize(weights, kernels, tile, summaries)
    }

    /// The embedding of a tokenised text into `out`, in as many floats of `room` as
    /// [`TransformerSource::room`](super::TransformerSource::room) says. Its first `skipped` tokens
    /// do not count in pooling.
    ///
    /// # Errors
    ///
    /// As [`Encoder::states`](crate::model::Encoder::states);
    /// [`ErrorKind::BufferTooSmall`] if the room is too small;
    /// [`ErrorKind::InvalidArgument`] if `out` has not as many elements as an embedding.
    pub fn embed<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        (ids, skipped): (&[u32], usize),
        workspace: &mut Workspace<'_>,
        room: &mut [f32],
        out: &mut [f32],
    ) -> Result<()> {
        let half = room.len() / 2;
        let (from, to) = room.split_at_mut_checked(half).unwrap_or_default();
        if out.len() != self.dimensions {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        let skipped = skipped.min(ids.len());
        let text = Batch { ids, types: &[], lengths: &[ids.len()] };
        let mut each = |_, states: &[f32]| {
            let layers = self.dense.iter().copied();
            let (from, to) = (&mut *from, &mut *to);
            self.embedding.write(run.kernels, layers, (states, skipped), (from, to), out)
        };
        self.encoder.states(run, &text, workspace, &mut each, &|_| {})
    }
}
