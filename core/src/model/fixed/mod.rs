//! The BERT encoder in integer arithmetic: no floating-point number from the weights' bytes to the
//! embedding.
//!
//! Activations are fixed-point numbers (`kernel::fixed`), quantised to 12 bits per token before
//! each linear layer; weights are 8-bit codes, their scales the bits of f32 numbers. For processors
//! without an FPU; bit-identical everywhere. One text at a time, on one thread.

mod memory;
mod run;

use self::memory::Sizes;
pub use self::memory::{FixedMemory, FixedNeeds};
use self::run::{Output, Run, Staging};
use super::block::layer::Layer;
use super::block::norm::Norm;
use super::config::{Config, FAMILIES};
use super::encoder::Encoder;
use super::head::embedding::HeadLayer;
use super::head::pooling::{PoolingMode, PoolingModes};
use super::parallel::split_off;
use super::pass::packed::Transformer;
use super::plan::Plan;
use super::weights::Weights;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::fixed::{self, Factor};

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);
const INVALID: Error = Error::without_offset(ErrorKind::InvalidArgument);

impl<L: AsRef<[Layer]> + Sync, D: AsRef<[HeadLayer]>, F: AsRef<[f32]>> Encoder<L, D, F> {
    /// Writes the embedding of one text to `out`: `hidden` elements with 30 fractional bits if the
    /// model normalises, else 16.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed); [`ErrorKind::UnsupportedDtype`] for weights of linear layers that
    /// are not 8-bit codes, or have a scale for more than `MAX_COLS` columns;
    /// [`ErrorKind::UnsupportedArchitecture`] for models of other layouts than BERT's own.
    pub fn embed_fixed<W: Weights + ?Sized>(
        &self,
        weights: &W,
        plan: &Plan,
        ids: &[u32],
        memory: FixedMemory<'_>,
        out: &mut [i32],
    ) -> Result<()> {
        let sizes = Sizes::new(self.config(), plan).ok_or(INVALID)?;
        let error = |kind| Err(Error::without_offset(kind));
        let first = match self.embedding.pooling {
            pooling if pooling == PoolingModes::from(PoolingMode::Mean) => false,
            pooling if pooling == PoolingModes::from(PoolingMode::First) => true,
            _ => return error(ErrorKind::UnsupportedArchitecture),
        };
        let model = &self.transformer;
        if FAMILIES && !model.config.is_bert() || !self.head.as_ref().is_empty() {
            return error(ErrorKind::UnsupportedArchitecture);
        }
        if ids.is_empty() || out.len() != model.config.hidden {
            return Err(INVALID);
        }
        if ids.len() > model.config.positions {
            return error(ErrorKind::TooManyTokens);
        }
        if ids.len() > sizes.tokens {
            return Err(TOO_SMALL);
        }
        if ids.iter().any(|&id| id as usize >= model.config.vocabulary) {
            return error(ErrorKind::TokenOutOfRange);
        }
        let FixedMemory { mut words, codes, bytes } = memory;
        let needs = sizes.needs().ok_or(INVALID)?;
        if words.len() < needs.words || codes.len() < needs.codes || bytes.len() < needs.bytes {
            return Err(TOO_SMALL);
        }
        let widest = sizes.widest();
        let mut take = |size| split_off(&mut words, size).ok_or(TOO_SMALL);
        let hidden = take(ids.len() * sizes.hidden)?;
        let context = take(ids.len() * sizes.hidden)?;
        let mut staging = Staging {
            bias: take(widest)?,
            scales: take(widest)?,
            row: take(widest)?,
            worth: take(ids.len() * 2)?,
            codes,
            tile: bytes.get_mut(..sizes.tile).ok_or(TOO_SMALL)?,
        };
        let run = Run(weights);
        model.fixed_embeddings(&run, ids, hidden, &mut staging)?;
        for layer in model.layers.as_ref().iter().take(model.config.layers) {
            model.fixed_attention(&run, layer, (hidden, context), words, &mut staging)?;
            let rows = sizes.block * sizes.hidden;
            for (hidden, context) in hidden.chunks_mut(rows.max(1)).zip(context.chunks(rows.max(1)))
            {
                model.fixed_block(&run, layer, (hidden, context), words, &mut staging)?;
            }
        }
        let tokens = if first { 1 } else { ids.len() };
        pool(hidden, tokens, out);
        if self.embedding.normalize {
            fixed::normalize(out);
        }
        Ok(())
    }
}

impl<L: AsRef<[Layer]> + Sync> Transformer<L> {
    fn fixed_embeddings<W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        ids: &[u32],
        hidden: &mut [i32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        for (position, (&id, row)) in
            ids.iter().zip(hidden.chunks_exact_mut(self.config.hidden.max(1))).enumerate()
        {
            row.fill(0);
            run.add_row(&self.word, id as usize, row, staging)?;
            run.add_row(&self.position, position, row, staging)?;
            run.add_row(&self.token_type, 0, row, staging)?;
        }
        self.fixed_norm(run, &self.norm, hidden, staging)
    }

