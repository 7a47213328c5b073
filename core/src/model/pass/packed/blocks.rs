//! The second half of a layer, a block of tokens at a time: the attention's output, the feed-forward
//! layers, residuals and norms.

use super::state::{Pass, TOO_SMALL};
use crate::error::Result;
use crate::kernel::pieces::{copy, even_size, pieces_mut};
use crate::kernel::{self, Strides};
use crate::model::block::experts::{Experts, Part, mix};
use crate::model::block::feed_forward::{activate, gate};
use crate::model::block::layer::Layer;
use crate::model::block::observation::{LayerInput, Observation};
use crate::model::block::per_layer::{PerLayer, input_scale};
use crate::model::config::{Config, FAMILIES, FeedForward, Heads, Mixture, Order};
use crate::model::linear::{CodeBuffers, Input, Linear, Output, Rows, Staging};
use crate::model::parallel::{Parallel, WorkPart, split_off};
use crate::model::run::Run;
use crate::model::weights::Weights;

impl<L, W, P> Pass<'_, L, W, P>
where
    L: AsRef<[Layer]> + Sync,
    W: Weights + Sync + ?Sized,
    P: Parallel + ?Sized,
{
    /// Everything after the attention for one job's tokens, a block at a time.
    pub(super) fn blocks(
        &self,
        layer: (usize, &Layer),
        context: &[f32],
        first_vectors: &[f32],
        part: WorkPart<'_>,
    ) -> Result<()> {
        let WorkPart { index, output, floats, bytes } = part;
        let (mut staging, floats, bytes) = self.layout.staging(floats, bytes)?;
        let width = self.model.config.hidden;
        let tokens = output.len() / width.max(1);
        // Evenly divided: a single remaining token would take another path through the kernels,
        // with different bits.
        let size = even_size(tokens, self.layout.block);
        for (block, hidden) in output.chunks_mut((size * width).max(1)).enumerate() {
            let first = index * self.share() + block * size;
            let tokens = hidden.len() / width.max(1);
            let buffers = self.layout.code_buffers(tokens, &mut *floats, &mut *bytes);
            let (buffers, floats) = buffers.ok_or(TOO_SMALL)?;
            let mut block = Block { pass: self, layer, buffers, staging: &mut staging };
            block.run(context, first, hidden, floats)?;
            if FAMILIES && self.model.config.per_layer.is_some() {
                let vectors = first_vectors.get(first * width..(first + tokens) * width);
                block.further_input(vectors.ok_or(TOO_SMALL)?, hidden, floats)?;
            }
        }
        Ok(())
    }

    /// Copies the context of the tokens from `first` on, stored by heads such as these, to rows.
    fn gather(&self, heads: &Heads, context: &[f32], first: usize, out: &mut [f32]) {
        let Heads { size, .. } = *heads;
        let width = if FAMILIES { heads.width() } else { self.model.config.hidden };
        for (head, context) in context.chunks_exact((self.tokens * size).max(1)).enumerate() {
            let rows = context.chunks_exact(size.max(1)).skip(first);
            for (row, out) in rows.zip(out.chunks_exact_mut(width.max(1))) {
                if let Some(out) = out.get_mut(head * size..(head + 1) * size) {
                    copy(out, row);
                }
            }
        }
    }
}

/// The second half of a layer over one block of tokens, with the memory of its job.
pub(super) struct Block<'b, 'a, 's, L, W: ?Sized, P: ?Sized> {
    pub(super) pass: &'b Pass<'a, L, W, P>,
    pub(super) layer: (usize, &'b Layer),
    pub(super) buffers: CodeBuffers<'b>,
    pub(super) staging: &'b mut Staging<'s>,
}

