//! Llama and models that differ from it in settings: Mistral, Qwen 2 and 3, Phi-3, Gemma 3.

mod biases;
mod names;

pub use biases::Biases;
pub use names::{hugging_face, is_decoder_tensor, is_decoder_tensor_of};

use super::tensors::{Names, Tensor};
use crate::error::{Error, ErrorKind, Result};
use crate::model::block::layer::Layer;
use crate::model::block::norm::Norm;
use crate::model::config::{Embedding, LlamaConfig, Order};
use crate::model::pass::cached::Llama;
use crate::model::weights::{Matrix, Weights};

impl<L: AsRef<[Layer]> + AsMut<[Layer]>> Llama<L> {
    /// Locates all tensors; `layers` has room for as many as the model has, and is overwritten.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`], [`ErrorKind::WrongShape`] and any error from
    /// [`Weights::matrix`]; [`ErrorKind::BufferTooSmall`] if `layers` is too short;
    /// [`ErrorKind::UnsupportedArchitecture`] for settings that are not compiled in.
    pub fn open(weights: &(impl Weights + ?Sized), config: LlamaConfig, layers: L) -> Result<Self> {
        Self::from_family(weights, config, names::detect(weights, &config)?, layers)
    }

    /// As [`open`](Self::open), with the names of another family.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn from_family(
        weights: &(impl Weights + ?Sized),
        config: LlamaConfig,
        names: &Names,
        mut layers: L,
    ) -> Result<Self> {
        let Embedding { positions, token_types, norm, projected, .. } = config.embedding;
        let is_placed = positions.is_some() || config.relative.is_some();
        let is_repeated = config.order == Order::PostTwice;
        let has_further = config.per_layer.is_some()
            || config.final_projection.is_some()
            || config.mixture().is_some();
        let is_embedded = token_types || norm || projected.is_some();
        let is_other = is_placed || is_repeated || has_further || is_embedded;
        if !config.is_built_in() || is_other {
            return Err(Error::without_offset(ErrorKind::UnsupportedArchitecture));
        }
        let LlamaConfig { hidden, vocabulary, .. } = config;
        let find = |tensor, rows, cols| names.get(weights, tensor, 0, (rows, cols));
        let room = layers.as_mut().get_mut(..config.layers);
        let room = room.ok_or(Error::without_offset(ErrorKind::BufferTooSmall))?;
        for (index, layer) in room.iter_mut().enumerate() {
            names.locate(layer, weights, &config, index)?;
        }
        let embeddings = find(Tensor::Embeddings, vocabulary, hidden)?;
        let has = |tensor| names.find(weights, (tensor, ".weight"), 0).map(|found| found.is_some());
        let output = match has(Tensor::Output)? {
            true => find(Tensor::Output, vocabulary, hidden)?,
            false => embeddings,
        };
        let pairs = config.rotary.map_or(0, |rotary| rotary.global.dimensions / 2);
        let divisors = if has(Tensor::Frequencies)? {
            [find(Tensor::Frequencies, 1, pairs)?; 2]
        } else if has(Tensor::ShortFactors)? || has(Tensor::LongFactors)? {
            [find(Tensor::ShortFactors, 1, pairs)?, find(Tensor::LongFactors, 1, pairs)?]
        } else {
            [Matrix::EMPTY; 2]
        };
        let norm = match config.final_norm {
            true => names.norm(weights, &config, (Tensor::Norm, 0), hidden)?,
            false => Norm::EMPTY,
        };
        Ok(Self { config, embeddings, norm, output, divisors, layers })
    }
}
