//! Encoders: a transformer and the head that makes one vector, or scores, of a text's hidden states.
//!
//! | part | role |
//! |---|---|
//! | here | token ids to vectors |
//! | `cross_encoder` | token ids of a text or a pair to scores |
//! | `spec` | what a model's files say of an encoder, the memory that it takes, and opening it there |
//! | `sparse` | the same for a head that makes sparse vectors |
//! | `multi` | the same for a head that makes a vector for each token |
//! | `head_modules`, `head_tensors`, `classifier` | the weights of heads, found and read |
//!
//! The memory of a model is anything that holds slices: lent by a caller, or a `Vec`.

mod classifier;
mod cross_encoder;
mod head_modules;
mod head_tensors;
mod multi;
mod sparse;
mod spec;

pub use cross_encoder::CrossEncoder;
pub use multi::MultiSpec;
pub use sparse::{SparseKind, SparseSpec};
pub use spec::{EncoderMemory, EncoderNeeds, EncoderSpec};

use crate::error::{Error, ErrorKind, Result};
use crate::model::block::layer::Layer;
use crate::model::block::observation::Observer;
use crate::model::config::Config;
use crate::model::head::embedding::{Head, HeadLayer, TextEmbedding};
use crate::model::parallel::Parallel;
use crate::model::pass::packed::workspace::Workspace;
use crate::model::pass::packed::{Batch, Transformer};
use crate::model::plan::Plan;
use crate::model::run::Run;
use crate::model::weights::Weights;

const INVALID: Error = Error::without_offset(ErrorKind::InvalidArgument);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// A transformer that embeds texts.
///
/// `L` holds one [`Layer`] per layer, `D` the layers after the pooling and `F` their weights: a
/// slice, an array or a `Vec` each.
#[derive(Clone, Copy, Debug)]
pub struct Encoder<L, D = [HeadLayer; 0], F = [f32; 0]> {
    /// The transformer.
    pub transformer: Transformer<L>,
    /// How hidden states become one vector.
    pub embedding: TextEmbedding,
    /// Layers after the pooling, in order.
    pub head: D,
    /// The weights of these layers.
    pub floats: F,
}

impl<L: AsRef<[Layer]> + AsMut<[Layer]> + Sync> Encoder<L> {
    /// Locates the tensors of a BERT encoder in `weights`; `layers` holds `config.layers` elements
    /// or more.
    ///
    /// # Errors
    ///
    /// As [`Transformer::open`].
    pub fn open(
        weights: &(impl Weights + ?Sized),
        config: Config,
        embedding: TextEmbedding,
        layers: L,
    ) -> Result<Self> {
        let transformer = Transformer::open(weights, config, layers)?;
        Ok(Self { transformer, embedding, head: [], floats: [] })
    }
}

impl<L: AsRef<[Layer]> + Sync, D: AsRef<[HeadLayer]>, F: AsRef<[f32]>> Encoder<L, D, F> {
    /// The transformer's sizes and settings.
    #[must_use]
    pub const fn config(&self) -> &Config {
        self.transformer.config()
    }

    /// Elements of an embedding.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        let layers = self.head.as_ref().iter();
        layers.fold(self.embedding.pooled(), |width, layer| layer.outputs(width))
    }

    /// Floats of scratch memory that [`embed`](Self::embed) takes: none without layers after the
    /// pooling.
    #[must_use]
    pub fn scratch(&self) -> usize {
        let layers = self.head.as_ref().iter();
        self.embedding.scratch(layers.scan(self.embedding.pooled(), |width, layer| {
            *width = layer.outputs(*width);
            Some(*width)
        }))
    }

    /// How the model was made to run: see [`Transformer::plan`].
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        self.transformer.plan(tokens)
    }

    /// The embeddings of texts, [`dimensions`](Self::dimensions) elements each, into `out`, with
    /// [`scratch`](Self::scratch) floats of scratch memory. As many texts as the workspace holds
    /// are computed together.
    ///
    /// # Errors
    ///
    /// As [`Transformer::states`]; [`ErrorKind::BufferTooSmall`] if there is less scratch memory;
    /// [`ErrorKind::InvalidArgument`] if `out` has another length.
    pub fn embed<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        texts: &Batch<'_>,
        workspace: &mut Workspace<'_>,
        scratch: &mut [f32],
        out: &mut [f32],
    ) -> Result<()> {
        self.embed_observed(run, texts, workspace, scratch, out, &|_| {})
    }

    /// As [`embed`](Self::embed), and shows `observe` the input of every linear layer of the
    /// transformer.
    ///
    /// Calibration uses it: how weights are quantised depends on a float model's activations.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn embed_observed<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        texts: &Batch<'_>,
        workspace: &mut Workspace<'_>,
        scratch: &mut [f32],
        out: &mut [f32],
        observe: &Observer<'_>,
    ) -> Result<()> {
        let Batch { lengths, skipped, .. } = *texts;
        let dimensions = self.dimensions();
        if dimensions == 0 || lengths.len().checked_mul(dimensions) != Some(out.len()) {
            return Err(INVALID);
        }
        let head = Head { layers: self.head.as_ref(), floats: self.floats.as_ref() };
        let mut rows = out.chunks_exact_mut(dimensions).zip(lengths);
        let mut each = |_, states: &[f32]| {
            let (row, length) = rows.next().ok_or(TOO_SMALL)?;
            let states = (states, skipped.min(*length));
            self.embedding.write(run.kernels, head, states, scratch, row)
        };
        self.transformer.states(run, texts, workspace, &mut each, observe)
    }
}