impl<L, W, P> Block<'_, '_, '_, L, W, P>
where
    L: AsRef<[Layer]> + Sync,
    W: Weights + Sync + ?Sized,
    P: Parallel + ?Sized,
{
    fn run(
        &mut self,
        context: &[f32],
        first: usize,
        hidden: &mut [f32],
        mut floats: &mut [f32],
    ) -> Result<()> {
        let Self { pass, layer: (index, layer), .. } = *self;
        let config = &pass.model.config;
        let Config { hidden: width, intermediate, .. } = *config;
        let tokens = hidden.len() / width.max(1);
        let sum = split_off(&mut floats, tokens * width).ok_or(TOO_SMALL)?;
        {
            let heads = config.heads_in(index);
            let x_width = if FAMILIES { heads.width() } else { width };
            let x = floats.get_mut(..tokens * x_width).ok_or(TOO_SMALL)?;
            pass.gather(heads, context, first, x);
            self.linear(LayerInput::AttentionOutput, &layer.attention_output, (0, width), x, sum)?;
        }
        let further = layer.further();
        match config.order() {
            Order::Post => pass.norm(&layer.attention_norm, hidden, sum, self.staging)?,
            Order::PostTwice => {
                pass.norm(&layer.attention_norm, sum, hidden, self.staging)?;
                pass.norm(&further.attention_end_norm, hidden, sum, self.staging)?;
            }
            order => {
                if order == Order::Sandwich {
                    pass.norm(&further.attention_end_norm, sum, &[], self.staging)?;
                }
                kernel::add(hidden, sum);
                copy(sum, hidden);
                pass.norm(&layer.feed_forward_norm, sum, &[], self.staging)?;
            }
        }
        if let Some(mixture) = config.mixture_in(index) {
            self.mixture(mixture, hidden, sum, floats)?;
            return pass.norm(&layer.feed_forward_norm, hidden, sum, self.staging);
        }
        let wide = split_off(&mut floats, tokens * intermediate).ok_or(TOO_SMALL)?;
        {
            let x = if config.norms_first() { &*sum } else { &*hidden };
            let Rows { linear, first, count } = &layer.up;
            self.linear(LayerInput::Intermediate, linear, (*first, *count), x, wide)?;
            match config.feed_forward() {
                FeedForward::Plain(_) | FeedForward::Mixed(_) => {
                    let activation = config.feed_forward().activation();
                    activate(pass.run.kernels, activation, wide, intermediate);
                }
                FeedForward::Gated(activation) => {
                    let other = floats.get_mut(..tokens * intermediate).ok_or(TOO_SMALL)?;
                    let Rows { linear, first, count } = &further.gate;
                    self.rows(linear, (*first, *count), x, other)?;
                    gate(pass.run.kernels, activation, other, wide, intermediate);
                    copy(wide, other);
                }
            }
        }
        self.linear(LayerInput::Output, &layer.down, (0, width), wide, sum)?;
        if !config.norms_first() {
            return pass.norm(&layer.feed_forward_norm, hidden, sum, self.staging);
        }
        if config.order() == Order::Sandwich {
            pass.norm(&further.feed_forward_end_norm, sum, &[], self.staging)?;
        }
        kernel::add(hidden, sum);
        Ok(())
    }

    /// Writes the output of the layer's mixture of experts for `x` to `sum`.
    fn mixture(
        &mut self,
        mixture: &Mixture,
        x: &[f32],
        sum: &mut [f32],
        scratch: &mut [f32],
    ) -> Result<()> {
        let Self { pass, layer: (index, layer), .. } = *self;
        let Config { hidden: width, intermediate, .. } = pass.model.config;
        let Experts { router, bias } = &layer.further().experts;
        sum.fill(0.0);
        if bias.cols > 0 {
            let vector = self.staging.vector.get_mut(..width).ok_or(TOO_SMALL)?;
            pass.run.read_vector(bias, 0, vector, self.staging.tile)?;
            pieces_mut(sum, width).for_each(|row| copy(row, vector));
        }
        let input = LayerInput::Intermediate;
        (pass.observe)(Observation { layer: index, input, values: x });
        mix(mixture, [width, intermediate], (x, sum), scratch, &mut |part, x, out| match part {
            // Which experts are chosen is the same on every machine, too.
            Part::Router if pass.layout.quantized => {
                let kernels = &pass.run.kernels.with_portable_floats();
                let run = Run { kernels, ..*pass.run };
                self.rows_by(&run, router, (0, mixture.experts), x, out)
            }
            Part::Router => self.rows(router, (0, mixture.experts), x, out),
            Part::Up(expert) => {
                self.rows(&layer.up.linear, (expert * intermediate, intermediate), x, out)?;
                activate(pass.run.kernels, mixture.activation, out, intermediate);
                Ok(())
            }
            Part::Down(expert) => {
                self.linear(LayerInput::Output, &layer.down, (expert * width, width), x, out)
            }
        })
    }

    /// Adds the layer's further input for a block of tokens, whose first vectors are `vectors`,
    /// then applies the factor on the layer's output.
    fn further_input(
        &mut self,
        vectors: &[f32],
        hidden: &mut [f32],
        mut floats: &mut [f32],
    ) -> Result<()> {
        let Self { pass, layer: (index, layer), .. } = *self;
        let Config { hidden: width, feed_forward, .. } = pass.model.config;
        let PerLayer { input, input_norm, gate: opened, projection, norm, scale } =
            &layer.further().per_layer;
        let activation = feed_forward.activation();
        let (tokens, elements) = (hidden.len() / width.max(1), input.count);
        let sum = split_off(&mut floats, tokens * width).ok_or(TOO_SMALL)?;
        let own = split_off(&mut floats, tokens * elements).ok_or(TOO_SMALL)?;
        let gates = floats.get_mut(..tokens * elements).ok_or(TOO_SMALL)?;
        let rows = (input.first, elements);
        match index {
            0 => self.linear(LayerInput::PerLayerInput, &input.linear, rows, vectors, own)?,
            _ => self.rows(&input.linear, rows, vectors, own)?,
        }
        kernel::scale(own, input_scale(width));
        pass.norm(input_norm, own, &[], self.staging)?;
        self.linear(LayerInput::PerLayerGate, opened, (0, elements), hidden, gates)?;
        gate(pass.run.kernels, activation, gates, own, elements);
        self.linear(LayerInput::PerLayerProjection, projection, (0, width), gates, sum)?;
        pass.norm(norm, sum, &[], self.staging)?;
        kernel::add(hidden, sum);
        let mut factor = [1.0];
        pass.run.read_vector(scale, 0, &mut factor, self.staging.tile)?;
        kernel::scale(hidden, factor[0]);
        Ok(())
    }

    /// Reports the input of a linear layer, then applies the layer.
    fn linear(
        &mut self,
        input: LayerInput,
        linear: &Linear,
        rows: (usize, usize),
        x: &[f32],
        out: &mut [f32],
    ) -> Result<()> {
        (self.pass.observe)(Observation { layer: self.layer.0, input, values: x });
        self.rows(linear, rows, x, out)
    }

    /// Applies some rows of a linear layer.
    pub(super) fn rows(
        &mut self,
        linear: &Linear,
        rows: (usize, usize),
        x: &[f32],
        out: &mut [f32],
    ) -> Result<()> {
        self.rows_by(self.pass.run, linear, rows, x, out)
    }

    /// As [`rows`](Self::rows), with the kernels of `run`.
    fn rows_by(
        &mut self,
        run: &Run<'_, W, P>,
        linear: &Linear,
        (first, rows): (usize, usize),
        x: &[f32],
        out: &mut [f32],
    ) -> Result<()> {
        let first = if FAMILIES { first } else { 0 };
        let output = Output { first, rows, out, strides: Strides { token: rows, row: 1 } };
        let layout = self.pass.layout;
        let buffers = self.buffers.reborrow();
        let input = if let Some(group) = linear.group().filter(|_| layout.grouped) {
            Input::Groups(run.quantize_groups((linear.weight.cols, group), x, buffers)?)
        } else if layout.quantized && linear.takes_codes() {
            Input::Codes(run.quantize(&linear.weight, x, buffers, self.staging)?)
        } else {
            Input::Floats(x)
        };
        run.linear(linear, input, output, self.staging)
    }
}
