//! The BERT encoder: embeddings, post-norm transformer layers, pooling.
//!
//! One pass of a layer goes over the data twice, each time in parts that a host may run on several threads:
//!
//! 1. by heads: a head's queries, keys and values from its rows of the weights, then its attention. The context is
//!    stored head by head;
//! 2. by blocks of tokens: the attention's output layer, residual and norm, feed-forward layers, residual and norm.
//!
//! Several texts are packed into one list of tokens: the weights stream by once for all of them, attention stays
//! within each text, and nothing is padded.

use super::attention::{Head, attend};
use super::check::{EmbeddingTensor, LayerTensor, locate};
use super::config::BertConfig;
use super::linear::{Linear, Staging, apply, read_row, read_vector};
use super::parallel::{InOrder, Parallel, Part, Parts, split_off};
use super::pool::pool;
use super::weights::{Matrix, Weights};
use super::workspace::{Layout, Workspace};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{Kernels, Strides};

/// Weight and bias of a layer norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Norm {
    weight: Matrix,
    bias: Matrix,
}

impl Norm {
    const EMPTY: Self = Self { weight: Matrix::EMPTY, bias: Matrix::EMPTY };
}

/// Where the tensors of one layer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attention_output: Linear,
    attention_norm: Norm,
    intermediate: Linear,
    output: Linear,
    output_norm: Norm,
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
    };

    fn locate(
        weights: &(impl Weights + ?Sized),
        config: &BertConfig,
        layer: usize,
    ) -> Result<Self> {
        let find = |tensor: LayerTensor| {
            locate(weights, config, tensor.name(layer).as_str(), tensor.shape())
        };
        let linear = |weight, bias| Ok(Linear { weight: find(weight)?, bias: find(bias)? });
        let norm = |weight, bias| Ok(Norm { weight: find(weight)?, bias: find(bias)? });
        use LayerTensor as T;
        Ok(Self {
            query: linear(T::QueryWeight, T::QueryBias)?,
            key: linear(T::KeyWeight, T::KeyBias)?,
            value: linear(T::ValueWeight, T::ValueBias)?,
            attention_output: linear(T::AttentionOutputWeight, T::AttentionOutputBias)?,
            attention_norm: norm(T::AttentionNormWeight, T::AttentionNormBias)?,
            intermediate: linear(T::IntermediateWeight, T::IntermediateBias)?,
            output: linear(T::OutputWeight, T::OutputBias)?,
            output_norm: norm(T::OutputNormWeight, T::OutputNormBias)?,
        })
    }
}

/// A BERT encoder: its sizes, and where its tensors lie in the file.
///
/// `L` holds one [`Layer`] per layer: a slice, an array or a `Vec`.
#[derive(Clone, Copy, Debug)]
pub struct Bert<L> {
    config: BertConfig,
    word: Matrix,
    position: Matrix,
    token_type: Matrix,
    norm: Norm,
    layers: L,
}

/// What a model runs with.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a, W: ?Sized, P: ?Sized = InOrder> {
    /// Where the weights come from: the source that the model was opened with.
    pub weights: &'a W,
    /// The kernels, for example those of [`kernel::detect`](crate::kernel::detect).
    pub kernels: &'a Kernels,
    /// How the parts of the work are run.
    pub parallel: &'a P,
}

