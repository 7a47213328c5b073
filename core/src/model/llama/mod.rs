//! Decoders of the Llama family: RMS norm, rotary positions, grouped queries, SwiGLU; tied or
//! separate output; Phi-3's fused matrices.
//!
//! 1. [`config`] has the sizes, from an AMB configuration, or the metadata of GGUF or `.weights`;
//! 2. [`Llama::open`] finds the tensors once, under the names of Hugging Face or of GGUF (`names`);
//! 3. [`Llama::forward`] takes tokens through the layers, keeping keys and values in a [`Cache`]
//!    that the caller lends;
//! 4. `tokenizer` turns texts into ids and back, [`sample`] chooses the next token;
//!    [`Llama::embed`] pools the hidden states instead.

pub mod config;
mod input;
pub mod memory;
mod names;
mod pass;
#[cfg(any(feature = "amb", feature = "gguf"))]
mod pieces;
pub mod rope;
pub mod sample;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub mod tokenizer;

pub use config::{LlamaConfig, RopePairs};
pub use memory::{Activations, Cache, LlamaMemory, LlamaNeeds, LlamaPlan};
pub use names::{is_decoder_tensor, is_decoder_tensor_of};
pub use pass::Output;
#[cfg(any(feature = "amb", feature = "gguf"))]
pub use pieces::SentencePieceSource;
pub use rope::Rope;
pub use sample::{Sampler, Sampling};
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use tokenizer::{BpeIndex, BpeMemory, BpeNeeds, BpeParts, BpeSource, FileBpe};

use super::linear::Linear;
use super::weights::{Matrix, Weights};
use crate::error::{Error, ErrorKind, Result};
use names::{Names, Tensor};

/// Where the tensors of one layer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlamaLayer {
    attention_norm: Matrix,
    /// Queries, keys and values; with a fused matrix all three are the same, and only their rows
    /// differ.
    query: Rows,
    key: Rows,
    value: Rows,
    attention_output: Linear,
    feed_forward_norm: Matrix,
    gate: Rows,
    up: Rows,
    down: Linear,
}

/// Some rows of a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rows {
    linear: Linear,
    first: usize,
    count: usize,
}

impl Rows {
    const EMPTY: Self = Self { linear: Linear::EMPTY, first: 0, count: 0 };

    const fn all(linear: Linear) -> Self {
        Self { linear, first: 0, count: linear.weight.rows }
    }
}

impl LlamaLayer {
    /// A placeholder, to make the array that [`Llama::open`] fills.
    pub const EMPTY: Self = Self {
        attention_norm: Matrix::EMPTY,
        query: Rows::EMPTY,
        key: Rows::EMPTY,
        value: Rows::EMPTY,
        attention_output: Linear::EMPTY,
        feed_forward_norm: Matrix::EMPTY,
        gate: Rows::EMPTY,
        up: Rows::EMPTY,
        down: Linear::EMPTY,
    };
}

/// A decoder: its sizes, and where its tensors lie in the file. `L` holds one [`LlamaLayer`] per
/// layer.
#[derive(Clone, Copy, Debug)]
pub struct Llama<L> {
    config: LlamaConfig,
    embeddings: Matrix,
    norm: Matrix,
    output: Matrix,
    /// Divisors of the rotary frequencies, for short texts and for long ones; empty without.
    divisors: [Matrix; 2],
    layers: L,
}

