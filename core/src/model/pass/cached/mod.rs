//! Decoders of the Llama family: RMS norm, rotary positions, grouped queries, SwiGLU; tied or
//! separate output; Phi-3's fused matrices.
//!
//! 1. [`config`] has the sizes, from an AMB configuration, or the metadata of GGUF or `.weights`;
//! 2. [`Llama::open`] finds the tensors once, under the names of Hugging Face or of GGUF (`names`);
//! 3. [`Llama::forward`] takes tokens through the layers, keeping keys and values in a [`Cache`]
//!    that the caller lends;
//! 4. `tokenizer` turns texts into ids and back, [`sample`] chooses the next token;
//!    [`Llama::embed`] pools the hidden states instead.

mod cache;
mod forward;
mod input;
mod memory;

pub use cache::Cache;
pub use forward::Output;
pub use memory::{Activations, LlamaMemory, LlamaNeeds, LlamaPlan};

use crate::model::config::LlamaConfig;
use crate::model::linear::Linear;
use crate::model::weights::Matrix;

/// Where the tensors of one layer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlamaLayer {
    pub(in crate::model) attention_norm: Matrix,
    /// Queries, keys and values; with a fused matrix all three are the same, and only their rows
    /// differ.
    pub(in crate::model) query: Rows,
    pub(in crate::model) key: Rows,
    pub(in crate::model) value: Rows,
    pub(in crate::model) attention_output: Linear,
    pub(in crate::model) feed_forward_norm: Matrix,
    pub(in crate::model) gate: Rows,
    pub(in crate::model) up: Rows,
    pub(in crate::model) down: Linear,
}

/// Some rows of a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Rows {
    pub(in crate::model) linear: Linear,
    pub(in crate::model) first: usize,
    pub(in crate::model) count: usize,
}

impl Rows {
    pub(in crate::model) const EMPTY: Self = Self { linear: Linear::EMPTY, first: 0, count: 0 };

    pub(in crate::model) const fn all(linear: Linear) -> Self {
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
    pub(in crate::model) config: LlamaConfig,
    pub(in crate::model) embeddings: Matrix,
    pub(in crate::model) norm: Matrix,
    pub(in crate::model) output: Matrix,
    /// Divisors of the rotary frequencies, for short texts and for long ones; empty without.
    pub(in crate::model) divisors: [Matrix; 2],
    pub(in crate::model) layers: L,
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
