//! One text that grows: models that continue texts, or embed them token by token.
//!
//! [`Llama::forward`] takes tokens through the layers, keeping keys and values in a [`Cache`] that
//! the caller lends; [`Llama::embed`] pools the hidden states instead of asking for logits.

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

/// A decoder: its sizes, and where its tensors lie in the file. `L` holds one [`Layer`](crate::model::Layer) per
/// layer.
#[derive(Clone, Copy, Debug)]
pub struct Llama<L> {
    pub(in crate::model) config: Config,
    pub(in crate::model) embeddings: Matrix,
    pub(in crate::model) norm: Norm,
    pub(in crate::model) output: Matrix,
    /// Divisors of the rotary frequencies, for short texts and for long ones; empty without.
    pub(in crate::model) divisors: [Matrix; 2],
    pub(in crate::model) layers: L,
}

impl<L> Llama<L> {
    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Whether a text of so many tokens is turned by the divisors for long texts. All its tokens
    /// are: where a text grows beyond the limit, those that are in a [`Cache`] have to be computed
    /// again.
    #[must_use]
    pub fn is_long(&self, tokens: usize) -> bool {
        let [short, long] = &self.divisors;
        short != long && tokens > original_positions(&self.config)
    }

    /// Whether it depends on a text's length how its tokens are turned.
    #[must_use]
    pub fn has_long_texts(&self) -> bool {
        self.is_long(usize::MAX)
    }
}

/// Texts of more tokens take the divisors for long texts, in models that have such.
fn original_positions(config: &Config) -> usize {
    config.rotary.map_or(usize::MAX, |rotary| rotary.global.original_positions)
}
