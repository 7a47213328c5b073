//! The BERT encoder: embeddings, post-norm transformer layers, pooling.
//!
//! One pass of a layer goes over the data twice, each time in parts that a host may run on several
//! threads:
//!
//! 1. by heads: a head's queries, keys and values from its rows of the weights, then its attention.
//!    The context is stored head by head;
//! 2. by blocks of tokens: the attention's output layer, residual and norm, feed-forward layers,
//!    residual and norm.
//!
//! Several texts are packed into one list of tokens: the weights stream by once for all of them,
//! attention stays within each text, and nothing is padded.

use super::check::{EmbeddingTensor, LayerTensor, locate};
use super::config::BertConfig;
use super::linear::{Linear, take_same_codes};
use super::parallel::{InOrder, Parallel, split_off};
use super::pass::Pass;
use super::pool::pool;
use super::summaries;
use super::weights::{Matrix, Weights};
use super::workspace::{Plan, Workspace};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{Kernels, RowSummary};

/// Weight and bias of a layer norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Norm {
    pub(super) weight: Matrix,
    pub(super) bias: Matrix,
}

impl Norm {
    const EMPTY: Self = Self { weight: Matrix::EMPTY, bias: Matrix::EMPTY };
}

/// Where the tensors of one layer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    pub(super) query: Linear,
    pub(super) key: Linear,
    pub(super) value: Linear,
    pub(super) attention_output: Linear,
    pub(super) attention_norm: Norm,
    pub(super) intermediate: Linear,
    pub(super) output: Linear,
    pub(super) output_norm: Norm,
    /// Whether queries, keys and values can be computed with quantised activations.
    pub(super) integer_attention: bool,
    /// The columns of a group if queries, keys and values are all in blocks of the same groups.
    pub(super) attention_group: Option<usize>,
}

impl Layer {
    /// A placeholder, to make the array that [`Bert::open`] fills.
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

    pub(super) fn locate(
        weights: &(impl Weights + ?Sized),
        config: &BertConfig,
        layer: usize,
    ) -> Result<Self> {
        let find = |tensor: LayerTensor| {
            locate(weights, config, tensor.name(layer).as_str(), tensor.shape())
        };
        let linear = |weight, bias| Ok(Linear::new(find(weight)?, find(bias)?));
        let norm = |weight, bias| Ok(Norm { weight: find(weight)?, bias: find(bias)? });
        use LayerTensor as T;
        let mut layer = Self {
            integer_attention: false,
            attention_group: None,
            query: linear(T::QueryWeight, T::QueryBias)?,
            key: linear(T::KeyWeight, T::KeyBias)?,
            value: linear(T::ValueWeight, T::ValueBias)?,
            attention_output: linear(T::AttentionOutputWeight, T::AttentionOutputBias)?,
            attention_norm: norm(T::AttentionNormWeight, T::AttentionNormBias)?,
            intermediate: linear(T::IntermediateWeight, T::IntermediateBias)?,
            output: linear(T::OutputWeight, T::OutputBias)?,
            output_norm: norm(T::OutputNormWeight, T::OutputNormBias)?,
        };
        layer.integer_attention = layer.take_same_codes(weights)?;
        let group = layer.query.group();
        let same = layer.key.group() == group && layer.value.group() == group;
        layer.attention_group = group.filter(|_| same);
        Ok(layer)
    }
}

impl Layer {
    /// Whether queries, keys and values all take the same codes.
    fn take_same_codes(&self, weights: &(impl Weights + ?Sized)) -> Result<bool> {
        let all = [&self.query, &self.key, &self.value];
        if !all.iter().all(|linear| linear.takes_codes()) {
            return Ok(false);
        }
        let [query, key, value] = all.map(|linear| &linear.weight);
        Ok(take_same_codes(weights, query, key)? && take_same_codes(weights, query, value)?)
    }

    pub(super) const fn linear_layers(&self) -> [&Linear; 6] {
        let Self { query, key, value, attention_output, intermediate, output, .. } = self;
        [query, key, value, attention_output, intermediate, output]
    }

    pub(super) const fn linear_layers_mut(&mut self) -> [&mut Linear; 6] {
        let Self { query, key, value, attention_output, intermediate, output, .. } = self;
        [query, key, value, attention_output, intermediate, output]
    }

    /// Whether any of the linear layers is in blocks.
    fn has_blocks(&self) -> bool {
        self.linear_layers().iter().any(|linear| linear.group().is_some())
    }

