//! One pass of a pack of texts through the layers.
//!
//! A layer goes over the data twice, each time in parts that a host may run on several threads:
//!
//! 1. by heads: the queries, keys and values of as many heads as there is room for, each from its
//!    rows of the weights, then the attention of one after the other. The context is stored head by
//!    head;
//! 2. by blocks of tokens: the attention's output layer, residual and norm, feed-forward layers,
//!    residual and norm.

use super::Bert;
use super::layout::Layout;
use super::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::pieces::{copy, even_size};
use crate::kernel::{Strides, Table};
use crate::model::block::attention::{Head, attend};
use crate::model::block::layer::Layer;
use crate::model::block::norm::Norm;
use crate::model::block::observation::{LayerInput, Observation, Observer};
use crate::model::config::BertConfig;
use crate::model::linear::{CodeBuffers, Input, Linear, Output, Staging};
use crate::model::parallel::{Parallel, Part, Parts, split_off};
use crate::model::run::Run;
use crate::model::weights::Weights;

/// A pack of texts on its way through a model.
pub(super) struct Pass<'a, L, W: ?Sized, P: ?Sized> {
    model: &'a Bert<L>,
    run: &'a Run<'a, W, P>,
    observe: &'a Observer<'a>,
    layout: &'a Layout,
    lengths: &'a [usize],
    tokens: usize,
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl<'a, L, W, P> Pass<'a, L, W, P>
where
    L: AsRef<[Layer]> + Sync,
    W: Weights + Sync + ?Sized,
    P: Parallel + ?Sized,
{
    /// Runs all layers over texts of these lengths; the last hidden states are left in the
    /// workspace.
    pub(super) fn run(
        model: &'a Bert<L>,
        run: &'a Run<'a, W, P>,
        observe: &'a Observer<'a>,
        ids: &[u32],
        lengths: &'a [usize],
        workspace: &mut Workspace<'_>,
    ) -> Result<()> {
        let tokens = ids.len();
        let Workspace { layout, hidden, context, codes, floats, bytes } = workspace;
        let size = tokens * model.config.hidden;
        let hidden = hidden.get_mut(..size).ok_or(TOO_SMALL)?;
        let context = context.get_mut(..size).ok_or(TOO_SMALL)?;
        let layout = &*layout;
        let pass = Pass { model, run, observe, layout, lengths, tokens };
        {
            let (mut staging, ..) = layout.staging(floats, bytes)?;
            pass.embeddings(ids, hidden, &mut staging)?;
        }
        let head_part = layout.heads * tokens * model.config.head();
        let block_part = pass.share() * model.config.hidden;
        for (index, layer) in model.layers.as_ref().iter().take(model.config.layers).enumerate() {
            observe(Observation { layer: index, input: LayerInput::Attention, values: hidden });
            let buffers = CodeBuffers {
                codes: &mut *codes.codes,
                zeros: &mut *codes.zeros,
                scales: &mut *codes.scales,
            };
            let input = if layout.quantized && layer.integer_attention {
                let (mut staging, ..) = layout.staging(floats, bytes)?;
                Input::Codes(run.quantize(&layer.query.weight, hidden, buffers, &mut staging)?)
            } else if let Some(group) = layer.attention_group.filter(|_| layout.grouped) {
                let shape = (model.config.hidden, group);
                Input::Groups(run.quantize_groups(shape, hidden, buffers)?)
            } else {
                Input::Floats(hidden)
            };
            let scratch = ((&mut **floats, layout.job.floats), (&mut **bytes, layout.job.bytes));
            let parts = Parts::new((context, head_part), scratch.0, scratch.1);
            run.parallel.run(parts, &|part| pass.heads(layer, input, part))?;
            let scratch = ((&mut **floats, layout.job.floats), (&mut **bytes, layout.job.bytes));
            let parts = Parts::new((hidden, block_part), scratch.0, scratch.1);
            run.parallel.run(parts, &|part| pass.blocks((index, layer), context, part))?;
        }
        Ok(())
    }

    /// Tokens of one job.
    fn share(&self) -> usize {
        self.tokens.div_ceil(self.layout.jobs.max(1))
    }

    /// Word + position + first token type, then layer norm.
    fn embeddings(&self, ids: &[u32], hidden: &mut [f32], staging: &mut Staging<'_>) -> Result<()> {
        let Self { model, run, .. } = self;
        let width = model.config.hidden;
        let mut rows = hidden.chunks_exact_mut(width.max(1));
        let mut ids = ids.iter();
        for &length in self.lengths {
            for (position, (&id, row)) in ids.by_ref().zip(rows.by_ref()).take(length).enumerate() {
                let other = staging.converted.get_mut(..width).ok_or(TOO_SMALL)?;
                run.read_row(&model.word, id as usize, row, staging.tile)?;
                run.read_row(&model.position, position, other, staging.tile)?;
                crate::kernel::add(row, other);
                run.read_row(&model.token_type, 0, other, staging.tile)?;
                crate::kernel::add(row, other);
            }
        }
        self.add_norm(&model.norm, hidden, &[], staging)
    }

    /// Layer norm of every row of `hidden + other`, in place; an empty `other` adds nothing.
    fn add_norm(
        &self,
        norm: &Norm,
        hidden: &mut [f32],
        other: &[f32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let width = self.model.config.hidden;
        let (weight, rest) = staging.vector.split_at_mut_checked(width).ok_or(TOO_SMALL)?;
        let bias = rest.get_mut(..width).ok_or(TOO_SMALL)?;
        self.run.read_vector(&norm.weight, 0, weight, staging.tile)?;
        self.run.read_vector(&norm.bias, 0, bias, staging.tile)?;
        let epsilon = self.model.config.layer_norm_epsilon;
        (self.run.kernels.add_layer_norm)(hidden, other, weight, bias, epsilon);
        Ok(())
    }

    /// The attention of one job's heads over all tokens.
    fn heads(&self, layer: &Layer, input: Input<'_>, part: Part<'_>) -> Result<()> {
        let Part { index, output, floats, bytes } = part;
        let (mut staging, mut floats, bytes) = self.layout.staging(floats, bytes)?;
        let (tokens, size) = (self.tokens, self.model.config.head());
        let key_stride = self.layout.key_stride;
        let stride = self.layout.heads_together() * size;
        let queries = split_off(&mut floats, tokens * stride).ok_or(TOO_SMALL)?;
        let values = split_off(&mut floats, tokens * stride).ok_or(TOO_SMALL)?;
        let keys = split_off(&mut floats, key_stride * stride).ok_or(TOO_SMALL)?;
        let by_token = Strides { token: stride, row: 1 };
        let by_element = Strides { token: 1, row: key_stride };
        for (turn, out) in output.chunks_mut((tokens * stride).max(1)).enumerate() {
            let first = index * self.layout.heads * size + turn * stride;
            let rows = out.len() / tokens.max(1);
            for (linear, target, strides) in [
                (&layer.query, &mut *queries, by_token),
                (&layer.key, &mut *keys, by_element),
                (&layer.value, &mut *values, by_token),
            ] {
                let output = Output { first, rows, out: target, strides };
                self.run.linear(linear, input, output, &mut staging)?;
            }
            for (head, out) in out.chunks_exact_mut((tokens * size).max(1)).enumerate() {
                let head = Head {
                    queries: Table { data: &*queries, stride }.skip(head * size),
                    keys: Table { data: &*keys, stride: key_stride }.rows(head * size, size),
                    values: Table { data: &*values, stride }.skip(head * size),
                    size,
                };
                self.attend(&head, input, &mut *floats, &mut *bytes, out)?;
            }
        }
        Ok(())
    }

    /// The attention of one head within each text.
    fn attend(
        &self,
        head: &Head<'_>,
        input: Input<'_>,
        floats: &mut [f32],
        bytes: &mut [u8],
        out: &mut [f32],
    ) -> Result<()> {
        let kernels = self.run.kernels;
        let mut start = 0;
        if !matches!(input, Input::Floats(_)) {
            let codes = self.layout.integer_head(self.tokens, floats, bytes);
            let mut codes = codes.ok_or(TOO_SMALL)?;
            codes.quantize(kernels, head);
            for &length in self.lengths {
                codes.attend(kernels, head, (start, length), out)?;
                start += length;
            }
        } else {
            for &length in self.lengths {
                attend(kernels, head, (start, length), floats, out)?;
                start += length;
            }
        }
        Ok(())
    }

    /// Everything after the attention for one job's tokens, a block at a time.
    fn blocks(&self, layer: (usize, &Layer), context: &[f32], part: Part<'_>) -> Result<()> {
        let Part { index, output, floats, bytes } = part;
        let (mut staging, floats, bytes) = self.layout.staging(floats, bytes)?;
        let width = self.model.config.hidden;
        let tokens = output.len() / width.max(1);
        // As many in each: a single one that is left would take another way through the kernels,
        // and have other bits.
        let size = even_size(tokens, self.layout.block);
        for (block, hidden) in output.chunks_mut((size * width).max(1)).enumerate() {
            let first = index * self.share() + block * size;
            let tokens = hidden.len() / width.max(1);
            let buffers = self.layout.code_buffers(tokens, &mut *floats, &mut *bytes);
            let (buffers, floats) = buffers.ok_or(TOO_SMALL)?;
            let block = Block { pass: self, layer, buffers, staging: &mut staging };
            block.run(context, first, hidden, floats)?;
        }
        Ok(())
    }

    /// Copies the context of the tokens from `first` on, stored head by head, to rows.
    fn gather(&self, context: &[f32], first: usize, out: &mut [f32]) {
        let BertConfig { hidden, .. } = self.model.config;
        let size = self.model.config.head();
        for (head, context) in context.chunks_exact((self.tokens * size).max(1)).enumerate() {
            let rows = context.chunks_exact(size.max(1)).skip(first);
            for (row, out) in rows.zip(out.chunks_exact_mut(hidden.max(1))) {
                if let Some(out) = out.get_mut(head * size..(head + 1) * size) {
                    copy(out, row);
                }
            }
        }
    }
}

/// Some tokens on their way through the second half of a layer.
struct Block<'b, 'a, 's, L, W: ?Sized, P: ?Sized> {
    pass: &'b Pass<'a, L, W, P>,
    layer: (usize, &'b Layer),
    buffers: CodeBuffers<'b>,
    staging: &'b mut Staging<'s>,
}

impl<L, W, P> Block<'_, '_, '_, L, W, P>
where
    L: AsRef<[Layer]> + Sync,
    W: Weights + Sync + ?Sized,
    P: Parallel + ?Sized,
{
    fn run(
        mut self,
        context: &[f32],
        first: usize,
        hidden: &mut [f32],
        mut floats: &mut [f32],
    ) -> Result<()> {
        let Self { pass, layer: (_, layer), .. } = self;
        let BertConfig { hidden: width, intermediate, .. } = pass.model.config;
        let tokens = hidden.len() / width.max(1);
        let sum = split_off(&mut floats, tokens * width).ok_or(TOO_SMALL)?;
        {
            let x = floats.get_mut(..tokens * width).ok_or(TOO_SMALL)?;
            pass.gather(context, first, x);
            self.linear(LayerInput::AttentionOutput, &layer.attention_output, x, sum)?;
        }
        pass.add_norm(&layer.attention_norm, hidden, sum, self.staging)?;
        let wide = floats.get_mut(..tokens * intermediate).ok_or(TOO_SMALL)?;
        self.linear(LayerInput::Intermediate, &layer.intermediate, hidden, wide)?;
        for row in wide.chunks_exact_mut(intermediate.max(1)) {
            (pass.run.kernels.gelu)(row);
        }
        self.linear(LayerInput::Output, &layer.output, wide, sum)?;
        pass.add_norm(&layer.output_norm, hidden, sum, self.staging)
    }

    fn linear(
        &mut self,
        input: LayerInput,
        linear: &Linear,
        x: &[f32],
        out: &mut [f32],
    ) -> Result<()> {
        (self.pass.observe)(Observation { layer: self.layer.0, input, values: x });
        let run = self.pass.run;
        let rows = linear.weight.rows;
        let output = Output { first: 0, rows, out, strides: Strides { token: rows, row: 1 } };
        let layout = self.pass.layout;
        let buffers = CodeBuffers {
            codes: &mut *self.buffers.codes,
            zeros: &mut *self.buffers.zeros,
            scales: &mut *self.buffers.scales,
        };
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
