//! Tensors by role, under the names of a family: how every family except BERT is opened.

use crate::error::{Error, ErrorKind, Result};
use crate::model::block::experts::Experts;
use crate::model::block::layer::Layer;
use crate::model::block::norm::Norm;
use crate::model::block::observation::LayerInput;
use crate::model::block::per_layer::PerLayer;
use crate::model::config::{
    Config, FAMILIES, FeedForward, Mixture, NormKind, Order, QueryKeyNorm, Relative,
};
use crate::model::linear::{Linear, Rows};
use crate::model::pass::packed::Transformer;
use crate::model::weights::{Matrix, Name, Weights, check_presence};

/// The role of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tensor {
    /// The token table.
    Embeddings,
    /// The position table.
    Positions,
    /// The token type table, of which the first row is used.
    TokenTypes,
    /// The biases on scores by the distance of key and query, `[buckets, heads]`.
    RelativeBias,
    /// The vectors of offsets between queries and keys.
    RelativeVectors,
    /// The norm of these vectors.
    RelativeNorm,
    /// The norm of the sum of token, position and type.
    EmbeddingNorm,
    /// The linear layer from the normed sum to hidden states, if the tables have shorter rows.
    Projection,
    /// The norm after the last layer.
    Norm,
    /// The output layer, from hidden states to logits.
    Output,
    /// Divisors of rotary frequencies.
    Frequencies,
    /// Divisors for short texts.
    ShortFactors,
    /// Divisors for long texts.
    LongFactors,
    /// The norm before the attention, or after its residual sum.
    AttentionNorm,
    /// Queries.
    Query,
    /// Keys.
    Key,
    /// Values.
    Value,
    /// Queries, keys and values in one matrix.
    QueryKeyValue,
    /// The norm of queries.
    QueryNorm,
    /// The norm of keys.
    KeyNorm,
    /// The attention's output layer.
    AttentionOutput,
    /// The norm of the attention's output, or after its second residual sum.
    AttentionEndNorm,
    /// The norm before the feed-forward layer, or after its residual sum.
    FeedForwardNorm,
    /// The gate, to which the activation is applied.
    Gate,
    /// The factor of the gate, or, without gates, the input of the activation.
    Up,
    /// Gate and up in one matrix, the gate first.
    GateUp,
    /// Gate and up in one matrix, the gate last.
    UpGate,
    /// The output layer of the feed-forward part.
    Down,
    /// The norm of the feed-forward layer's output.
    FeedForwardEndNorm,
    /// The layer that chooses experts, `[experts, hidden]`.
    Router,
    /// The first layers of all experts, `[experts · intermediate, hidden]`.
    ExpertsUp,
    /// The second layers of all experts, `[experts · hidden, intermediate]`.
    ExpertsDown,
    /// The same, each transposed: `[experts · intermediate, hidden]`.
    ExpertsDownTransposed,
    /// The bias of the experts' sum.
    ExpertsBias,
    /// The projection of a token's first vector to the further inputs of all layers.
    PerLayerInput,
    /// The norm of each of these inputs.
    PerLayerInputNorm,
    /// The gate of a layer's further input.
    PerLayerGate,
    /// The layer that adds the gated input to the hidden state.
    PerLayerProjection,
    /// The norm of what is added.
    PerLayerNorm,
    /// The factor on a layer's output, a single number.
    LayerScale,
    /// The linear layer after the final norm.
    FinalProjection,
}

impl Tensor {
    /// The input of the linear layer; `None` for other tensors.
    const fn input(self) -> Option<LayerInput> {
        match self {
            Self::Query | Self::Key | Self::Value | Self::QueryKeyValue => {
                Some(LayerInput::Attention)
            }
            Self::AttentionOutput => Some(LayerInput::AttentionOutput),
            Self::Gate | Self::Up | Self::GateUp | Self::UpGate | Self::ExpertsUp => {
                Some(LayerInput::Intermediate)
            }
            Self::Down | Self::ExpertsDown => Some(LayerInput::Output),
            Self::PerLayerInput => Some(LayerInput::PerLayerInput),
            Self::PerLayerGate => Some(LayerInput::PerLayerGate),
            Self::PerLayerProjection => Some(LayerInput::PerLayerProjection),
            _ => None,
        }
    }

