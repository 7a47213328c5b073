//! The further input of each layer, which Gemma calls per-layer embeddings (PLE). The token's first
//! vector e is projected; each layer takes a part p of the result, and adds it to the hidden state x
//! by a gate.
//!
//! | tensor | shape | |
//! |---|---|---|
//! | `input` | rows of `[layers · elements, hidden]` | p = norm(input · e / √hidden) |
//! | `input_norm` | `[elements]` | |
//! | `gate` | `[elements, hidden]` | g = gelu_tanh(gate · x) · p |
//! | `projection` | `[hidden, elements]` | x + norm(projection · g) |
//! | `norm` | `[hidden]` | |
//! | `scale` | `[1]` | a factor on the layer's whole output |

use super::norm::Norm;
use crate::kernel::root;
use crate::model::linear::{Linear, Rows};
use crate::model::weights::Matrix;

/// The tensors of a layer's further input; empty if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct PerLayer {
    pub(in crate::model) input: Rows,
    /// The same in all layers.
    pub(in crate::model) input_norm: Norm,
    pub(in crate::model) gate: Linear,
    pub(in crate::model) projection: Linear,
    pub(in crate::model) norm: Norm,
    pub(in crate::model) scale: Matrix,
}

impl PerLayer {
    pub(in crate::model) const EMPTY: Self = Self {
        input: Rows::EMPTY,
        input_norm: Norm::EMPTY,
        gate: Linear::EMPTY,
        projection: Linear::EMPTY,
        norm: Norm::EMPTY,
        scale: Matrix::EMPTY,
    };
}

/// The factor on the projection of a token's first vector of `hidden` elements.
#[allow(clippy::cast_precision_loss)] // at most 2²⁴
pub(in crate::model) fn input_scale(hidden: usize) -> f32 {
    1.0 / root::sqrt_f32(hidden as f32)
}
