//! Where the tensors of one layer lie.

use super::norm::Norm;
use crate::error::Result;
use crate::model::linear::{Linear, take_same_codes};
use crate::model::weights::Weights;

/// Where the tensors of one layer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    pub(in crate::model) query: Linear,
    pub(in crate::model) key: Linear,
    pub(in crate::model) value: Linear,
    pub(in crate::model) attention_output: Linear,
    pub(in crate::model) attention_norm: Norm,
    pub(in crate::model) intermediate: Linear,
    pub(in crate::model) output: Linear,
    pub(in crate::model) output_norm: Norm,
    /// Whether queries, keys and values can be computed with quantised activations.
    pub(in crate::model) integer_attention: bool,
    /// The columns of a group if queries, keys and values are all in blocks of the same groups.
    pub(in crate::model) attention_group: Option<usize>,
}

impl Layer {
    /// A placeholder, to make the array that [`Bert::open`](crate::model::Bert::open) fills.
    pub const EMPTY: Self = Self {
        query: Linear::EMPTY,
        key: Linear::EMPTY,
        value: Linear::EMPTY,
        attention_output: Linear::EMPTY,
        attention_norm: Norm::EMPTY,
        intermediate: Linear::EMPTY,
        output: Linear::EMPTY,
        output_norm: Norm::EMPTY,
        integer_attention: false,
        attention_group: None,
    };

    /// Whether queries, keys and values all take the same codes.
    pub(in crate::model) fn take_same_codes(
        &self,
        weights: &(impl Weights + ?Sized),
    ) -> Result<bool> {
        let all = [&self.query, &self.key, &self.value];
        if !all.iter().all(|linear| linear.takes_codes()) {
            return Ok(false);
        }
        let [query, key, value] = all.map(|linear| &linear.weight);
        Ok(take_same_codes(weights, query, key)? && take_same_codes(weights, query, value)?)
    }

    pub(in crate::model) const fn linear_layers(&self) -> [&Linear; 6] {
        let Self { query, key, value, attention_output, intermediate, output, .. } = self;
        [query, key, value, attention_output, intermediate, output]
    }

    pub(in crate::model) const fn linear_layers_mut(&mut self) -> [&mut Linear; 6] {
        let Self { query, key, value, attention_output, intermediate, output, .. } = self;
        [query, key, value, attention_output, intermediate, output]
    }

    /// Whether any of the linear layers is in blocks.
    pub(in crate::model) fn has_blocks(&self) -> bool {
        self.linear_layers().iter().any(|linear| linear.group().is_some())
    }

    /// Whether any of the linear layers takes codes of evened out columns.
    pub(in crate::model) fn is_calibrated(&self) -> bool {
        [&self.value, &self.intermediate, &self.output]
            .iter()
            .any(|linear| linear.takes_codes() && linear.weight.column_offset.is_some())
    }
}