    /// Returns true for the weights of norms.
    #[must_use]
    pub const fn is_norm(self) -> bool {
        matches!(
            self,
            Self::EmbeddingNorm
                | Self::RelativeNorm
                | Self::AttentionNorm
                | Self::QueryNorm
                | Self::KeyNorm
                | Self::AttentionEndNorm
                | Self::FeedForwardNorm
                | Self::FeedForwardEndNorm
                | Self::PerLayerInputNorm
                | Self::PerLayerNorm
                | Self::Norm
        )
    }

    /// Returns true for tables of vectors, which have no biases.
    pub(crate) const fn is_table(self) -> bool {
        matches!(
            self,
            Self::Embeddings | Self::Positions | Self::TokenTypes | Self::RelativeVectors
        )
    }

    /// Returns true if models with these settings have, or may have, such a tensor.
    pub(crate) const fn is_in(self, config: &Config) -> bool {
        match self {
            Self::Positions => config.embedding.positions.is_some(),
            Self::TokenTypes => config.embedding.token_types,
            Self::RelativeBias => config.buckets().is_some(),
            Self::RelativeVectors => config.disentangled().is_some(),
            Self::RelativeNorm => matches!(config.disentangled(), Some(it) if it.norm),
            Self::EmbeddingNorm => config.embedding.norm,
            Self::Projection => config.embedding.projected.is_some(),
            Self::Norm => config.final_norm,
            Self::QueryNorm | Self::KeyNorm => config.attention.query_key_norm.is_some(),
            Self::PerLayerInput
            | Self::PerLayerInputNorm
            | Self::PerLayerGate
            | Self::PerLayerProjection
            | Self::PerLayerNorm
            | Self::LayerScale => config.per_layer.is_some(),
            Self::FinalProjection => config.final_projection.is_some(),
            Self::AttentionEndNorm => matches!(config.order, Order::Sandwich | Order::PostTwice),
            Self::FeedForwardEndNorm => matches!(config.order, Order::Sandwich),
            Self::Gate | Self::GateUp | Self::UpGate => {
                matches!(config.feed_forward, FeedForward::Gated(_))
            }
            Self::Router
            | Self::ExpertsUp
            | Self::ExpertsDown
            | Self::ExpertsDownTransposed
            | Self::ExpertsBias => matches!(config.feed_forward, FeedForward::Mixed(_)),
            _ => true,
        }
    }
}

/// The names of a family's tensors, without `.weight` or `.bias`; parameters without a module have
/// neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// The prefix before the number of a layer.
    pub layers: &'static str,
    /// Names by role. Those that begin with a dot follow the number of a layer. Tensors that no
    /// model of the family has are not listed. Of several names of a tensor, the first that a file
    /// has counts.
    pub tensors: &'static [(Tensor, &'static str)],
}

/// The parts of a tensor's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorName<'n> {
    /// The role.
    pub tensor: Tensor,
    /// The number of its layer, as spelled; `None` outside layers.
    pub layer: Option<&'n str>,
    /// The suffix after the name: `.weight`, `.bias`, or nothing.
    pub kind: &'n str,
}

/// Hugging Face's names of Llama-like models, with a prefix, and those that only some models have.
macro_rules! llama_names {
    ($prefix:literal, [$($further:expr),* $(,)?]) => {
        Names {
            layers: concat!($prefix, "layers."),
            tensors: &[
                (Tensor::Embeddings, concat!($prefix, "embed_tokens")),
                (Tensor::Norm, concat!($prefix, "norm")),
                (Tensor::AttentionNorm, ".input_layernorm"),
                (Tensor::Query, ".self_attn.q_proj"),
                (Tensor::Key, ".self_attn.k_proj"),
                (Tensor::Value, ".self_attn.v_proj"),
                (Tensor::QueryNorm, ".self_attn.q_norm"),
                (Tensor::KeyNorm, ".self_attn.k_norm"),
                (Tensor::AttentionOutput, ".self_attn.o_proj"),
                (Tensor::Gate, ".mlp.gate_proj"),
                (Tensor::Up, ".mlp.up_proj"),
                (Tensor::Down, ".mlp.down_proj"),
                $($further,)*
            ],
        }
    };
}
/// The names of models that also norm the outputs of attention and feed-forward layer: Gemma's.
macro_rules! sandwich_names {
    ($prefix:literal, [$($further:expr),* $(,)?]) => {
        llama_names!($prefix, [
            (Tensor::AttentionEndNorm, ".post_attention_layernorm"),
            (Tensor::FeedForwardNorm, ".pre_feedforward_layernorm"),
            (Tensor::FeedForwardEndNorm, ".post_feedforward_layernorm"),
            $($further,)*
        ])
    };
}
pub(super) use {llama_names, sandwich_names};

