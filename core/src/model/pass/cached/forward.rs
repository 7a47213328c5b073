//! A pass of some tokens through all layers.

use super::cache::Cache;
use super::input::LayerInput;
use super::memory::{LlamaMemory, Scratch};
use super::{Llama, LlamaLayer, Rows};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::pieces::{copy, pieces, pieces_mut};
use crate::kernel::{self, Floats, Kernels, Multiply, Product, Strides, Table};
use crate::model::config::LlamaConfig;
use crate::model::linear::Linear;
use crate::model::run::Run;
use crate::model::weights::{Matrix, Weights};

/// What is wanted of a pass.
#[derive(Debug)]
pub enum Output<'a> {
    /// Only that keys and values are in the cache.
    Nothing,
    /// The logits behind the last token, `vocabulary` elements.
    LastLogits(&'a mut [f32]),
    /// The logits behind each token, `vocabulary` elements each.
    AllLogits(&'a mut [f32]),
    /// The normed hidden states of each token, `hidden` elements each.
    Hidden(&'a mut [f32]),
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl<L: AsRef<[LlamaLayer]>> Llama<L> {
    /// Takes `ids` through the model behind what is in `cache`, as many at a time as `memory` has
    /// room for.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`]; [`ErrorKind::TooManyTokens`] if the cache has no room for
    /// them; [`ErrorKind::InvalidArgument`] without tokens; [`ErrorKind::BufferTooSmall`] if the
    /// output has no room, or what reading the weights may fail with: then the cache is as before.
    pub fn forward<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        cache: &mut Cache<'_>,
        memory: &mut LlamaMemory<'_>,
        mut output: Output<'_>,
    ) -> Result<()> {
        let LlamaConfig { vocabulary, hidden, .. } = self.config;
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

    /// The embedding of a text: the normed hidden state of its last token, or the mean of all,
    /// scaled to length 1.
    ///
    /// `cache` is emptied first; `states` has room for `hidden` elements for each token, `out` for
    /// `hidden`.
    ///
    /// # Errors
    ///
    /// As [`forward`](Self::forward).
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
        Ok(())
    }

    /// All layers; the hidden states are left in the memory.
    fn layers<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        cache: &mut Cache<'_>,
        memory: &mut LlamaMemory<'_>,
    ) -> Result<()> {
        let LlamaConfig { hidden, heads, kv_heads, head, intermediate, .. } = self.config;
        let tokens = ids.len();
        let LlamaMemory { norm, scratch, .. } = memory;
        let states = memory.hidden.get_mut(..tokens * hidden).ok_or(TOO_SMALL)?;
        let normed = memory.normed.get_mut(..tokens * hidden).ok_or(TOO_SMALL)?;
        let queries = memory.queries.get_mut(..tokens * heads * head).ok_or(TOO_SMALL)?;
        let keys = memory.keys.get_mut(..tokens * kv_heads * head).ok_or(TOO_SMALL)?;
        let context = memory.context.get_mut(..tokens * heads * head).ok_or(TOO_SMALL)?;
        let gate = memory.gate.get_mut(..tokens * intermediate).ok_or(TOO_SMALL)?;
        let up = memory.up.get_mut(..tokens * intermediate).ok_or(TOO_SMALL)?;
        for (id, row) in ids.iter().zip(pieces_mut(states, hidden)) {
            run.read_row(&self.embeddings, *id as usize, row, scratch.staging.tile)?;
        }
        let place = (cache.length, tokens, cache.is_long);
        self.angles(run, place, memory.angles, norm, scratch)?;
        let angles = &*memory.angles;
        for (index, layer) in self.layers.as_ref().iter().take(self.config.layers).enumerate() {
            copy(normed, states);
            self.norm(run, &layer.attention_norm, normed, norm, scratch)?;
            let mut input = LayerInput::new(run, scratch, normed);
            input.rows(&layer.query, queries)?;
            self.config.rope.turn_all(angles, queries, (heads, head));
            input.rows(&layer.key, keys)?;
            self.config.rope.turn_all(angles, keys, (kv_heads, head));
            self.store(cache, (index, tokens), keys, true)?;
            input.rows(&layer.value, keys)?;
            self.store(cache, (index, tokens), keys, false)?;
            let buffers = (&mut *memory.head, &mut *memory.scores);
            self.attend(run.kernels, cache, (index, tokens), queries, context, buffers)?;
            let all = Rows::all(layer.attention_output);
            LayerInput::new(run, scratch, context).rows(&all, normed)?;
            kernel::add(states, normed);
            copy(normed, states);
            self.norm(run, &layer.feed_forward_norm, normed, norm, scratch)?;
            let mut input = LayerInput::new(run, scratch, normed);
            input.rows(&layer.gate, gate)?;
            input.rows(&layer.up, up)?;
            (run.kernels.swiglu)(gate, up);
            LayerInput::new(run, scratch, gate).rows(&Rows::all(layer.down), normed)?;
            kernel::add(states, normed);
        }
        cache.length += tokens;
        Ok(())
    }

    /// Cosines and sines for the tokens from position `first` on.
    fn angles<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        (first, tokens, is_long): (usize, usize, bool),
        out: &mut [f32],
        divisors: &mut [f32],
        scratch: &mut Scratch<'_>,
    ) -> Result<()> {
        let [short, long] = &self.divisors;
        let stored = if is_long { long } else { short };
        let divisors = divisors.get_mut(..stored.cols).ok_or(TOO_SMALL)?;
        if !divisors.is_empty() {
            run.read_vector(stored, 0, divisors, scratch.staging.tile)?;
        }
        for (token, out) in pieces_mut(out, self.config.head).take(tokens).enumerate() {
            self.config.rope.angles(first + token, divisors, out);
        }
        Ok(())
    }

    /// `x · weight / √(mean(x²) + ε)` of every row, in place.
    fn norm<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        norm: &Matrix,
        states: &mut [f32],
        weight: &mut [f32],
        scratch: &mut Scratch<'_>,
    ) -> Result<()> {
        let hidden = self.config.hidden;
        let weight = weight.get_mut(..hidden).ok_or(TOO_SMALL)?;
        run.read_vector(norm, 0, weight, scratch.staging.tile)?;
        for row in pieces_mut(states, hidden) {
            let sum: f64 = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
            let mean = (sum / hidden as f64) as f32;
            let factor = 1.0 / libm::sqrtf(mean + self.config.norm_epsilon);
            for (x, weight) in row.iter_mut().zip(&*weight) {
                *x = *x * factor * weight;
            }
        }
        Ok(())
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

    /// Puts keys or values of some tokens, `[tokens, kv_heads, head]`, where their heads have them.
    fn store(
        &self,
        cache: &mut Cache<'_>,
        (layer, tokens): (usize, usize),
        vectors: &[f32],
        is_key: bool,
    ) -> Result<()> {
        let LlamaConfig { kv_heads, head, .. } = self.config;
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

    /// Attention of all heads: each token sees itself and what comes before it.
    fn attend(
        &self,
        kernels: &Kernels,
        cache: &mut Cache<'_>,
        (layer, tokens): (usize, usize),
        queries: &[f32],
        context: &mut [f32],
        (scratch, scores): (&mut [f32], &mut [f32]),
    ) -> Result<()> {
        let LlamaConfig { heads, kv_heads, head, .. } = self.config;
        let before = cache.length;
        let seen = before + tokens;
        let group = heads.checked_div(kv_heads).unwrap_or(1);
        #[allow(clippy::cast_precision_loss)] // heads are small
        let scale = 1.0 / libm::sqrtf(head as f32);
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
                    let (visible, later) =
                        row.split_at_mut_checked(before + token + 1).ok_or(TOO_SMALL)?;
                    (kernels.softmax)(visible, scale);
                    later.fill(0.0);
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

/// Zeros in place of a bias, for so many keys at a time.
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
        (kernels.product_f32)(Product::new(query, Floats::Values(keys), bias, head, out, strides)?);
    }
    Ok(())
}
