//! Tokens to vectors.

use super::TOO_SMALL;
use super::classes::Classes;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{Kernels, RowSummary};
use crate::model::block::layer::Layer;
use crate::model::config::Config;
use crate::model::head::dense::Dense;
use crate::model::head::embedding::Embedding;
use crate::model::parallel::Parallel;
use crate::model::pass::packed::workspace::Workspace;
use crate::model::pass::packed::{Batch, Encoder};
use crate::model::plan::Plan;
use crate::model::run::Run;
use crate::model::weights::Weights;

const OTHER_MODEL: Error = Error::without_offset(ErrorKind::OtherModel);

/// A transformer with what stands behind it.
///
/// `L` holds one [`Layer`] per layer, `D` the linear layers behind the pooling: a slice, an array or
/// a `Vec`.
#[derive(Clone, Debug)]
pub struct Transformer<'m, L, D = &'m mut [Dense<'m>]> {
    pub(super) encoder: Encoder<L>,
    pub(super) dense: D,
    pub(super) embedding: Embedding,
    pub(super) dimensions: usize,
    pub(super) classes: Option<Classes<'m>>,
}

impl<'m, L: AsRef<[Layer]> + Sync, D: AsRef<[Dense<'m>]>> Transformer<'m, L, D> {
    /// What the transformer is.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.encoder.config().transformer
    }

    /// Elements of an embedding; 0 for a model that compares texts.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Classes that [`classify`](Self::classify) tells apart; 0 for models that embed texts.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.classes.as_ref().map_or(0, |classes| classes.classifier.output.bias.len())
    }

    /// How the model was made to run: see [`Encoder::plan`](crate::model::Encoder::plan).
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        self.encoder.plan(tokens)
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

    /// The embedding of a tokenised text into `out`: see [`embed_texts`](Self::embed_texts). Its
    /// first `skipped` tokens do not count in pooling.
    ///
    /// # Errors
    ///
    /// As that.
    pub fn embed<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        (ids, skipped): (&[u32], usize),
        workspace: &mut Workspace<'_>,
        room: &mut [f32],
        out: &mut [f32],
    ) -> Result<()> {
        self.embed_texts(run, (ids, &[ids.len()], skipped), workspace, room, out)
    }

    /// The embeddings of tokenised texts, of so many tokens each, into `out`, in as many floats of
    /// `room` as [`TransformerSource::room`](super::TransformerSource::room) says. The first
    /// `skipped` tokens of each do not count in pooling.
    ///
    /// # Errors
    ///
    /// As [`Encoder::states`](crate::model::Encoder::states);
    /// [`ErrorKind::BufferTooSmall`] if the room is too small;
    /// [`ErrorKind::InvalidArgument`] if `out` has not as many elements as the embeddings;
    /// [`ErrorKind::OtherModel`] if the model compares texts.
    pub fn embed_texts<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        (ids, lengths, skipped): (&[u32], &[usize], usize),
        workspace: &mut Workspace<'_>,
        room: &mut [f32],
        out: &mut [f32],
    ) -> Result<()> {
        let half = room.len() / 2;
        let (from, to) = room.split_at_mut_checked(half).unwrap_or_default();
        if self.classes.is_some() || self.dimensions == 0 {
            return Err(OTHER_MODEL);
        }
        if lengths.len().checked_mul(self.dimensions) != Some(out.len()) {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        let texts = Batch { ids, types: &[], lengths };
        let mut rows = out.chunks_exact_mut(self.dimensions).zip(lengths);
        let mut each = |_, states: &[f32]| {
            let (row, length) = rows.next().ok_or(TOO_SMALL)?;
            let layers = self.dense.as_ref().iter().copied();
            let (from, to) = (&mut *from, &mut *to);
            let states = (states, skipped.min(*length));
            self.embedding.write(run.kernels, layers, states, (from, to), row)
        };
        self.encoder.states(run, &texts, workspace, &mut each, &|_| {})
    }

    /// The scores of the classes of a tokenised text or pair of texts (tokens, and their types) into
    /// `out`, in as many floats of `room` as [`TransformerSource::room`](super::TransformerSource::room)
    /// says.
    ///
    /// # Errors
    ///
    /// As [`Encoder::states`](crate::model::Encoder::states);
    /// [`ErrorKind::BufferTooSmall`] if the room is too small;
    /// [`ErrorKind::InvalidArgument`] if `out` has not as many elements as there are classes;
    /// [`ErrorKind::OtherModel`] if the model compares no texts.
    pub fn classify<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        (ids, types): (&[u32], &[u8]),
        workspace: &mut Workspace<'_>,
        room: &mut [f32],
        out: &mut [f32],
    ) -> Result<()> {
        let Classes { classifier, on_logits } = self.classes.as_ref().ok_or(OTHER_MODEL)?;
        if out.len() != self.labels() {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        let text = Batch { ids, types, lengths: &[ids.len()] };
        let mut each = |_, states: &[f32]| classifier.logits(run.kernels, states, room, out);
        self.encoder.states(run, &text, workspace, &mut each, &|_| {})?;
        on_logits.apply(run.kernels, out);
        Ok(())
    }
}