const MISSING: Error = Error::without_offset(ErrorKind::MissingTensor);

impl Names {
    /// The name of a tensor, the first of several; it follows the number of a layer if it begins
    /// with a dot.
    #[must_use]
    pub fn name_of(&self, tensor: Tensor) -> Option<&'static str> {
        self.names_of(tensor).next()
    }

    /// All names of a tensor, as [`name_of`](Self::name_of).
    pub fn names_of(&self, tensor: Tensor) -> impl Iterator<Item = &'static str> {
        let names = self.tensors.iter().filter(move |(known, _)| *known == tensor);
        names.map(|(_, name)| *name)
    }

    /// The parts of the name of a tensor; `None` for names that are not listed.
    #[must_use]
    pub fn parts<'n>(&self, name: &'n str) -> Option<TensorName<'n>> {
        // `rsplit_once` could panic as far as the linker knows.
        let dot = name.bytes().rposition(|byte| byte == b'.')?;
        let (part, kind) = (name.get(..dot)?, name.get(dot..)?);
        self.parts_of(part, kind).or_else(|| self.parts_of(name, ""))
    }

    /// The parts of the name `part` with the suffix `kind`.
    fn parts_of<'n>(&self, part: &'n str, kind: &'n str) -> Option<TensorName<'n>> {
        let (layer, part) = match part.strip_prefix(self.layers) {
            Some(rest) => {
                let (layer, part) = rest.split_at_checked(rest.find('.')?)?;
                (Some(layer), part)
            }
            None => (None, part),
        };
        let (tensor, _) = self.tensors.iter().find(|(_, known)| *known == part)?;
        let is_of_layer = part.starts_with('.');
        (is_of_layer == layer.is_some()).then_some(TensorName { tensor: *tensor, layer, kind })
    }

    /// Calls `put` with the pieces of a tensor's name in this family; `None` if it has none.
    pub fn spell(&self, name: &TensorName<'_>, put: &mut dyn FnMut(&str)) -> Option<()> {
        let own = self.name_of(name.tensor)?;
        if own.starts_with('.') {
            [self.layers, name.layer?].into_iter().for_each(&mut *put);
        }
        [own, name.kind].into_iter().for_each(put);
        Some(())
    }

    /// The layer and the input to which the linear layer with the weight `name` is applied; `None`
    /// for other tensors. Of layers that share their weights, it is the first.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<(usize, LayerInput)> {
        let TensorName { tensor, layer, kind } = self.parts(name)?;
        let layer = layer.map_or(Some(0), |layer| layer.parse().ok())?;
        if kind != ".bias" { Some((layer, tensor.input()?)) } else { None }
    }

    /// Returns true if all layers have the same weights: no name follows the number of a layer.
    #[must_use]
    pub fn shares_layers(&self) -> bool {
        !self.tensors.iter().any(|(_, name)| name.starts_with('.'))
    }

    /// Returns true if the tensor `name` is the token table.
    #[must_use]
    pub fn is_embeddings(&self, name: &str) -> bool {
        let name = name.strip_suffix(".weight");
        self.names_of(Tensor::Embeddings).any(|known| name == Some(known))
    }

    /// Locates the weight (or the `kind`) of a tensor, if it exists.
    pub(super) fn find(
        &self,
        weights: &(impl Weights + ?Sized),
        (tensor, kind): (Tensor, &str),
        layer: usize,
    ) -> Result<Option<Matrix>> {
        for name in self.names_of(tensor) {
            let mut whole = Name::new("");
            if name.starts_with('.') {
                whole.push(self.layers);
                whole.push_number(layer);
            }
            whole.push(name);
            whole.push(kind);
            let found = weights.matrix(whole.as_str())?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// As `find`, with the shape that the model's sizes require; an error if it is missing.
    pub(super) fn get(
        &self,
        weights: &(impl Weights + ?Sized),
        tensor: Tensor,
        layer: usize,
        (rows, cols): (usize, usize),
    ) -> Result<Matrix> {
        let found = self.find(weights, (tensor, ".weight"), layer)?.ok_or(MISSING)?;
        checked_shape(found, rows, cols)
    }

    /// As `find`, for a parameter without a module in checkpoints, a weight in GGUF.
    fn parameter(
        &self,
        weights: &(impl Weights + ?Sized),
        tensor: Tensor,
        layer: usize,
    ) -> Result<Option<Matrix>> {
        match self.find(weights, (tensor, ""), layer)? {
            None => self.find(weights, (tensor, ".weight"), layer),
            found => Ok(found),
        }
    }

    fn has(&self, weights: &(impl Weights + ?Sized), tensor: Tensor, layer: usize) -> Result<bool> {
        self.find(weights, (tensor, ".weight"), layer).map(|found| found.is_some())
    }

    /// A bias of `elements` elements, if there is one.
    fn bias(
        &self,
        weights: &(impl Weights + ?Sized),
        tensor: Tensor,
        layer: usize,
        elements: usize,
    ) -> Result<Matrix> {
        match self.find(weights, (tensor, ".bias"), layer)? {
            Some(bias) => checked_shape(bias, 1, elements),
            None => Ok(Matrix::EMPTY),
        }
    }

    pub(super) fn norm(
        &self,
        weights: &(impl Weights + ?Sized),
        config: &Config,
        (tensor, layer): (Tensor, usize),
        elements: usize,
    ) -> Result<Norm> {
        let weight = self.get(weights, tensor, layer, (1, elements))?;
        let bias = match config.norm {
            NormKind::Layer => self.bias(weights, tensor, layer, elements)?,
            NormKind::Rms { .. } => Matrix::EMPTY,
        };
        Ok(Norm { weight, bias })
    }

    /// Locates the tensors of a layer that the settings require. Biases may be missing. Writes the
    /// result in place: a layer is large for a small stack.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`], [`ErrorKind::WrongShape`] and any error from
    /// [`Weights::matrix`]; [`ErrorKind::UnsupportedSetting`] for a first norm that the model
    /// should not have.
    pub(super) fn locate(
        &self,
        into: &mut Layer,
        weights: &(impl Weights + ?Sized),
        config: &Config,
        layer: usize,
    ) -> Result<()> {
        *into = Layer::EMPTY;
        let Config { hidden, intermediate, .. } = *config;
        let heads = config.heads_in(layer);
        let (queries, keys, size) = (heads.width(), heads.key_width(), heads.size);
        let linear = |into: &mut Linear, tensor, rows, cols| -> Result<()> {
            into.weight = self.get(weights, tensor, layer, (rows, cols))?;
            into.bias = self.bias(weights, tensor, layer, rows)?;
            Ok(())
        };
        let all = |into: &mut Rows, tensor, rows, cols| -> Result<()> {
            into.count = rows;
            linear(&mut into.linear, tensor, rows, cols)
        };
        let has = |tensor| self.has(weights, tensor, layer);
        let norm = |into: &mut Norm, tensor, elements| -> Result<()> {
            *into = self.norm(weights, config, (tensor, layer), elements)?;
            Ok(())
        };
        let Layer { query, key, value, up, .. } = into;
        if has(Tensor::QueryKeyValue)? {
            linear(&mut query.linear, Tensor::QueryKeyValue, queries + 2 * keys, hidden)?;
            (key.linear, value.linear) = (query.linear, query.linear);
            (query.first, query.count) = (0, queries);
            (key.first, key.count) = (queries, keys);
            (value.first, value.count) = (queries + keys, keys);
        } else {
            all(query, Tensor::Query, queries, hidden)?;
            all(key, Tensor::Key, keys, hidden)?;
            all(value, Tensor::Value, keys, hidden)?;
        }
        let mut none = [Rows::EMPTY; !FAMILIES as usize];
        let gate = into.further.iter_mut().map(|further| &mut further.gate);
        let gate = gate.chain(&mut none).next().ok_or(MISSING)?;
        match config.feed_forward {
            FeedForward::Mixed(mixture) if mixture.is_in(layer) => {}
            FeedForward::Plain(_) | FeedForward::Mixed(_) => {
                all(up, Tensor::Up, intermediate, hidden)?;
            }
            FeedForward::Gated(_) => match self.fused(weights, layer)? {
                Some((tensor, gate_is_first)) => {
                    linear(&mut up.linear, tensor, 2 * intermediate, hidden)?;
                    gate.linear = up.linear;
                    (gate.count, up.count) = (intermediate, intermediate);
                    let second = if gate_is_first { up } else { gate };
                    second.first = intermediate;
                }
                None => {
                    all(gate, Tensor::Gate, intermediate, hidden)?;
                    all(up, Tensor::Up, intermediate, hidden)?;
                }
            },
        }
        if config.first_norm || layer > 0 {
            norm(&mut into.attention_norm, Tensor::AttentionNorm, hidden)?;
        } else {
            check_presence(self.find(weights, (Tensor::AttentionNorm, ".weight"), layer)?, false)?;
        }
        if let Some(further) = into.further.first_mut() {
            if Tensor::AttentionEndNorm.is_in(config) {
                norm(&mut further.attention_end_norm, Tensor::AttentionEndNorm, hidden)?;
            }
            if config.order == Order::Sandwich {
                norm(&mut further.feed_forward_end_norm, Tensor::FeedForwardEndNorm, hidden)?;
            }
            if let Some(normed) = config.attention.query_key_norm {
                let (query, key) = match normed {
                    QueryKeyNorm::Head => (size, size),
                    QueryKeyNorm::Vector => (queries, keys),
                };
                norm(&mut further.query_norm, Tensor::QueryNorm, query)?;
                norm(&mut further.key_norm, Tensor::KeyNorm, key)?;
            }
        }
        linear(&mut into.attention_output, Tensor::AttentionOutput, hidden, queries)?;
        norm(&mut into.feed_forward_norm, Tensor::FeedForwardNorm, hidden)?;
        match config.mixture_in(layer) {
            Some(mixture) => self.experts(into, weights, (config, mixture), layer)?,
            None => linear(&mut into.down, Tensor::Down, hidden, intermediate)?,
        }
        if let (Some(elements), Some(further)) = (config.per_layer, into.further.first_mut()) {
            let PerLayer { input, input_norm, gate, projection, norm: end, scale } =
                &mut further.per_layer;
            let all = self.get(
                weights,
                Tensor::PerLayerInput,
                layer,
                (config.layers.saturating_mul(elements), hidden),
            )?;
            *input = Rows::part(all, layer.saturating_mul(elements), elements);
            norm(input_norm, Tensor::PerLayerInputNorm, elements)?;
            linear(gate, Tensor::PerLayerGate, elements, hidden)?;
            linear(projection, Tensor::PerLayerProjection, hidden, elements)?;
            norm(end, Tensor::PerLayerNorm, hidden)?;
            let found = self.parameter(weights, Tensor::LayerScale, layer)?;
            *scale = checked_shape(found.ok_or(MISSING)?, 1, 1)?;
        }
        into.join(weights)
    }

    /// Locates the tensors of a layer's mixture of experts. The bias may be missing.
    fn experts(
        &self,
        into: &mut Layer,
        weights: &(impl Weights + ?Sized),
        (config, mixture): (&Config, &Mixture),
        layer: usize,
    ) -> Result<()> {
        let Config { hidden, intermediate, .. } = *config;
        let count = mixture.experts;
        let find = |tensor| self.parameter(weights, tensor, layer);
        let up = find(Tensor::ExpertsUp)?.ok_or(MISSING)?;
        into.up.linear.weight = up.stacked(count, (intermediate, hidden))?;
        into.up.count = into.up.linear.weight.rows;
        let shape = (hidden, intermediate);
        into.down.weight = match find(Tensor::ExpertsDown)? {
            Some(down) => down.stacked(count, shape)?,
            None => {
                let stored = find(Tensor::ExpertsDownTransposed)?.ok_or(MISSING)?;
                stored.transposed(count, shape)?
            }
        };
        let Experts { router, bias } = match into.further.first_mut() {
            Some(further) => &mut further.experts,
            None => return Err(MISSING),
        };
        router.weight = self.get(weights, Tensor::Router, layer, (count, hidden))?;
        *bias = self.bias(weights, Tensor::ExpertsBias, layer, hidden)?;
        Ok(())
    }

    /// The matrix that contains gate and up of a layer, and whether the gate is its first half.
    fn fused(
        &self,
        weights: &(impl Weights + ?Sized),
        layer: usize,
    ) -> Result<Option<(Tensor, bool)>> {
        for (tensor, gate_is_first) in [(Tensor::GateUp, true), (Tensor::UpGate, false)] {
            if self.has(weights, tensor, layer)? {
                return Ok(Some((tensor, gate_is_first)));
            }
        }
        // In GGUF, Phi-3's fused matrix has the name of Llama's up matrix.
        let is_up = !self.has(weights, Tensor::Gate, layer)?;
        Ok(is_up.then_some((Tensor::Up, true)))
    }
}

fn checked_shape(matrix: Matrix, rows: usize, cols: usize) -> Result<Matrix> {
    let fits = (matrix.rows, matrix.cols) == (rows, cols);
    if fits { Ok(matrix) } else { Err(Error::new(matrix.offset, ErrorKind::WrongShape)) }
}

impl<L: AsRef<[Layer]> + AsMut<[Layer]> + Sync> Transformer<L> {
    /// Locates the tensors of an encoder with any settings under the names of its family. `layers`
    /// must have room for `config.layers`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`], [`ErrorKind::WrongShape`] and any error from
    /// [`Weights::matrix`]; [`ErrorKind::BufferTooSmall`] if `layers` is too short;
    /// [`ErrorKind::UnsupportedArchitecture`] for settings that are not compiled in.
    pub fn from_family(
        weights: &(impl Weights + ?Sized),
        config: Config,
        names: &Names,
        mut layers: L,
    ) -> Result<Self> {
        if !config.is_built_in() {
            return Err(Error::without_offset(ErrorKind::UnsupportedArchitecture));
        }
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        let slots = layers.as_mut().get_mut(..config.layers).ok_or(too_small)?;
        for (index, slot) in slots.iter_mut().enumerate() {
            names.locate(slot, weights, &config, index)?;
        }
        Layer::number_summaries(slots);
        let Config { hidden, vocabulary, embedding, .. } = config;
        let width = config.table_width();
        let table = |is_there: bool, tensor, least| {
            if !is_there {
                return Ok(Matrix::EMPTY);
            }
            let found = names.find(weights, (tensor, ".weight"), 0)?.ok_or(MISSING)?;
            checked_shape(found, found.rows.max(least), width)
        };
        let norm = |is_there, tensor, elements| match is_there {
            true => names.norm(weights, &config, (tensor, 0), elements),
            false => Ok(Norm::EMPTY),
        };
        let mut projection = [Linear::EMPTY; FAMILIES as usize];
        if let (Some(into), Some(_)) = (projection.first_mut(), embedding.projected) {
            into.weight = names.get(weights, Tensor::Projection, 0, (hidden, width))?;
            let bias = names.find(weights, (Tensor::Projection, ".bias"), 0)?.ok_or(MISSING)?;
            into.bias = checked_shape(bias, 1, hidden)?;
        }
        let mut relative_norm = [Norm::EMPTY; FAMILIES as usize];
        if let Some(into) = relative_norm.first_mut() {
            let is_there = Tensor::RelativeNorm.is_in(&config);
            *into = norm(is_there, Tensor::RelativeNorm, hidden)?;
        }
        let positions = embedding.positions.map_or(0, |first| config.positions + first);
        Ok(Self {
            word: names.get(weights, Tensor::Embeddings, 0, (vocabulary, width))?,
            position: table(embedding.positions.is_some(), Tensor::Positions, positions)?,
            token_type: table(embedding.token_types, Tensor::TokenTypes, 1)?,
            relative: match config.relative() {
                Some(Relative::Buckets(relative)) => {
                    let shape = (relative.buckets, config.heads.query);
                    names.get(weights, Tensor::RelativeBias, 0, shape)?
                }
                Some(Relative::Disentangled(relative)) => {
                    let shape = (relative.rows(), hidden);
                    names.get(weights, Tensor::RelativeVectors, 0, shape)?
                }
                Some(Relative::Alibi) | None => Matrix::EMPTY,
            },
            relative_norm,
            projection,
            norm: norm(embedding.norm, Tensor::EmbeddingNorm, width)?,
            final_norm: norm(config.final_norm, Tensor::Norm, hidden)?,
            config,
            layers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::config::Activation;
    use crate::model::pass::cached::Llama;
    use crate::model::weights::SliceWeights;
    use crate::tensor::TensorHeader;

    /// The portable kernels then have no gated activation.
    #[test]
    fn gated_models_are_refused_where_families_are_left_out() {
        let names = Names { layers: "layers.", tensors: &[] };
        let weights = SliceWeights::new(&[], |_| None::<TensorHeader<'static>>);
        let expected =
            if FAMILIES { ErrorKind::MissingTensor } else { ErrorKind::UnsupportedArchitecture };
        let feed_forward = FeedForward::Gated(Activation::Silu);
        let config = Config { layers: 1, feed_forward, ..Config::BERT };
        let encoder = Transformer::from_family(&weights, config, &names, [Layer::EMPTY; 1]);
        assert_eq!(encoder.err().map(|error| error.kind()), Some(expected));
        let decoder = Llama::from_family(&weights, Config::LLAMA, &names, [Layer::EMPTY; 0]);
        assert_eq!(decoder.err().map(|error| error.kind()), Some(expected));
    }
}