    /// Whether any of the linear layers takes codes of evened out columns.
    fn is_calibrated(&self) -> bool {
        [&self.value, &self.intermediate, &self.output]
            .iter()
            .any(|linear| linear.takes_codes() && linear.weight.column_offset.is_some())
    }
}

/// A BERT encoder: its sizes, and where its tensors lie in the file.
///
/// `L` holds one [`Layer`] per layer: a slice, an array or a `Vec`.
#[derive(Clone, Copy, Debug)]
pub struct Bert<L> {
    pub(super) config: BertConfig,
    pub(super) word: Matrix,
    pub(super) position: Matrix,
    pub(super) token_type: Matrix,
    pub(super) norm: Norm,
    pub(super) layers: L,
}

/// What the linear layers of a transformer layer are applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LayerInput {
    /// Of queries, keys and values: `[tokens, hidden]`.
    Attention,
    /// Of the attention's output layer: `[tokens, hidden]`.
    AttentionOutput,
    /// Of the first feed-forward layer: `[tokens, hidden]`.
    Intermediate,
    /// Of the second feed-forward layer: `[tokens, intermediate]`.
    Output,
}

impl LayerInput {
    /// Elements of a row.
    #[must_use]
    pub const fn cols(self, config: &BertConfig) -> usize {
        match self {
            Self::Output => config.intermediate,
            _ => config.hidden,
        }
    }
}

/// Some rows that a linear layer is applied to.
#[derive(Clone, Copy, Debug)]
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

/// What a model runs with.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a, W: ?Sized, P: ?Sized = InOrder> {
    /// Where the weights come from: the source that the model was opened with.
    pub weights: &'a W,
    /// The kernels, for example those of [`kernel::detect`](crate::kernel::detect).
    pub kernels: &'a Kernels,
    /// What these kernels want to know of the weights, by [`Bert::summarize`] with the same
    /// kernels; or nothing, and they find it out again and again.
    pub summaries: &'a [RowSummary],
    /// How the parts of the work are run.
    pub parallel: &'a P,
}

impl<'a, W: ?Sized> Run<'a, W> {
    /// On the calling thread.
    pub const fn new(weights: &'a W, kernels: &'a Kernels) -> Self {
        Self { weights, kernels, summaries: &[], parallel: &InOrder }
    }
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// What [`Bert::plan`] says of a model of these sizes, before there is memory for its layers.
///
/// # Errors
///
/// As [`Bert::open`].
pub fn plan(weights: &(impl Weights + ?Sized), config: &BertConfig, tokens: usize) -> Result<Plan> {
    let (mut calibrated, mut grouped) = (false, false);
    for index in 0..config.layers {
        let layer = Layer::locate(weights, config, index)?;
        calibrated |= layer.is_calibrated();
        grouped |= layer.has_blocks();
    }
    Ok(Plan { quantized: grouped || calibrated, grouped, ..Plan::new(tokens) })
}

impl<L: AsRef<[Layer]> + Sync> Bert<L> {
    /// Finds the tensors of a model of these sizes. `layers` must have room for `config.layers`.
    ///
    /// Nothing but the index is read; [`check`](super::check::check) reports all findings where
    /// this stops at the first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`], [`ErrorKind::WrongShape`], [`ErrorKind::TransposedWeights`],
    /// [`ErrorKind::BadScale`]; [`ErrorKind::BufferTooSmall`] if `layers` is too short.
    pub fn open(
        weights: &(impl Weights + ?Sized),
        config: BertConfig,
        mut layers: L,
    ) -> Result<Self>
    where
        L: AsMut<[Layer]>,
    {
        let slots = layers.as_mut().get_mut(..config.layers).ok_or(TOO_SMALL)?;
        for (index, slot) in slots.iter_mut().enumerate() {
            *slot = Layer::locate(weights, &config, index)?;
        }
        summaries::number(slots);
        use EmbeddingTensor as T;
        let find = |tensor: T| locate(weights, &config, tensor.name(), tensor.shape());
        Ok(Self {
            word: find(T::Word)?,
            position: find(T::Position)?,
            token_type: find(T::TokenType)?,
            norm: Norm { weight: find(T::NormWeight)?, bias: find(T::NormBias)? },
            config,
            layers,
        })
    }

    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &BertConfig {
        &self.config
    }

