//! What the linear layers of a model are applied to, shown as it passes.

use crate::model::config::{Config, FAMILIES};

/// What the linear layers of a transformer layer are applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LayerInput {
    /// Of queries, keys and values: `[tokens, hidden]`.
    Attention,
    /// Of the attention's output layer: `[tokens, heads · size]`.
    AttentionOutput,
    /// Of the first feed-forward layer: `[tokens, hidden]`.
    Intermediate,
    /// Of the second feed-forward layer: `[tokens, intermediate]`.
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

/// Some rows that a linear layer is applied to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Observation<'a> {
    /// The layer, counted from 0.
    pub layer: usize,
    /// Which of its linear layers.
    pub input: LayerInput,
    /// Whole rows, one a token.
    pub values: &'a [f32],
}

/// Is shown the activations as they pass, from several threads where the host runs parts on them.
pub type Observer<'o> = dyn Fn(Observation<'_>) + Sync + 'o;
