//! The linear layers of a decoder that have biases.

use crate::model::family::tensors::Tensor;

/// The layers that have biases; queries, keys and values all have them or none do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Biases {
    /// Queries, keys and values.
    pub query_key_value: bool,
    /// The attention's output layer.
    pub attention_output: bool,
    /// The feed-forward layer.
    pub feed_forward: bool,
}

impl Biases {
    /// Nowhere.
    pub const NONE: Self =
        Self { query_key_value: false, attention_output: false, feed_forward: false };

    /// Everywhere.
    pub const ALL: Self =
        Self { query_key_value: true, attention_output: true, feed_forward: true };

    pub(super) const fn has(self, tensor: Tensor) -> bool {
        match tensor {
            Tensor::Query | Tensor::Key | Tensor::Value | Tensor::QueryKeyValue => {
                self.query_key_value
            }
            Tensor::AttentionOutput => self.attention_output,
            Tensor::Gate | Tensor::Up | Tensor::GateUp | Tensor::Down => self.feed_forward,
            _ => false,
        }
    }
}
