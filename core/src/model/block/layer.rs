//! Where the tensors of one layer lie.

use super::norm::Norm;
use crate::error::Result;
use crate::model::config::FAMILIES;
use crate::model::linear::{Linear, Rows, summaries, take_same_codes};
use crate::model::weights::Weights;

/// Where the tensors of one layer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    pub(in crate::model) query: Rows,
    pub(in crate::model) key: Rows,
    pub(in crate::model) value: Rows,
    pub(in crate::model) attention_output: Linear,
    /// Behind the attention's residual sum, or before the attention.
    pub(in crate::model) attention_norm: Norm,
    pub(in crate::model) up: Rows,
    pub(in crate::model) down: Linear,
    /// Behind the second residual sum, or before the feed-forward layer.
    pub(in crate::model) feed_forward_norm: Norm,
    /// What BERT has not. It takes no room in builds for BERT alone.
    pub(in crate::model) further: [Further; FAMILIES as usize],
    /// Whether queries, keys and values can be computed with quantised activations.
    pub(in crate::model) integer_attention: bool,
    /// The columns of a group if queries, keys and values are all in blocks of the same groups.
    pub(in crate::model) attention_group: Option<usize>,
}

/// Tensors of a layer that BERT has not; empty where a model has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Further {
    pub(in crate::model) gate: Rows,
    /// Of what the attention adds, before it is added.
    pub(in crate::model) attention_end_norm: Norm,
    /// Of what the feed-forward layer adds.
    pub(in crate::model) feed_forward_end_norm: Norm,
    /// Of a head's queries and keys.
    pub(in crate::model) query_norm: Norm,
    pub(in crate::model) key_norm: Norm,
}

impl Further {
    pub(in crate::model) const EMPTY: Self = Self {
        gate: Rows::EMPTY,
        attention_end_norm: Norm::EMPTY,
        feed_forward_end_norm: Norm::EMPTY,
        query_norm: Norm::EMPTY,
        key_norm: Norm::EMPTY,
    };
}

impl Layer {
    /// A placeholder, to make the array that opening a model fills.
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

    /// Finds out how queries, keys and values can be computed together.
    pub(in crate::model) fn join(&mut self, weights: &(impl Weights + ?Sized)) -> Result<()> {
        self.integer_attention = self.take_same_codes(weights)?;
        let group = self.query.linear.group();
        let same = self.key.linear.group() == group && self.value.linear.group() == group;
        self.attention_group = group.filter(|_| same);
        Ok(())
    }

    /// Whether queries, keys and values all take the same codes.
    fn take_same_codes(&self, weights: &(impl Weights + ?Sized)) -> Result<bool> {
        let all = [&self.query.linear, &self.key.linear, &self.value.linear];
        if !all.iter().all(|linear| linear.takes_codes()) {
            return Ok(false);
        }
        let [query, key, value] = all.map(|linear| &linear.weight);
        Ok(take_same_codes(weights, query, key)? && take_same_codes(weights, query, value)?)
    }

    /// The linear layers; an empty one in place of a gate that is not there.
    pub(in crate::model) fn linear_layers(&self) -> [&Linear; 7] {
        self.linear_rows().map(|(linear, _)| linear)
    }

    /// The linear layers, each with the number of its rows that are used.
    pub(in crate::model) fn linear_rows(&self) -> [(&Linear, usize); 7] {
        let Self { query, key, value, attention_output, up, down, .. } = self;
        const fn used(rows: &Rows) -> (&Linear, usize) {
            (&rows.linear, rows.count)
        }
        const fn all(linear: &Linear) -> (&Linear, usize) {
            (linear, linear.weight.rows)
        }
        let (output, gate) = (all(attention_output), used(&self.further().gate));
        [used(query), used(key), used(value), output, used(up), all(down), gate]
    }

    /// Numbers the summaries of layers, those of each linear layer after those of the one before.
    pub(in crate::model) fn number_summaries(layers: &mut [Self]) {
        let mut next = 0;
        for layer in layers {
            let Self { query, key, value, attention_output, up, down, further, .. } = layer;
            let (query, key, value) = (&mut query.linear, &mut key.linear, &mut value.linear);
            for linear in [query, key, value, attention_output, &mut up.linear, down] {
                next = summaries::number(linear, next);
            }
            for further in further {
                next = summaries::number(&mut further.gate.linear, next);
            }
        }
    }

    /// Whether any of the linear layers is in blocks.
    pub(in crate::model) fn has_blocks(&self) -> bool {
        self.linear_layers().iter().any(|linear| linear.group().is_some())
    }

    /// Whether any of the linear layers takes codes of evened out columns.
    pub(in crate::model) fn is_calibrated(&self) -> bool {
        [&self.value.linear, &self.up.linear, &self.down]
            .iter()
            .any(|linear| linear.takes_codes() && linear.weight.column_offset.is_some())
    }
}
