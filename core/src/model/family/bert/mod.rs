//! BERT: what its tensors are called, and the encoder made of them.

mod names;

pub use names::{Finding, check};

use self::names::{EmbeddingTensor, LayerTensor, locate};
use super::planning;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::Kernels;
use crate::model::block::layer::Layer;
use crate::model::block::norm::Norm;
use crate::model::config::{BertConfig, Config};
use crate::model::linear::{Linear, Rows};
use crate::model::pass::packed::Bert;
use crate::model::plan::Plan;
use crate::model::weights::{Matrix, Weights};

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl Layer {
    pub(in crate::model) fn locate(
        weights: &(impl Weights + ?Sized),
        config: &Config,
        layer: usize,
    ) -> Result<Self> {
        let find = |tensor: LayerTensor| {
            locate(weights, config, tensor.name(layer).as_str(), tensor.shape())
        };
        let linear = |weight, bias| Ok(Linear::new(find(weight)?, find(bias)?));
        let rows = |weight, bias| linear(weight, bias).map(Rows::all);
        let norm = |weight, bias| Ok(Norm { weight: find(weight)?, bias: find(bias)? });
        use LayerTensor as T;
        Self {
            query: rows(T::QueryWeight, T::QueryBias)?,
            key: rows(T::KeyWeight, T::KeyBias)?,
            value: rows(T::ValueWeight, T::ValueBias)?,
            attention_output: linear(T::AttentionOutputWeight, T::AttentionOutputBias)?,
            attention_norm: norm(T::AttentionNormWeight, T::AttentionNormBias)?,
            up: rows(T::IntermediateWeight, T::IntermediateBias)?,
            down: linear(T::OutputWeight, T::OutputBias)?,
            feed_forward_norm: norm(T::OutputNormWeight, T::OutputNormBias)?,
            ..Self::EMPTY
        }
        .joined(weights)
    }
}

/// What [`Bert::plan`] says of a model of these sizes, before there is memory for its layers.
///
/// # Errors
///
/// As [`Bert::open`].
pub fn plan(weights: &(impl Weights + ?Sized), config: &BertConfig, tokens: usize) -> Result<Plan> {
    planning::plan(config.layers, |index| Layer::locate(weights, config, index), tokens)
}

/// What [`Bert::summaries`] says of a model of these sizes, before there is memory for its layers.
///
/// # Errors
///
/// As [`Bert::open`].
pub fn summaries(
    weights: &(impl Weights + ?Sized),
    config: &BertConfig,
    kernels: &Kernels,
) -> Result<usize> {
    planning::summaries(config.layers, |index| Layer::locate(weights, config, index), kernels)
}

impl<L: AsRef<[Layer]> + Sync> Bert<L> {
    /// Finds the tensors of a model of these sizes. `layers` must have room for `config.layers`.
    ///
    /// Nothing but the index is read; [`check`] reports all findings where this stops at
    /// the first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`], [`ErrorKind::WrongShape`], [`ErrorKind::TransposedWeights`],
    /// [`ErrorKind::BadScale`]; [`ErrorKind::BufferTooSmall`] if `layers` is too short.
    pub fn open(
        weights: &(impl Weights + ?Sized),
        config: BertConfig,
        mut layers: L,
    ) -> Result<Self>
    where
        L: AsMut<[Layer]>,
    {
        let slots = layers.as_mut().get_mut(..config.layers).ok_or(TOO_SMALL)?;
        for (index, slot) in slots.iter_mut().enumerate() {
            *slot = Layer::locate(weights, &config, index)?;
        }
        Layer::number_summaries(slots);
        use EmbeddingTensor as T;
        let find = |tensor: T| locate(weights, &config, tensor.name(), tensor.shape());
        Ok(Self {
            word: find(T::Word)?,
            position: find(T::Position)?,
            token_type: find(T::TokenType)?,
            norm: Norm { weight: find(T::NormWeight)?, bias: find(T::NormBias)? },
            final_norm: Norm::EMPTY,
            relative: Matrix::EMPTY,
            config,
            layers,
        })
    }
}
