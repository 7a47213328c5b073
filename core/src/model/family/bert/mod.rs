//! BERT: the names of its tensors, and how its encoder is opened.

mod names;

pub(in crate::model::family) use names::bert_names;
pub use names::{Finding, NAMES, check};

use self::names::{EmbeddingTensor, LayerTensor, locate};
use super::planning;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::Kernels;
use crate::model::block::layer::Layer;
use crate::model::config::Config;
use crate::model::pass::packed::Transformer;
use crate::model::plan::Plan;
use crate::model::weights::Weights;

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl Layer {
    /// Locates a layer's tensors. Writes the result in place: a layer is large for a small stack.
    pub(in crate::model) fn locate(
        &mut self,
        weights: &(impl Weights + ?Sized),
        config: &Config,
        layer: usize,
    ) -> Result<()> {
        *self = Self::EMPTY;
        use LayerTensor as T;
        let Self { query, key, value, attention_output, attention_norm, .. } = self;
        let places = [
            (&mut query.linear.weight, T::QueryWeight),
            (&mut query.linear.bias, T::QueryBias),
            (&mut key.linear.weight, T::KeyWeight),
            (&mut key.linear.bias, T::KeyBias),
            (&mut value.linear.weight, T::ValueWeight),
            (&mut value.linear.bias, T::ValueBias),
            (&mut attention_output.weight, T::AttentionOutputWeight),
            (&mut attention_output.bias, T::AttentionOutputBias),
            (&mut attention_norm.weight, T::AttentionNormWeight),
            (&mut attention_norm.bias, T::AttentionNormBias),
            (&mut self.up.linear.weight, T::IntermediateWeight),
            (&mut self.up.linear.bias, T::IntermediateBias),
            (&mut self.down.weight, T::OutputWeight),
            (&mut self.down.bias, T::OutputBias),
            (&mut self.feed_forward_norm.weight, T::OutputNormWeight),
            (&mut self.feed_forward_norm.bias, T::OutputNormBias),
        ];
        for (into, tensor) in places {
            *into = locate(weights, config, tensor.name(layer).as_str(), tensor.shape())?;
        }
        for rows in [&mut self.query, &mut self.key, &mut self.value, &mut self.up] {
            rows.count = rows.linear.weight.rows;
        }
        self.join(weights)
    }
}

/// [`Transformer::plan`] for a model of these sizes, before there is memory for its layers.
///
/// # Errors
///
/// As [`Transformer::open`].
pub fn plan(weights: &(impl Weights + ?Sized), config: &Config, tokens: usize) -> Result<Plan> {
    planning::plan(config.layers, |layer, index| layer.locate(weights, config, index), tokens)
}

/// [`Transformer::summaries`] for a model of these sizes, before there is memory for its layers.
///
/// # Errors
///
/// As [`Transformer::open`].
pub fn summaries(
    weights: &(impl Weights + ?Sized),
    config: &Config,
    kernels: &Kernels,
) -> Result<usize> {
    planning::summaries(config.layers, |layer, index| layer.locate(weights, config, index), kernels)
}

impl<L: AsRef<[Layer]> + Sync> Transformer<L> {
    /// Locates the tensors of a model of these sizes. `layers` must have room for `config.layers`.
    ///
    /// Only the index is read. [`check`] reports all findings; this function stops at the first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`], [`ErrorKind::WrongShape`], [`ErrorKind::TransposedWeights`],
    /// [`ErrorKind::BadScale`]; [`ErrorKind::BufferTooSmall`] if `layers` is too short.
    pub fn open(weights: &(impl Weights + ?Sized), config: Config, layers: L) -> Result<Self>
    where
        L: AsMut<[Layer]>,
    {
        let mut bert = Self::unlocated(config, layers);
        bert.locate(weights)?;
        Ok(bert)
    }

    /// As [`open`](Self::open), in place: a model is large for a small stack.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn locate(&mut self, weights: &(impl Weights + ?Sized)) -> Result<()>
    where
        L: AsMut<[Layer]>,
    {
        let config = &self.config;
        let slots = self.layers.as_mut().get_mut(..config.layers).ok_or(TOO_SMALL)?;
        for (index, slot) in slots.iter_mut().enumerate() {
            slot.locate(weights, config, index)?;
        }
        Layer::number_summaries(slots);
        use EmbeddingTensor as T;
        for (into, tensor) in [
            (&mut self.word, T::Word),
            (&mut self.position, T::Position),
            (&mut self.token_type, T::TokenType),
            (&mut self.norm.weight, T::NormWeight),
            (&mut self.norm.bias, T::NormBias),
        ] {
            *into = locate(weights, config, tensor.name(), tensor.shape())?;
        }
        Ok(())
    }
}
