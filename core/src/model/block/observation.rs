//! Observation of the inputs of a model's linear layers.

use crate::model::config::{Config, FAMILIES};

/// The input of a linear layer in a transformer layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LayerInput {
    /// Input of queries, keys and values: `[tokens, hidden]`.
    Attention,
    /// Input of the attention's output layer: `[tokens, heads · size]`.
    AttentionOutput,
    /// Input of the first feed-forward layer: `[tokens, hidden]`.
    Intermediate,
    /// Input of the second feed-forward layer: `[tokens, intermediate]`.
    Output,
}

impl LayerInput {
    /// Elements of a row.
    #[must_use]
    pub const fn cols(self, config: &Config) -> usize {
        match self {
            Self::Output => config.intermediate,
            Self::AttentionOutput if FAMILIES => config.heads.width(),
            _ => config.hidden,
        }
    }
}

/// Some input rows of a linear layer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Observation<'a> {
    /// The layer, counted from 0.
    pub layer: usize,
    /// The linear layer within it.
    pub input: LayerInput,
    /// Whole rows, one per token.
    pub values: &'a [f32],
}

/// Receives activations during a pass, from several threads if the host runs parts in parallel.
pub type Observer<'o> = dyn Fn(Observation<'_>) + Sync + 'o;