    /// A plan for `tokens` on one thread with weights in memory, as the model was made to run: with
    /// quantised activations if its 8-bit weights have column scales, that is if it was calibrated
    /// for them, or if it has weights in blocks, whose groups are small enough; otherwise in f32.
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        let layers = || self.layers.as_ref().iter().take(self.config.layers);
        let grouped = layers().any(Layer::has_blocks);
        let quantized = grouped || layers().any(Layer::is_calibrated);
        Plan { quantized, grouped, ..Plan::new(tokens) }
    }

    /// The embedding of one text, into `out` of `hidden` elements.
    ///
    /// # Errors
    ///
    /// As [`embed_batch`](Self::embed_batch).
    pub fn embed<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        workspace: &mut Workspace<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        self.embed_batch(run, ids, &[ids.len()], workspace, out)
    }

    /// The embeddings of several texts, one row of `hidden` elements each, into `out`.
    ///
    /// `ids` holds the token ids of all texts (special tokens included) one after the other,
    /// `lengths` how many each has. As many texts as the workspace has room for are computed
    /// together.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`]; [`ErrorKind::TooManyTokens`] for a text with more tokens
    /// than positions; [`ErrorKind::BufferTooSmall`] for one with more than the workspace was made
    /// for; [`ErrorKind::InvalidArgument`] for one without tokens, or if the lengths do not add up;
    /// and what reading the weights may fail with.
    pub fn embed_batch<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        lengths: &[usize],
        workspace: &mut Workspace<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        self.embed_observed(run, ids, lengths, workspace, out, &|_| {})
    }

    /// As [`embed_batch`](Self::embed_batch), showing `observe` what every linear layer is applied
    /// to.
    ///
    /// Meant for calibration: what the activations of a float model look like decides how its
    /// weights are quantised.
    ///
    /// # Errors
    ///
    /// As [`embed_batch`](Self::embed_batch).
    pub fn embed_observed<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        lengths: &[usize],
        workspace: &mut Workspace<'_>,
        out: &mut [f32],
        observe: &Observer<'_>,
    ) -> Result<()> {
        self.check_texts(ids, lengths, workspace.layout.tokens, out.len())?;
        let invalid = Error::without_offset(ErrorKind::InvalidArgument);
        let (mut ids, mut lengths, mut out) = (ids, lengths, out);
        while !lengths.is_empty() {
            let (texts, tokens) = pack(lengths, workspace.layout.tokens);
            let (these, rest) = ids.split_at_checked(tokens).ok_or(invalid)?;
            let (these_lengths, rest_lengths) = lengths.split_at_checked(texts).ok_or(invalid)?;
            let these_out = split_off(&mut out, texts * self.config.hidden).ok_or(TOO_SMALL)?;
            Pass::run(self, run, observe, these, these_lengths, workspace)?;
            let mut hidden = &*workspace.hidden;
            for (length, out) in
                these_lengths.iter().zip(these_out.chunks_exact_mut(self.config.hidden.max(1)))
            {
                let (text, rest) =
                    hidden.split_at_checked(length * self.config.hidden).ok_or(invalid)?;
                pool(&self.config, text, out);
                hidden = rest;
            }
            (ids, lengths) = (rest, rest_lengths);
        }
        Ok(())
    }

    fn check_texts(&self, ids: &[u32], lengths: &[usize], room: usize, out: usize) -> Result<()> {
        let error = |kind| Err(Error::without_offset(kind));
        let mut total = 0_usize;
        for &length in lengths {
            if length > self.config.positions {
                return error(ErrorKind::TooManyTokens);
            }
            if length > room {
                return error(ErrorKind::BufferTooSmall);
            }
            if length == 0 {
                return error(ErrorKind::InvalidArgument);
            }
            total = total.saturating_add(length);
        }
        if total != ids.len() || lengths.len().checked_mul(self.config.hidden) != Some(out) {
            return error(ErrorKind::InvalidArgument);
        }
        if ids.iter().any(|&id| id as usize >= self.config.vocabulary) {
            return error(ErrorKind::TokenOutOfRange);
        }
        Ok(())
    }
}

/// How many of the first texts fit `room` tokens (at least one), and their tokens.
fn pack(lengths: &[usize], room: usize) -> (usize, usize) {
    let (mut texts, mut tokens) = (0, 0);
    for &length in lengths {
        if texts > 0 && tokens + length > room {
            break;
        }
        texts += 1;
        tokens += length;
    }
    (texts, tokens)
}
