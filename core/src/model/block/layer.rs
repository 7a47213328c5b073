//! The tensors of one layer.

use super::experts::Experts;
use super::norm::Norm;
use super::per_layer::PerLayer;
use crate::error::Result;
use crate::model::config::FAMILIES;
use crate::model::linear::{Linear, Rows, summaries, take_same_codes};
use crate::model::weights::Weights;

/// The locations of one layer's tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    pub(in crate::model) query: Rows,
    pub(in crate::model) key: Rows,
    pub(in crate::model) value: Rows,
    pub(in crate::model) attention_output: Linear,
    /// After the attention's residual sum, or before the attention.
    pub(in crate::model) attention_norm: Norm,
    /// With a mixture, the layers of all experts, as is `down`.
    pub(in crate::model) up: Rows,
    pub(in crate::model) down: Linear,
    /// After the second residual sum, or before the feed-forward layer.
    pub(in crate::model) feed_forward_norm: Norm,
    /// Tensors that BERT lacks. Zero-sized in builds for BERT alone.
    pub(in crate::model) further: [Further; FAMILIES as usize],
    /// True if queries, keys and values can be computed with quantised activations.
    pub(in crate::model) integer_attention: bool,
    /// The columns of a group if queries, keys and values are all in blocks with the same groups.
    pub(in crate::model) attention_group: Option<usize>,
}

/// Tensors of a layer that BERT lacks; empty where a model has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Further {
    pub(in crate::model) gate: Rows,
    /// The norm of the attention's output before it is added, or after its second residual sum.
    pub(in crate::model) attention_end_norm: Norm,
    /// The norm of the feed-forward layer's output, before it is added.
    pub(in crate::model) feed_forward_end_norm: Norm,
    /// The norm of queries, of a head or all.
    pub(in crate::model) query_norm: Norm,
    pub(in crate::model) key_norm: Norm,
    pub(in crate::model) per_layer: PerLayer,
    pub(in crate::model) experts: Experts,
}

impl Further {
    pub(in crate::model) const EMPTY: Self = Self {
        gate: Rows::EMPTY,
        attention_end_norm: Norm::EMPTY,
        feed_forward_end_norm: Norm::EMPTY,
        query_norm: Norm::EMPTY,
        key_norm: Norm::EMPTY,
        per_layer: PerLayer::EMPTY,
        experts: Experts::EMPTY,
    };

    /// The linear layers, each with the number of its rows that are used.
    const fn linear_rows(&self) -> [(&Linear, usize); 5] {
        let PerLayer { input, gate, projection, .. } = &self.per_layer;
        [used(&self.gate), used(input), all(gate), all(projection), all(&self.experts.router)]
    }

    fn linear_layers_mut(&mut self) -> [&mut Linear; 5] {
        let PerLayer { input, gate, projection, .. } = &mut self.per_layer;
        [&mut self.gate.linear, &mut input.linear, gate, projection, &mut self.experts.router]
    }
}

const fn used(rows: &Rows) -> (&Linear, usize) {
    (&rows.linear, rows.count)
}

const fn all(linear: &Linear) -> (&Linear, usize) {
    (linear, linear.weight.rows)
}

impl Layer {
    /// An empty layer, to fill the array in which opening a model stores layers.
    pub const EMPTY: Self = Self {
        query: Rows::EMPTY,
        key: Rows::EMPTY,
        value: Rows::EMPTY,
        attention_output: Linear::EMPTY,
        attention_norm: Norm::EMPTY,
        up: Rows::EMPTY,
        down: Linear::EMPTY,
        feed_forward_norm: Norm::EMPTY,
        further: [Further::EMPTY; FAMILIES as usize],
        integer_attention: false,
        attention_group: None,
    };

    pub(in crate::model) fn further(&self) -> &Further {
        const NONE: &Further = &Further::EMPTY;
        self.further.first().unwrap_or(NONE)
    }

    /// Determines how queries, keys and values can be computed together.
    pub(in crate::model) fn join(&mut self, weights: &(impl Weights + ?Sized)) -> Result<()> {
        self.integer_attention = self.take_same_codes(weights)?;
        let group = self.query.linear.group();
        let same = self.key.linear.group() == group && self.value.linear.group() == group;
        self.attention_group = group.filter(|_| same);
        Ok(())
    }

    /// Returns true if queries, keys and values all take the same codes.
    fn take_same_codes(&self, weights: &(impl Weights + ?Sized)) -> Result<bool> {
        let all = [&self.query.linear, &self.key.linear, &self.value.linear];
        if !all.iter().all(|linear| linear.takes_codes()) {
            return Ok(false);
        }
        let [query, key, value] = all.map(|linear| &linear.weight);
        Ok(take_same_codes(weights, query, key)? && take_same_codes(weights, query, value)?)
    }

    /// The linear layers; empty ones in place of those that the model lacks.
    pub(in crate::model) fn linear_layers(&self) -> impl Iterator<Item = &Linear> {
        self.linear_rows().map(|(linear, _)| linear)
    }

    /// The linear layers, each with the number of its rows that are used.
    pub(in crate::model) fn linear_rows(&self) -> impl Iterator<Item = (&Linear, usize)> {
        let Self { query, key, value, attention_output, up, down, further, .. } = self;
        let output = all(attention_output);
        let own = [used(query), used(key), used(value), output, used(up), all(down)];
        own.into_iter().chain(further.iter().flat_map(Further::linear_rows))
    }

    /// Returns true if all layers have the same weights.
    fn share_weights(layers: &[Self]) -> bool {
        let have_same = |a: &Self, b: &Self| {
            let mut pairs = a.linear_layers().zip(b.linear_layers());
            pairs.all(|(a, b)| a.weight == b.weight)
        };
        let next = layers.iter().skip(1);
        FAMILIES && layers.iter().zip(next).all(|(a, b)| have_same(a, b))
    }

    /// The layers with weights of their own: the first one if all have the same.
    pub(in crate::model) fn with_own_weights(layers: &[Self]) -> &[Self] {
        let count = if Self::share_weights(layers) { 1 } else { layers.len() };
        layers.get(..count).unwrap_or_default()
    }

    /// Numbers the summaries of all layers' linear layers consecutively; those of layers that share
    /// their weights have the same numbers.
    pub(in crate::model) fn number_summaries(layers: &mut [Self]) {
        let shared = Self::share_weights(layers);
        let mut next = 0;
        for layer in layers {
            if shared {
                next = 0;
            }
            let Self { query, key, value, attention_output, up, down, further, .. } = layer;
            let (query, key, value) = (&mut query.linear, &mut key.linear, &mut value.linear);
            for linear in [query, key, value, attention_output, &mut up.linear, down] {
                next = summaries::number(linear, next);
            }
            for linear in further.iter_mut().flat_map(Further::linear_layers_mut) {
                next = summaries::number(linear, next);
            }
        }
    }

    /// Returns true if any of the linear layers is stored in blocks.
    pub(in crate::model) fn has_blocks(&self) -> bool {
        self.linear_layers().any(|linear| linear.group().is_some())
    }

    /// Returns true if any of the linear layers has column scales.
    pub(in crate::model) fn is_calibrated(&self) -> bool {
        [&self.value.linear, &self.up.linear, &self.down]
            .iter()
            .any(|linear| linear.takes_codes() && linear.weight.column_offset.is_some())
    }
}
