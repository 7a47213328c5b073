//! A pass of some tokens through all layers.

use super::Llama;
use super::cache::Cache;
use super::input::LayerInput;
use super::memory::{LlamaMemory, Scratch, has_local};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::finite::check_finite;
use crate::kernel::pieces::{copy, pieces, pieces_mut};
use crate::kernel::{self, FloatOperand, Kernels, Multiply, Product, Strides, Table};
use crate::model::block::feed_forward::{activate, gate};
use crate::model::block::layer::{Further, Layer};
use crate::model::block::norm::{Norm, NormMemory};
use crate::model::block::visible::Visible;
use crate::model::config::{Config, FeedForward, Heads, Order};
use crate::model::linear::{Linear, Rows};
use crate::model::run::Run;
use crate::model::weights::{Matrix, Weights};

/// The requested result of a pass.
#[derive(Debug)]
pub enum Output<'a> {
    /// Only the keys and values in the cache.
    Nothing,
    /// The logits after the last token, `vocabulary` elements.
    LastLogits(&'a mut [f32]),
    /// The logits after each token, `vocabulary` elements each.
    AllLogits(&'a mut [f32]),
    /// The normed hidden states of each token, `hidden` elements each.
    Hidden(&'a mut [f32]),
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl<L: AsRef<[Layer]>> Llama<L> {
    /// Runs the model on `ids`, which continue the tokens in `cache`, as many at a time as `memory`
    /// has room for.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`]; [`ErrorKind::TooManyTokens`] if the cache has no room for
    /// them; [`ErrorKind::InvalidArgument`] without tokens; [`ErrorKind::BufferTooSmall`] if the
    /// output is too small; any error of reading the weights. The cache is unchanged on errors.
    pub fn forward<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        cache: &mut Cache<'_>,
        memory: &mut LlamaMemory<'_>,
        mut output: Output<'_>,
    ) -> Result<()> {
        let Config { vocabulary, hidden, .. } = self.config;
        if ids.iter().any(|id| *id as usize >= vocabulary) {
            return Err(Error::without_offset(ErrorKind::TokenOutOfRange));
        }
        if ids.is_empty() || memory.tokens == 0 {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        let before = cache.length;
        if before.checked_add(ids.len()).is_none_or(|all| all > cache.positions()) {
            return Err(Error::without_offset(ErrorKind::TooManyTokens));
        }
        let mut done = 0;
        for part in ids.chunks(memory.tokens) {
            let place = (done, done + part.len());
            let is_last = place.1 == ids.len();
            let result = self.layers(run, part, cache, memory).and_then(|()| match &mut output {
                Output::LastLogits(logits) if is_last => {
                    let states = memory.hidden.get_mut(..part.len() * hidden).ok_or(TOO_SMALL)?;
                    let last = states.get_mut((part.len() - 1) * hidden..).ok_or(TOO_SMALL)?;
                    self.logits(run, last, memory.norm, &mut memory.scratch, logits)
                }
                Output::Nothing | Output::LastLogits(_) => Ok(()),
                Output::AllLogits(logits) => {
                    let states = memory.hidden.get_mut(..part.len() * hidden).ok_or(TOO_SMALL)?;
                    let out = logits.get_mut(place.0 * vocabulary..place.1 * vocabulary);
                    let out = out.ok_or(TOO_SMALL)?;
                    self.logits(run, states, memory.norm, &mut memory.scratch, out)
                }
                Output::Hidden(out) => {
                    let states = memory.hidden.get_mut(..part.len() * hidden).ok_or(TOO_SMALL)?;
                    self.norm(run, &self.norm, states, memory.norm, &mut memory.scratch)?;
                    let out = out.get_mut(place.0 * hidden..place.1 * hidden).ok_or(TOO_SMALL)?;
                    copy(out, states);
                    Ok(())
                }
            });
            if let Err(error) = result {
                cache.length = before;
                return Err(error);
            }
            done = place.1;
        }
        Ok(())
    }

    /// Writes the embedding of a text to `out`: the normed hidden state of its last token, or the
    /// mean of all, scaled to length 1.
    ///
    /// `cache` is emptied first; `states` has room for `hidden` elements for each token, `out` for
    /// `hidden`.
    ///
    /// # Errors
    ///
    /// As [`forward`](Self::forward), and [`ErrorKind::NotFinite`].
    pub fn embed<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        cache: &mut Cache<'_>,
        memory: &mut LlamaMemory<'_>,
        (last_token, states, out): (bool, &mut [f32], &mut [f32]),
    ) -> Result<()> {
        cache.truncate(0);
        cache.set_long(self.is_long(ids.len()));
        self.forward(run, ids, cache, memory, Output::Hidden(&mut *states))?;
        let hidden = self.config.hidden;
        let out = out.get_mut(..hidden).ok_or(TOO_SMALL)?;
        out.fill(0.0);
        let first = if last_token { ids.len().saturating_sub(1) } else { 0 };
        let states = states.get(first * hidden..ids.len() * hidden).ok_or(TOO_SMALL)?;
        pieces(states, hidden).for_each(|state| kernel::add(out, state));
        kernel::normalize(out);
        check_finite(out)
    }

    /// Runs all layers; the hidden states are left in the memory.
    fn layers<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        cache: &mut Cache<'_>,
        memory: &mut LlamaMemory<'_>,
    ) -> Result<()> {
        let config = &self.config;
        let Config { hidden, heads, intermediate, .. } = *config;
        let tokens = ids.len();
        let LlamaMemory { norm, scratch, .. } = memory;
        let states = memory.hidden.get_mut(..tokens * hidden).ok_or(TOO_SMALL)?;
        let normed = memory.normed.get_mut(..tokens * hidden).ok_or(TOO_SMALL)?;
        let queries = memory.queries.get_mut(..tokens * heads.width()).ok_or(TOO_SMALL)?;
        let keys = memory.keys.get_mut(..tokens * heads.key_width()).ok_or(TOO_SMALL)?;
        let context = memory.context.get_mut(..tokens * heads.width()).ok_or(TOO_SMALL)?;
        let wide = memory.gate.get_mut(..tokens * intermediate).ok_or(TOO_SMALL)?;
        let up = memory.up.get_mut(..tokens * intermediate).ok_or(TOO_SMALL)?;
        for (id, row) in ids.iter().zip(pieces_mut(states, hidden)) {
            run.read_row(&self.embeddings, *id as usize, row, scratch.staging.tile)?;
            if config.embedding.scale != 1.0 {
                kernel::scale(row, config.embedding.scale);
            }
        }
        let place = (cache.length, tokens, cache.is_long);
        self.angles(run, place, memory.angles, norm, scratch)?;
        let angles = &*memory.angles;
        for (index, layer) in self.layers.as_ref().iter().take(config.layers).enumerate() {
            let Further { gate: gating, query_norm, key_norm, .. } = layer.further();
            copy(normed, states);
            if config.order != Order::Post {
                self.norm(run, &layer.attention_norm, normed, norm, scratch)?;
            }
            let angles = if config.has_window(index) && has_local(config) {
                angles.get(tokens * heads.size..).unwrap_or_default()
            } else {
                angles
            };
            let turn = |vectors: &mut [f32], heads: usize| {
                if let Some(rope) = config.rope(index) {
                    rope.turn_all(angles, vectors, (heads, config.head()));
                }
            };
            let mut input = LayerInput::new(run, scratch, normed);
            input.rows(&layer.query, queries)?;
            if config.has_query_key_norm() {
                self.norm(run, query_norm, queries, norm, input.scratch())?;
            }
            turn(queries, heads.query);
            input.rows(&layer.key, keys)?;
            if config.has_query_key_norm() {
                self.norm(run, key_norm, keys, norm, input.scratch())?;
            }
            turn(keys, heads.key_value);
            self.store(cache, (index, tokens), keys, true)?;
            input.rows(&layer.value, keys)?;
            self.store(cache, (index, tokens), keys, false)?;
            let buffers = (&mut *memory.head, &mut *memory.scores);
            self.attend(run.kernels, cache, (index, tokens), queries, context, buffers)?;
            let all = Rows::all(layer.attention_output);
            LayerInput::new(run, scratch, context).rows(&all, normed)?;
            let (first, end) = (&layer.attention_norm, &layer.further().attention_end_norm);
            self.add(run, (first, end), states, normed, norm, scratch)?;
            copy(normed, states);
            if config.order != Order::Post {
                self.norm(run, &layer.feed_forward_norm, normed, norm, scratch)?;
            }
            let mut input = LayerInput::new(run, scratch, normed);
            match config.feed_forward {
                FeedForward::Gated(activation) => {
                    input.rows(gating, wide)?;
                    input.rows(&layer.up, up)?;
                    gate(run.kernels, activation, wide, up, intermediate);
                }
                FeedForward::Plain(_) | FeedForward::Mixed(_) => {
                    let activation = config.feed_forward.activation();
                    input.rows(&layer.up, wide)?;
                    activate(run.kernels, activation, wide, intermediate);
                }
            }
            LayerInput::new(run, scratch, wide).rows(&Rows::all(layer.down), normed)?;
            let (first, end) = (&layer.feed_forward_norm, &layer.further().feed_forward_end_norm);
            self.add(run, (first, end), states, normed, norm, scratch)?;
        }
        cache.length += tokens;
        Ok(())
    }

    /// The residual sum of `states` and a layer's output, with the norms of the layer's order.
    fn add<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        (after, end): (&Norm, &Norm),
        states: &mut [f32],
        added: &mut [f32],
        weight: &mut [f32],
        scratch: &mut Scratch<'_>,
    ) -> Result<()> {
        if self.config.order == Order::Sandwich {
            self.norm(run, end, added, weight, scratch)?;
        }
        kernel::add(states, added);
        if self.config.order == Order::Post {
            self.norm(run, after, states, weight, scratch)?;
        }
        Ok(())
    }

    /// Cosines and sines for the tokens from position `first` on, followed by those of layers with
    /// a window, if they differ.
    fn angles<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        (first, tokens, is_long): (usize, usize, bool),
        out: &mut [f32],
        divisors: &mut [f32],
        scratch: &mut Scratch<'_>,
    ) -> Result<()> {
        let Some(rotary) = &self.config.rotary else { return Ok(()) };
        let [short, long] = &self.divisors;
        let stored = if is_long { long } else { short };
        let divisors = divisors.get_mut(..stored.cols).ok_or(TOO_SMALL)?;
        if !divisors.is_empty() {
            run.read_vector(stored, 0, divisors, scratch.staging.tile)?;
            check_finite(divisors).map_err(|error| Error::new(stored.offset, error.kind()))?;
        }
        let size = self.config.head();
        let (global, rest) = out.split_at_mut_checked(tokens * size).ok_or(TOO_SMALL)?;
        rotary.global.angles(first, divisors, (global, size));
        if has_local(&self.config) {
            let local = rest.get_mut(..tokens * size).ok_or(TOO_SMALL)?;
            rotary.local.angles(first, &[], (local, size));
        }
        Ok(())
    }

    /// Norms every row in place.
    fn norm<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        norm: &Norm,
        states: &mut [f32],
        vector: &mut [f32],
        scratch: &mut Scratch<'_>,
    ) -> Result<()> {
        if norm.weight.cols == 0 {
            return Ok(());
        }
        let memory = NormMemory { vector, tile: &mut *scratch.staging.tile };
        run.norm(norm, &self.config, states, &[], memory)
    }

    /// The logits of `states`, which are normed in place.
    fn logits<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        states: &mut [f32],
        norm: &mut [f32],
        scratch: &mut Scratch<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        self.norm(run, &self.norm, states, norm, scratch)?;
        let tokens = states.len().checked_div(self.config.hidden).unwrap_or(0);
        let out = out.get_mut(..tokens * self.config.vocabulary).ok_or(TOO_SMALL)?;
        let linear = Linear::new(self.output, Matrix::EMPTY);
        LayerInput::new(run, scratch, states).rows(&Rows::all(linear), out)
    }

    /// Stores keys or values of some tokens, `[tokens, kv_heads, head]`, in the cache of their
    /// heads.
    fn store(
        &self,
        cache: &mut Cache<'_>,
        (layer, tokens): (usize, usize),
        vectors: &[f32],
        is_key: bool,
    ) -> Result<()> {
        let Heads { key_value: kv_heads, size: head, .. } = self.config.heads;
        let first = cache.length;
        for kv_head in 0..kv_heads {
            let (keys, values) = cache.head(&self.config, layer, kv_head).ok_or(TOO_SMALL)?;
            let target = if is_key { keys } else { values };
            let target = target.get_mut(first * head..(first + tokens) * head).ok_or(TOO_SMALL)?;
            let vectors = pieces(vectors, head).skip(kv_head).step_by(kv_heads.max(1));
            for (target, vector) in pieces_mut(target, head).zip(vectors) {
                copy(target, vector);
            }
        }
        Ok(())
    }

    /// Attention of all heads: each token attends to itself and to earlier tokens within its
    /// window.
    fn attend(
        &self,
        kernels: &Kernels,
        cache: &mut Cache<'_>,
        (layer, tokens): (usize, usize),
        queries: &[f32],
        context: &mut [f32],
        (scratch, scores): (&mut [f32], &mut [f32]),
    ) -> Result<()> {
        let Heads { query: heads, key_value: kv_heads, size: head } = self.config.heads;
        let visible = Visible::new(&self.config, layer);
        let before = cache.length;
        let seen = before + tokens;
        let group = heads.checked_div(kv_heads).unwrap_or(1);
        let scale = self.config.score_scale(&self.config.heads);
        // Heads that share keys and values are computed together, as rows of one product each.
        let (rows, width) = (tokens * group, group * head);
        let (query, out) = scratch.split_at_mut_checked(rows * head).ok_or(TOO_SMALL)?;
        let out = out.get_mut(..rows * head).ok_or(TOO_SMALL)?;
        let scores = scores.get_mut(..rows * seen).ok_or(TOO_SMALL)?;
        for index in 0..kv_heads {
            let (keys, values) = cache.head(&self.config, layer, index).ok_or(TOO_SMALL)?;
            let (keys, values) =
                keys.get(..seen * head).zip(values.get(..seen * head)).ok_or(TOO_SMALL)?;
            let own = pieces(queries, width).skip(index).step_by(kv_heads.max(1));
            for (query, own) in pieces_mut(query, width).zip(own) {
                copy(query, own);
            }
            score(kernels, (query, keys, head), scores)?;
            for (token, rows) in pieces_mut(scores, group * seen).enumerate() {
                for row in pieces_mut(rows, seen) {
                    let own = visible.tokens(before + token, seen);
                    row.get_mut(..own.start).ok_or(TOO_SMALL)?.fill(0.0);
                    row.get_mut(own.end..).ok_or(TOO_SMALL)?.fill(0.0);
                    (kernels.softmax)(row.get_mut(own).ok_or(TOO_SMALL)?, scale);
                }
            }
            (kernels.multiply_f32)(Multiply::new(
                Table { data: scores, stride: seen },
                Table { data: values, stride: head },
                out,
                head,
                (rows, head, seen),
            )?);
            let targets = pieces_mut(context, width).skip(index).step_by(kv_heads.max(1));
            for (target, out) in targets.zip(pieces(out, width)) {
                copy(target, out);
            }
        }
        Ok(())
    }
}

/// Zeros in place of a bias, for up to this many keys at a time.
static NO_BIAS: [f32; 256] = [0.0; 256];

/// Products of queries and keys, `[tokens, seen]`.
fn score(
    kernels: &Kernels,
    (query, keys, head): (&[f32], &[f32], usize),
    scores: &mut [f32],
) -> Result<()> {
    let seen = keys.len().checked_div(head).unwrap_or(0);
    for (index, keys) in keys.chunks((NO_BIAS.len() * head).max(1)).enumerate() {
        let first = index * NO_BIAS.len();
        let count = keys.len().checked_div(head).unwrap_or(0);
        let out = scores.get_mut(first..).ok_or(TOO_SMALL)?;
        let bias = NO_BIAS.get(..count).ok_or(TOO_SMALL)?;
        let strides = Strides { token: seen, row: 1 };
        (kernels.product_f32)(Product::new(
            query,
            FloatOperand::Values(keys),
            bias,
            head,
            out,
            strides,
        )?);
    }
    Ok(())
}
