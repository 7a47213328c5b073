//! A transformer with its tokenizer, its recipe and its limits.

use alloc::vec::Vec;

use super::tokenizer::TextTokenizer;
use crate::describe::folder::LAYER_NORM_EPSILON;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::Kernels;
use crate::limit::{filled, joined, reserved};
use crate::model::{Batch, FamilyModel, Parallel, Plan, PoolingMode, Weights};
use crate::owned::folder::{DenseModule, FolderModel, HeadModule, LayerNormModule, Modules};
use crate::owned::{DenseLayer, HeadPart, NormLayer, Recipe, Session, TextEncoder};

/// A transformer that embeds texts or compares them.
#[derive(Clone, Debug)]
pub struct TransformerModel<W> {
    weights: W,
    encoder: TextEncoder,
    tokenizer: TextTokenizer,
}

impl<W: Weights + Sync> TransformerModel<W> {
    pub(super) const fn of(weights: W, encoder: TextEncoder, tokenizer: TextTokenizer) -> Self {
        Self { weights, encoder, tokenizer }
    }

    /// The encoder.
    #[must_use]
    pub const fn encoder(&self) -> &TextEncoder {
        &self.encoder
    }

    /// The tokenizer.
    #[must_use]
    pub const fn tokenizer(&self) -> &TextTokenizer {
        &self.tokenizer
    }

    /// The weights.
    #[must_use]
    pub const fn weights(&self) -> &W {
        &self.weights
    }

    /// How many tokens of a text the model was made for.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.tokenizer.max_tokens().unwrap_or(self.encoder.config().positions)
    }

    /// Runs on this table of kernels instead of the fastest one.
    ///
    /// # Errors
    ///
    /// What reading the weights may fail with.
    pub fn with_kernels(mut self, kernels: Kernels) -> Result<Self> {
        self.encoder = self.encoder.with_kernels(&self.weights, kernels)?;
        Ok(self)
    }

    /// How the model was made to run: see [`TextEncoder::plan`].
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        self.encoder.plan(tokens)
    }

    /// See [`TextEncoder::session_bytes`].
    ///
    /// # Errors
    ///
    /// As [`TextEncoder::session_bytes`].
    pub fn session_bytes(&self, plan: Plan) -> Result<usize> {
        self.encoder.session_bytes(plan)
    }

    /// See [`TextEncoder::session_for`].
    ///
    /// # Errors
    ///
    /// As [`TextEncoder::session_for`].
    pub fn session_for(&self, plan: Plan) -> Result<Session> {
        self.encoder.session_for(plan)
    }

    /// The embeddings of tokenised texts, whose first `skipped` tokens do not count in pooling: see
    /// [`TextEncoder::embed`].
    ///
    /// # Errors
    ///
    /// As [`TextEncoder::embed`].
    pub fn embed<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        texts: &Batch<'_>,
        skipped: usize,
        out: &mut [f32],
    ) -> Result<()> {
        let skipped = match skipped {
            0 => Vec::new(),
            skipped => filled(texts.lengths.len(), skipped)?,
        };
        self.encoder.embed(&self.weights, session, parallel, texts, &skipped, out)
    }

    /// The logits of tokenised pairs: see [`TextEncoder::classify`].
    ///
    /// # Errors
    ///
    /// As [`TextEncoder::classify`].
    pub fn classify<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        texts: &Batch<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        self.encoder.classify(&self.weights, session, parallel, texts, out)
    }
}

/// The transformer and what stands behind it.
pub(super) fn open(
    model: &FolderModel,
    family: &FamilyModel,
    weights: &impl Weights,
) -> Result<TextEncoder> {
    let encoder = TextEncoder::open(weights, family, recipe(model.modules.as_ref(), weights)?)?;
    if let Some(classifier) =
        family.classifier.filter(|_| model.compares() && !encoder.recipe().gives_scores)
    {
        // Asked for again: it is the tensor at fault.
        let output = weights.header(&joined(&[classifier.output, ".weight"])?);
        classifier.check_labels(encoder.labels(), output.map_or(0, |output| output.offset))?;
    }
    Ok(encoder)
}

/// What stands behind the transformer. Where nothing says it, it is the mean, at length 1.
fn recipe(modules: Option<&Modules>, weights: &impl Weights) -> Result<Recipe> {
    let Some(Modules { pooling, head, normalize, give_scores, .. }) = modules else {
        return Ok(Recipe {
            pooling: PoolingMode::Mean.into(),
            normalize: true,
            ..Recipe::default()
        });
    };
    let pooling = pooling.iter().flat_map(|pooling| &pooling.modes).copied().collect();
    let mut parts = reserved(head.len())?;
    for module in head {
        parts.push(head_part(module, weights)?);
    }
    Ok(Recipe { pooling, head: parts, normalize: *normalize, gives_scores: *give_scores })
}

fn head_part(module: &HeadModule, weights: &impl Weights) -> Result<HeadPart> {
    Ok(match module {
        HeadModule::Dense(module) => HeadPart::Dense(dense_layer(module, weights)?),
        HeadModule::LayerNorm(LayerNormModule { folder, elements }) => {
            let name = joined(&[folder, "norm"])?;
            let says = (true, LAYER_NORM_EPSILON);
            HeadPart::Norm(NormLayer::read(weights, &name, *elements, says)?)
        }
        HeadModule::Normalize => HeadPart::Normalize,
    })
}

fn dense_layer(module: &DenseModule, weights: &impl Weights) -> Result<DenseLayer> {
    let name = joined(&[&module.folder, "linear"])?;
    let layer = DenseLayer::read(weights, &name, module.bias, module.activation)?;
    if (layer.inputs, layer.bias.len()) != (module.inputs, module.outputs) {
        return Err(Error::without_offset(ErrorKind::WrongShape));
    }
    Ok(layer)
}
