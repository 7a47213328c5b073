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
    /// Input of the projection to the layers' further inputs: `[tokens, hidden]`, the same in all
    /// layers; the first one reports it.
    PerLayerInput,
    /// Input of the gate of a layer's further input: `[tokens, hidden]`.
    PerLayerGate,
    /// Input of the layer that adds the gated further input: `[tokens, elements]`.
    PerLayerProjection,
}

impl LayerInput {
    /// Elements of a row in layer `layer`.
    #[must_use]
    pub const fn cols(self, config: &Config, layer: usize) -> usize {
        match self {
            Self::Output => config.intermediate,
            Self::AttentionOutput if FAMILIES => config.heads_in(layer).width(),
            Self::PerLayerProjection => config.per_layer_elements(),
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