impl<L: AsRef<[LlamaLayer]> + AsMut<[LlamaLayer]>> Llama<L> {
    /// Finds all tensors; `layers` has room for as many as the model has, and what it holds is
    /// lost.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`], [`ErrorKind::WrongShape`] and what [`Weights::matrix`]
    /// answers; [`ErrorKind::BufferTooSmall`] if `layers` has not enough room.
    pub fn open(
        weights: &(impl Weights + ?Sized),
        config: LlamaConfig,
        mut layers: L,
    ) -> Result<Self> {
        let names = Names::detect(weights)?;
        let LlamaConfig { hidden, vocabulary, .. } = config;
        let find = |tensor: Tensor, layer, rows, cols| {
            let found = names.find(weights, tensor, layer)?;
            let found = found.ok_or(Error::without_offset(ErrorKind::MissingTensor))?;
            let fits = (found.rows, found.cols) == (rows, cols);
            if fits { Ok(found) } else { Err(Error::new(found.offset, ErrorKind::WrongShape)) }
        };
        let room = layers.as_mut().get_mut(..config.layers);
        let room = room.ok_or(Error::without_offset(ErrorKind::BufferTooSmall))?;
        for (index, layer) in room.iter_mut().enumerate() {
            *layer = locate(&config, &names, weights, index, &find)?;
        }
        let embeddings = find(Tensor::Embeddings, 0, vocabulary, hidden)?;
        let output = match names.find(weights, Tensor::Output, 0)? {
            Some(_) => find(Tensor::Output, 0, vocabulary, hidden)?,
            None => embeddings,
        };
        let is_there = |tensor| names.find(weights, tensor, 0).map(|found| found.is_some());
        let pairs = config.rope.dimensions / 2;
        let divisors = if is_there(Tensor::Frequencies)? {
            [find(Tensor::Frequencies, 0, 1, pairs)?; 2]
        } else if is_there(Tensor::ShortFactors)? || is_there(Tensor::LongFactors)? {
            [find(Tensor::ShortFactors, 0, 1, pairs)?, find(Tensor::LongFactors, 0, 1, pairs)?]
        } else {
            [Matrix::EMPTY; 2]
        };
        let norm = find(Tensor::Norm, 0, 1, hidden)?;
        Ok(Self { config, embeddings, norm, output, divisors, layers })
    }
}

impl<L> Llama<L> {
    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &LlamaConfig {
        &self.config
    }

    /// Whether a text of so many tokens is turned by the divisors for long texts. All its tokens
    /// are: where a text grows beyond the limit, those that are in a [`Cache`] have to be computed
    /// anew.
    #[must_use]
    pub fn is_long(&self, tokens: usize) -> bool {
        let [short, long] = &self.divisors;
        short != long && tokens > self.config.rope.original_positions
    }

    /// Whether it depends on a text's length how its tokens are turned.
    #[must_use]
    pub fn has_long_texts(&self) -> bool {
        self.is_long(usize::MAX)
    }
}

fn locate(
    config: &LlamaConfig,
    names: &Names,
    weights: &(impl Weights + ?Sized),
    index: usize,
    find: &impl Fn(Tensor, usize, usize, usize) -> Result<Matrix>,
) -> Result<LlamaLayer> {
    let LlamaConfig { hidden, intermediate, .. } = *config;
    let (queries, keys) = (config.heads * config.head, config.kv_heads * config.head);
    let linear = |tensor: Tensor, rows, cols| {
        let weight = find(tensor, index, rows, cols)?;
        let bias = match tensor.bias() {
            Some(bias) if names.find(weights, bias, index)?.is_some() => {
                find(bias, index, 1, rows)?
            }
            _ => Matrix::EMPTY,
        };
        Ok(Linear::new(weight, bias))
    };
    let is_there = |tensor| names.find(weights, tensor, index).map(|found| found.is_some());
    let (query, key, value) = if is_there(Tensor::QueryKeyValue)? {
        let linear = linear(Tensor::QueryKeyValue, queries + 2 * keys, hidden)?;
        let rows = |first, count| Rows { linear, first, count };
        (rows(0, queries), rows(queries, keys), rows(queries + keys, keys))
    } else {
        (
            Rows::all(linear(Tensor::Query, queries, hidden)?),
            Rows::all(linear(Tensor::Key, keys, hidden)?),
            Rows::all(linear(Tensor::Value, keys, hidden)?),
        )
    };
    let fused = is_there(Tensor::GateUp)? || !is_there(Tensor::Gate)?;
    let (gate, up) = if fused {
        // GGUF calls Phi-3's fused matrix like the one that Llama has beside the gate.
        let name = if is_there(Tensor::GateUp)? { Tensor::GateUp } else { Tensor::Up };
        let linear = linear(name, 2 * intermediate, hidden)?;
        let rows = |first| Rows { linear, first, count: intermediate };
        (rows(0), rows(intermediate))
    } else {
        (
            Rows::all(linear(Tensor::Gate, intermediate, hidden)?),
            Rows::all(linear(Tensor::Up, intermediate, hidden)?),
        )
    };
    Ok(LlamaLayer {
        attention_norm: find(Tensor::AttentionNorm, index, 1, hidden)?,
        query,
        key,
        value,
        attention_output: linear(Tensor::AttentionOutput, hidden, queries)?,
        feed_forward_norm: find(Tensor::FeedForwardNorm, index, 1, hidden)?,
        gate,
        up,
        down: linear(Tensor::Down, hidden, intermediate)?,
    })
}