    fn fixed_norm<W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        norm: &Norm,
        hidden: &mut [i32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let width = self.config.hidden;
        let weight = staging.scales.get_mut(..width).ok_or(TOO_SMALL)?;
        run.read_vector(&norm.weight, 0, weight, staging.tile)?;
        let bias = staging.bias.get_mut(..width).ok_or(TOO_SMALL)?;
        run.read_vector(&norm.bias, 0, bias, staging.tile)?;
        let epsilon = fixed::parts_of_f32(self.config.epsilon.to_bits());
        let epsilon = epsilon.map_or(0, |(_, epsilon)| {
            Factor { exponent: epsilon.exponent + 16, ..epsilon }.apply(fixed::ONE)
        });
        for row in hidden.chunks_exact_mut(width.max(1)) {
            fixed::layer_norm(row, weight, bias, epsilon.unsigned_abs().into());
        }
        Ok(())
    }

    /// The attention of all heads; `context` is stored token by token.
    fn fixed_attention<W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        layer: &Layer,
        (hidden, context): (&[i32], &mut [i32]),
        mut part: &mut [i32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let (width, size) = (self.config.hidden, self.config.head());
        let tokens = hidden.len() / width.max(1);
        let queries = split_off(&mut part, tokens * size).ok_or(TOO_SMALL)?;
        let keys = split_off(&mut part, tokens * size).ok_or(TOO_SMALL)?;
        let values = split_off(&mut part, tokens * size).ok_or(TOO_SMALL)?;
        let scores = part.get_mut(..tokens).ok_or(TOO_SMALL)?;
        // 1 / √size.
        let scale = fixed::inverse_square_root((size as u64) << 32);
        let linears = [&layer.query, &layer.key, &layer.value].map(|rows| &rows.linear);
        if layer.integer_attention {
            run.quantize(&layer.query.linear.weight, hidden, staging)?;
        }
        for head in 0..self.config.heads.query {
            let first = head * size;
            for (linear, target) in linears.iter().zip([&mut *queries, &mut *keys, &mut *values]) {
                if !layer.integer_attention {
                    run.quantize(&linear.weight, hidden, staging)?;
                }
                run.linear(
                    linear,
                    Output { first, rows: size, out: target, stride: size },
                    staging,
                )?;
            }
            let rows =
                queries.chunks_exact(size.max(1)).zip(context.chunks_exact_mut(width.max(1)));
            for (query, context) in rows {
                for (score, key) in scores.iter_mut().zip(keys.chunks_exact(size.max(1))) {
                    *score = scale.apply(fixed::multiply(query, key, 1, 16));
                }
                fixed::softmax(scores);
                let out = context.get_mut(first..first + size).ok_or(TOO_SMALL)?;
                for (element, out) in out.iter_mut().enumerate() {
                    let column = values.get(element..).unwrap_or_default();
                    *out = fixed::multiply(scores, column, size, 30);
                }
            }
        }
        Ok(())
    }

    /// Everything after the attention, for a block of tokens.
    fn fixed_block<W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        layer: &Layer,
        (hidden, context): (&mut [i32], &[i32]),
        mut part: &mut [i32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let Config { hidden: width, intermediate, .. } = self.config;
        let tokens = hidden.len() / width.max(1);
        let sum = split_off(&mut part, tokens * width).ok_or(TOO_SMALL)?;
        let wide = part.get_mut(..tokens * intermediate).ok_or(TOO_SMALL)?;
        let add = |hidden: &mut [i32], sum: &[i32]| {
            hidden.iter_mut().zip(sum).for_each(|(x, y)| *x = x.saturating_add(*y));
        };
        run.whole(&layer.attention_output, context, sum, staging)?;
        add(hidden, sum);
        self.fixed_norm(run, &layer.attention_norm, hidden, staging)?;
        run.whole(&layer.up.linear, hidden, wide, staging)?;
        wide.iter_mut().for_each(|x| *x = fixed::gelu(*x));
        run.whole(&layer.down, wide, sum, staging)?;
        add(hidden, sum);
        self.fixed_norm(run, &layer.feed_forward_norm, hidden, staging)
    }
}

/// Writes the mean of the first `tokens` rows of `hidden` to `out`.
fn pool(hidden: &[i32], tokens: usize, out: &mut [i32]) {
    let width = out.len();
    for (element, out) in out.iter_mut().enumerate() {
        let column = hidden.get(element..).unwrap_or_default().iter().step_by(width).take(tokens);
        let sum: i64 = column.map(|&x| i64::from(x)).sum();
        // The mean of 32-bit integers fits 32 bits.
        *out = (sum / tokens.max(1) as i64) as i32;
    }
}