impl<'a, W: ?Sized> Run<'a, W> {
    /// On the calling thread.
    pub const fn new(weights: &'a W, kernels: &'a Kernels) -> Self {
        Self { weights, kernels, parallel: &InOrder }
    }
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl<L: AsRef<[Layer]> + Sync> Bert<L> {
    /// Finds the tensors of a model of these sizes. `layers` must have room for `config.layers`.
    ///
    /// Nothing but the index is read; [`check`](super::check::check) reports all findings where this stops at the first.
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
    /// `ids` holds the token ids of all texts (special tokens included) one after the other, `lengths` how many each
    /// has. As many texts as the workspace has room for are computed together.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`]; [`ErrorKind::TooManyTokens`] for a text with more tokens than positions;
    /// [`ErrorKind::BufferTooSmall`] for one with more than the workspace was made for;
    /// [`ErrorKind::InvalidArgument`] for one without tokens, or if the lengths do not add up;
    /// and what reading the weights may fail with.
    pub fn embed_batch<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        lengths: &[usize],
        workspace: &mut Workspace<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        self.check_texts(ids, lengths, workspace.layout.tokens, out.len())?;
        let invalid = Error::without_offset(ErrorKind::InvalidArgument);
        let (mut ids, mut lengths, mut out) = (ids, lengths, out);
        while !lengths.is_empty() {
            let (texts, tokens) = pack(lengths, workspace.layout.tokens);
            let (these, rest) = ids.split_at_checked(tokens).ok_or(invalid)?;
            let (these_lengths, rest_lengths) = lengths.split_at_checked(texts).ok_or(invalid)?;
            let these_out = split_off(&mut out, texts * self.config.hidden).ok_or(TOO_SMALL)?;
            self.forward(run, these, these_lengths, workspace)?;
            let mut hidden = &*workspace.hidden;
            for (length, out) in
                these_lengths.iter().zip(these_out.chunks_exact_mut(self.config.hidden))
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

    /// Runs all layers; the last hidden states are left in the workspace.
    fn forward<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        lengths: &[usize],
        workspace: &mut Workspace<'_>,
    ) -> Result<()> {
        let tokens = ids.len();
        let Workspace { layout, hidden, context, floats, bytes } = workspace;
        let size = tokens * self.config.hidden;
        let hidden = hidden.get_mut(..size).ok_or(TOO_SMALL)?;
        let context = context.get_mut(..size).ok_or(TOO_SMALL)?;
        let job_floats = layout.job_floats().ok_or(TOO_SMALL)?;
        let pass = Pass { model: self, run, layout, lengths, tokens };
        {
            let (floats, bytes) = (&mut **floats, &mut **bytes);
            pass.embeddings(ids, hidden, &mut staging(layout, floats, bytes)?.0)?;
        }
        let head_part = layout.heads * tokens * self.config.head();
        let block_part = tokens.div_ceil(layout.jobs) * self.config.hidden;
        for layer in self.layers.as_ref().iter().take(self.config.layers) {
            let parts =
                Parts::new((context, head_part), (floats, job_floats), (bytes, layout.tile));
            run.parallel.run(parts, &|part| pass.heads(layer, hidden, part))?;
            let parts =
                Parts::new((hidden, block_part), (floats, job_floats), (bytes, layout.tile));
            run.parallel.run(parts, &|part| pass.blocks(layer, context, part))?;
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

/// Takes what bringing weights in needs off a job's scratch memory; the rest comes back.
fn staging<'a>(
    layout: &Layout,
    mut floats: &'a mut [f32],
    tile: &'a mut [u8],
) -> Result<(Staging<'a>, &'a mut [f32])> {
    let vector = split_off(&mut floats, layout.vector).ok_or(TOO_SMALL)?;
    let converted = split_off(&mut floats, layout.converted).ok_or(TOO_SMALL)?;
    Ok((Staging { vector, converted, tile }, floats))
}

/// One pass of a pack of texts through the model.
struct Pass<'a, L, W: ?Sized, P: ?Sized> {
    model: &'a Bert<L>,
    run: &'a Run<'a, W, P>,
    layout: &'a Layout,
    lengths: &'a [usize],
    tokens: usize,
}

impl<L, W: Weights + ?Sized, P: ?Sized> Pass<'_, L, W, P> {
    /// Word + position + first token type, then layer norm.
    fn embeddings(&self, ids: &[u32], hidden: &mut [f32], staging: &mut Staging<'_>) -> Result<()> {
        let weights = self.run.weights;
        let model = self.model;
        let width = model.config.hidden;
        let mut rows = hidden.chunks_exact_mut(width);
        let mut ids = ids.iter();
        for &length in self.lengths {
            for (position, (&id, row)) in ids.by_ref().zip(rows.by_ref()).take(length).enumerate() {
                let other = staging.converted.get_mut(..width).ok_or(TOO_SMALL)?;
                read_row(weights, &model.word, id as usize, row, staging.tile)?;
                read_row(weights, &model.position, position, other, staging.tile)?;
                crate::kernel::add(row, other);
                read_row(weights, &model.token_type, 0, other, staging.tile)?;
                crate::kernel::add(row, other);
            }
        }
        self.add_norm(&model.norm, hidden, None, staging)
    }

    /// Layer norm of every row of `hidden + other`, in place.
    fn add_norm(
        &self,
        norm: &Norm,
        hidden: &mut [f32],
        other: Option<&[f32]>,
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let width = self.model.config.hidden;
        let (weight, rest) = staging.vector.split_at_mut_checked(width).ok_or(TOO_SMALL)?;
        let bias = rest.get_mut(..width).ok_or(TOO_SMALL)?;
        read_vector(self.run.weights, &norm.weight, 0, weight, staging.tile)?;
        read_vector(self.run.weights, &norm.bias, 0, bias, staging.tile)?;
        let epsilon = self.model.config.layer_norm_epsilon;
        let mut others = other.unwrap_or_default().chunks_exact(width);
        for row in hidden.chunks_exact_mut(width) {
            let other = others.next().unwrap_or_default();
            (self.run.kernels.add_layer_norm)(row, other, weight, bias, epsilon);
        }
        Ok(())
    }

    /// The attention of one job's heads over all tokens.
    fn heads(&self, layer: &Layer, hidden: &[f32], part: Part<'_>) -> Result<()> {
        let Part { index, output, floats, bytes } = part;
        let (mut staging, mut floats) = staging(self.layout, floats, bytes)?;
        let size = self.model.config.head();
        let key_stride = self.layout.key_stride;
        let queries = split_off(&mut floats, self.tokens * size).ok_or(TOO_SMALL)?;
        let values = split_off(&mut floats, self.tokens * size).ok_or(TOO_SMALL)?;
        let keys = split_off(&mut floats, key_stride * size).ok_or(TOO_SMALL)?;
        let by_token = Strides { token: size, row: 1 };
        let by_element = Strides { token: 1, row: key_stride };
        for (head, out) in output.chunks_exact_mut(self.tokens * size).enumerate() {
            let rows = ((index * self.layout.heads + head) * size, size);
            for (linear, target, strides) in [
                (&layer.query, &mut *queries, by_token),
                (&layer.key, &mut *keys, by_element),
                (&layer.value, &mut *values, by_token),
            ] {
                let Run { weights, kernels, .. } = *self.run;
                apply(weights, kernels, linear, rows, hidden, target, strides, &mut staging)?;
            }
            let head = Head { queries, keys, values, key_stride, size };
            let mut start = 0;
            for &length in self.lengths {
                attend(self.run.kernels, &head, (start, length), floats, out)?;
                start += length;
            }
        }
        Ok(())
    }

    /// Everything after the attention for one job's tokens, a block at a time.
    fn blocks(&self, layer: &Layer, context: &[f32], part: Part<'_>) -> Result<()> {
        let Part { index, output, floats, bytes } = part;
        let (mut staging, floats) = staging(self.layout, floats, bytes)?;
        let width = self.model.config.hidden;
        let share = self.tokens.div_ceil(self.layout.jobs);
        for (block, hidden) in output.chunks_mut(self.layout.block * width).enumerate() {
            let first = index * share + block * self.layout.block;
            self.block(layer, context, first, hidden, &mut *floats, &mut staging)?;
        }
        Ok(())
    }

    fn block(
        &self,
        layer: &Layer,
        context: &[f32],
        first: usize,
        hidden: &mut [f32],
        mut floats: &mut [f32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let BertConfig { hidden: width, intermediate, .. } = self.model.config;
        let tokens = hidden.len() / width;
        let sum = split_off(&mut floats, tokens * width).ok_or(TOO_SMALL)?;
        let linear = |linear: &Linear, x: &[f32], out: &mut [f32], staging: &mut Staging<'_>| {
            let Run { weights, kernels, .. } = *self.run;
            let rows = linear.weight.rows;
            let strides = Strides { token: rows, row: 1 };
            apply(weights, kernels, linear, (0, rows), x, out, strides, staging)
        };
        {
            let x = floats.get_mut(..tokens * width).ok_or(TOO_SMALL)?;
            self.gather(context, first, x);
            linear(&layer.attention_output, x, sum, staging)?;
        }
        self.add_norm(&layer.attention_norm, hidden, Some(sum), staging)?;
        let wide = floats.get_mut(..tokens * intermediate).ok_or(TOO_SMALL)?;
        linear(&layer.intermediate, hidden, wide, staging)?;
        (self.run.kernels.gelu)(wide);
        linear(&layer.output, wide, sum, staging)?;
        self.add_norm(&layer.output_norm, hidden, Some(sum), staging)
    }

    /// Copies the context of the tokens from `first` on, stored head by head, to rows.
    fn gather(&self, context: &[f32], first: usize, out: &mut [f32]) {
        let BertConfig { hidden, .. } = self.model.config;
        let size = self.model.config.head();
        for (head, context) in context.chunks_exact(self.tokens * size).enumerate() {
            let rows = context.chunks_exact(size).skip(first);
            for (row, out) in rows.zip(out.chunks_exact_mut(hidden)) {
                if let Some(out) = out.get_mut(head * size..(head + 1) * size) {
                    out.copy_from_slice(row);
                }
            }
        }
    }
}
