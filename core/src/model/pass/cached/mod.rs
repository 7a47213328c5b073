//! One growing text: causal models, and embedding token by token.
//!
//! [`Llama::forward`] runs tokens through the layers, keeping keys and values in a [`Cache`] in
//! caller-provided memory; [`Llama::embed`] pools the hidden states instead of computing logits.

mod cache;
mod forward;
mod input;
mod memory;

pub use cache::Cache;
pub use forward::Output;
pub use memory::{Activations, LlamaMemory, LlamaNeeds, LlamaPlan};

use crate::model::block::norm::Norm;
use crate::model::config::Config;
use crate::model::weights::Matrix;

/// A decoder: its sizes, and the locations of its tensors. `L` holds one
/// [`Layer`](crate::model::Layer) per layer.
#[derive(Clone, Copy, Debug)]
pub struct Llama<L> {
    pub(in crate::model) config: Config,
    pub(in crate::model) embeddings: Matrix,
    pub(in crate::model) norm: Norm,
    pub(in crate::model) output: Matrix,
    /// Divisors of the rotary frequencies, for short texts and for long ones; empty if there are
    /// none.
    pub(in crate::model) divisors: [Matrix; 2],
    pub(in crate::model) layers: L,
}

impl<L> Llama<L> {
    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Returns true if a text of `tokens` tokens uses the divisors for long texts. These apply to
    /// all of its tokens: when a text grows beyond the limit, those in a [`Cache`] have to be
    /// recomputed.
    #[must_use]
    pub fn is_long(&self, tokens: usize) -> bool {
        let [short, long] = &self.divisors;
        short != long && tokens > original_positions(&self.config)
    }

    /// Returns true if rotary positions depend on a text's length.
    #[must_use]
    pub fn has_long_texts(&self) -> bool {
        self.is_long(usize::MAX)
    }
}

/// The text length beyond which the divisors for long texts apply, in models that have them.
fn original_positions(config: &Config) -> usize {
    config.rotary.map_or(usize::MAX, |rotary| rotary.global.original_positions)
}
