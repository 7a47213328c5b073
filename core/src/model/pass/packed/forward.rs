//! One pass of a pack of texts through the layers.
//!
//! A layer goes over the data twice, each time in parts that a host may run on several threads:
//!
//! 1. by heads: the queries, keys and values of as many heads as fit the memory, each from its rows
//!    of the weights, then the attention head by head. The context is stored head by head;
//! 2. by blocks of tokens: the attention's output layer, residual and norm, feed-forward layers,
//!    residual and norm.

use super::layout::{HeadLayout, Layout};
use super::pack::{Pack, Shared};
use super::positions::{Angles, Biases, position_vectors, relative_biases};
use super::workspace::Workspace;
use super::{Batch, Transformer};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::pieces::{copy, even_size, pieces, pieces_mut};
use crate::kernel::{self, Strides, Table};
use crate::model::block::attention::{Head, TextRows, attend};
use crate::model::block::disentangled::Positions;
use crate::model::block::experts::{Experts, Part, mix};
use crate::model::block::feed_forward::{activate, gate};
use crate::model::block::layer::{Further, Layer};
use crate::model::block::norm::{Norm, NormMemory, rms_norm_all};
use crate::model::block::observation::{LayerInput, Observation, Observer};
use crate::model::block::per_layer::{PerLayer, input_scale};
use crate::model::block::visible::Visible;
use crate::model::config::{Config, FAMILIES, FeedForward, Heads, Mixture, Order};
use crate::model::linear::{CodeBuffers, Input, Linear, Output, Rows, Staging};
use crate::model::parallel::{Parallel, Parts, WorkPart, split_off};
use crate::model::run::Run;
use crate::model::weights::Weights;

/// The state of a pass over a pack of texts.
pub(super) struct Pass<'a, L, W: ?Sized, P: ?Sized> {
    model: &'a Transformer<L>,
    run: &'a Run<'a, W, P>,
    observe: &'a Observer<'a>,
    layout: &'a Layout,
    shared: Shared,
    lengths: &'a [usize],
    /// See [`Batch::attended`].
    attended: &'a [usize],
    tokens: usize,
    angles: Angles<'a>,
    relative: Biases<'a>,
    positions: Positions<'a>,
}

/// Queries and keys of all heads, `[tokens, elements]`; empty unless they are normed together.
/// Zero-sized in builds for BERT alone.
type Whole<'w> = [[&'w [f32]; 2]; FAMILIES as usize];

/// Tokens whose elements are written contiguously: the floats of a cache line.
const TOKENS_A_LINE: usize = 16;

/// Transposes columns from rows of `stride` to rows of `line`.
fn transpose((from, stride): (&[f32], usize), (to, line): (&mut [f32], usize)) {
    for (block, rows) in from.chunks((stride * TOKENS_A_LINE).max(1)).enumerate() {
        let mut tokens: [&[f32]; TOKENS_A_LINE] = [&[]; TOKENS_A_LINE];
        tokens.iter_mut().zip(pieces(rows, stride)).for_each(|(token, row)| *token = row);
        let first = block * TOKENS_A_LINE;
        for (element, to) in pieces_mut(to, line).enumerate().take(stride) {
            let to = to.get_mut(first..).unwrap_or_default();
            for (to, token) in to.iter_mut().zip(&tokens) {
                match token.get(element) {
                    Some(from) => *to = *from,
                    None => break,
                }
            }
        }
    }
}

/// Copies some columns from rows of `width` to the start of rows of `stride`.
fn copy_columns(
    (from, width): (&[f32], usize),
    (first, count): (usize, usize),
    (to, stride): (&mut [f32], usize),
) {
    for (from, to) in pieces(from, width).zip(pieces_mut(to, stride)) {
        let from = from.get(first..first + count).unwrap_or_default();
        copy(to.get_mut(..from.len()).unwrap_or_default(), from);
    }
}

/// Returns true if a token is padding, in models whose positions start after that of padding:
/// padding tokens all have that position, and later tokens are counted without them.
const fn is_padding(first: usize, id: u32) -> bool {
    first > 0 && id as usize == first - 1
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
        model: &'a Transformer<L>,
        run: &'a Run<'a, W, P>,
        observe: &'a Observer<'a>,
        (texts, pack): (&Batch<'a>, Pack),
        workspace: &mut Workspace<'_>,
    ) -> Result<()> {
        let Batch { ids, types, lengths, attended, .. } = *texts;
        let tokens = pack.tokens();
        let Workspace {
            layout,
            hidden,
            first,
            context,
            normed,
            angles,
            relative,
            codes,
            floats,
            bytes,
        } = workspace;
        let config = &model.config;
        let layout = &*layout;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let angles = Angles::new(config, angles, longest)?;
        let (mut relative, mut positions) = (&mut **relative, Positions::NONE);
        if FAMILIES && config.disentangled().is_some() {
            let (mut staging, ..) = layout.staging(floats, bytes)?;
            let vectors = hidden.get_mut(tokens * config.hidden..).ok_or(TOO_SMALL)?;
            let table = split_off(&mut relative, (2 * longest).saturating_sub(1));
            let table = table.ok_or(TOO_SMALL)?;
            let count = position_vectors(model, run, table, vectors, &mut staging)?;
            positions = Positions { by_offset: table, first: tokens, count };
        }
        let relative = {
            let (mut staging, ..) = layout.staging(floats, bytes)?;
            relative_biases(model, run, longest, relative, &mut staging)?
        };
        let rows = tokens + positions.count;
        let states = hidden.get_mut(..rows * config.hidden).ok_or(TOO_SMALL)?;
        let pass = Pass {
            model,
            run,
            observe,
            layout,
            shared: pack.shared,
            lengths,
            attended,
            tokens,
            angles,
            relative,
            positions,
        };
        let own = tokens * config.hidden;
        {
            let hidden = states.get_mut(..own).ok_or(TOO_SMALL)?;
            let (mut staging, ..) = layout.staging(floats, bytes)?;
            if let (Some(width), Some(projection)) = (config.projected(), model.projection.first())
            {
                let rows = context.get_mut(..tokens * width).ok_or(TOO_SMALL)?;
                pass.embeddings(ids, types, rows, &mut staging)?;
                pass.project(projection, rows, hidden, &mut staging)?;
            } else {
                pass.embeddings(ids, types, hidden, &mut staging)?;
            }
        }
        if FAMILIES {
            copy(first, states);
        }
        let block_part = pass.share() * config.hidden;
        for (index, layer) in model.layers.as_ref().iter().take(config.layers).enumerate() {
            let mut rest = &mut **normed;
            let x = match config.norms_first() {
                false => &*states,
                true => {
                    let normed = split_off(&mut rest, own).ok_or(TOO_SMALL)?;
                    copy(normed, states);
                    let (mut staging, ..) = layout.staging(floats, bytes)?;
                    pass.norm(&layer.attention_norm, normed, &[], &mut staging)?;
                    &*normed
                }
            };
            let values = if FAMILIES { x.get(..own).unwrap_or_default() } else { x };
            observe(Observation { layer: index, input: LayerInput::Attention, values });
            let buffers = CodeBuffers {
                codes: &mut *codes.codes,
                zeros: &mut *codes.zeros,
                scales: &mut *codes.scales,
            };
            let input = if layout.quantized && layer.integer_attention {
                let (mut staging, ..) = layout.staging(floats, bytes)?;
                Input::Codes(run.quantize(&layer.query.linear.weight, x, buffers, &mut staging)?)
            } else if let Some(group) = layer.attention_group.filter(|_| layout.grouped) {
                Input::Groups(run.quantize_groups((config.hidden, group), x, buffers)?)
            } else {
                Input::Floats(x)
            };
            let mut whole: Whole<'_> = Default::default();
            if config.has_vector_norm() {
                let Further { query_norm, key_norm, .. } = layer.further();
                let both = [(&layer.query, query_norm), (&layer.key, key_norm)];
                for (to, (rows, norm)) in whole.iter_mut().flatten().zip(both) {
                    let out = split_off(&mut rest, tokens * rows.count).ok_or(TOO_SMALL)?;
                    let scratch =
                        ((&mut **floats, layout.job.floats), (&mut **bytes, layout.job.bytes));
                    let part = pass.share() * rows.count;
                    let parts = Parts::new((&mut *out, part), scratch.0, scratch.1);
                    let job =
                        |part: WorkPart<'_>| pass.whole((index, layer), (rows, norm), x, part);
                    run.parallel.run(parts, &job)?;
                    *to = out;
                }
            }
            let HeadLayout { heads, sharing, size, .. } =
                *layout.heads_of(config.has_window(index));
            let head_part = heads * sharing * tokens * size;
            let width = if FAMILIES { config.heads_in(index).width() } else { config.hidden };
            let context = context.get_mut(..tokens * width).ok_or(TOO_SMALL)?;
            let scratch = ((&mut **floats, layout.job.floats), (&mut **bytes, layout.job.bytes));
            let parts = Parts::new((&mut *context, head_part), scratch.0, scratch.1);
            run.parallel.run(parts, &|part| pass.heads((index, layer), input, whole, part))?;
            let scratch = ((&mut **floats, layout.job.floats), (&mut **bytes, layout.job.bytes));
            let hidden = states.get_mut(..own).ok_or(TOO_SMALL)?;
            let parts = Parts::new((hidden, block_part), scratch.0, scratch.1);
            run.parallel.run(parts, &|part| pass.blocks((index, layer), context, first, part))?;
        }
        if FAMILIES && config.final_norm {
            let (mut staging, ..) = layout.staging(floats, bytes)?;
            let hidden = states.get_mut(..own).ok_or(TOO_SMALL)?;
            pass.norm(&model.final_norm, hidden, &[], &mut staging)?;
        }
        Ok(())
    }

    /// Tokens of one job.
    fn share(&self) -> usize {
        self.tokens.div_ceil(self.layout.jobs.max(1))
    }

    /// The rows of the shared tokens, if there are any, and of each text.
    fn texts(&self) -> impl Iterator<Item = TextRows> {
        self.shared.own_rows().into_iter().chain(self.shared.rows(self.lengths))
    }

    /// Rows of the attention's input: tokens, and vectors of positions.
    const fn inputs(&self) -> usize {
        if FAMILIES { self.tokens + self.positions.count } else { self.tokens }
    }

    /// Word + position + token type, then a norm, as far as the model has them.
    fn embeddings(
        &self,
        ids: &[u32],
        types: &[u8],
        sums: &mut [f32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let Self { model, run, .. } = self;
        let (width, embedding) = (model.config.table_width(), &model.config.embedding);
        let positions = if FAMILIES { embedding.positions } else { Some(0) };
        let token_types = !FAMILIES || embedding.token_types;
        let mut rows = sums.chunks_exact_mut(width.max(1));
        let (mut ids, mut types) = (ids.iter(), types.iter());
        for text in self.texts() {
            let mut padded = 0;
            let is_shared = FAMILIES && self.shared.own_rows() == Some(text);
            let before = ids.clone();
            ids.by_ref().take(text.elsewhere()).for_each(drop);
            let own = ids.by_ref().zip(rows.by_ref()).take(text.own());
            for (position, (&id, row)) in (text.elsewhere()..).zip(own) {
                let other = staging.converted.get_mut(..width).ok_or(TOO_SMALL)?;
                let word = embedding.placeholders.row(id);
                run.read_row(&model.word, word as usize, row, staging.tile)?;
                if FAMILIES && embedding.scale != 1.0 {
                    kernel::scale(row, embedding.scale);
                }
                if let Some(first) = positions {
                    let place = if FAMILIES && is_padding(first, id) {
                        padded += 1;
                        first - 1
                    } else {
                        first + position - padded
                    };
                    run.read_row(&model.position, place, other, staging.tile)?;
                    kernel::add(row, other);
                }
                if token_types {
                    let kind = if FAMILIES { types.next().copied().unwrap_or(0) } else { 0 };
                    run.read_row(&model.token_type, kind.into(), other, staging.tile)?;
                    kernel::add(row, other);
                }
            }
            if is_shared {
                // They are the first ids of the first text, too.
                ids = before;
            }
        }
        if FAMILIES && !embedding.norm {
            return Ok(());
        }
        self.norm(&model.norm, sums, &[], staging)
    }

    /// Maps rows of the tables to hidden states, in f32: the layer is small. With quantised
    /// activations results are the same on every machine, which only portable products are.
    fn project(
        &self,
        projection: &Linear,
        rows: &[f32],
        hidden: &mut [f32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let width = self.model.config.hidden;
        let strides = Strides { token: width, row: 1 };
        let output = Output { first: 0, rows: width, out: hidden, strides };
        let portable = self.run.kernels.with_portable_floats();
        let kernels = if self.layout.quantized { &portable } else { self.run.kernels };
        let run = Run { kernels, ..*self.run };
        run.linear(projection, Input::Floats(rows), output, staging)
    }

    /// The norm of every row of `hidden + other`, in place; an empty `other` adds nothing. A norm
    /// without a weight only adds.
    fn norm(
        &self,
        norm: &Norm,
        hidden: &mut [f32],
        other: &[f32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        if FAMILIES && norm.weight.cols == 0 {
            kernel::add(hidden, other);
            return Ok(());
        }
        let memory = NormMemory { vector: &mut *staging.vector, tile: &mut *staging.tile };
        self.run.norm(norm, &self.model.config, hidden, other, memory)
    }

    /// Computes the queries or keys of one job's tokens, block by block, and norms all heads of a
    /// token together.
    fn whole(
        &self,
        layer: (usize, &Layer),
        (rows, norm): (&Rows, &Norm),
        x: &[f32],
        part: WorkPart<'_>,
    ) -> Result<()> {
        let WorkPart { index, output, floats, bytes } = part;
        let (mut staging, floats, bytes) = self.layout.staging(floats, bytes)?;
        let (hidden, width) = (self.model.config.hidden, rows.count);
        let size = even_size(output.len() / width.max(1), self.layout.block);
        for (block, out) in output.chunks_mut((size * width).max(1)).enumerate() {
            let first = index * self.share() + block * size;
            let tokens = out.len() / width.max(1);
            let x = x.get(first * hidden..(first + tokens) * hidden).ok_or(TOO_SMALL)?;
            let buffers = self.layout.code_buffers(tokens, &mut *floats, &mut *bytes);
            let (buffers, _) = buffers.ok_or(TOO_SMALL)?;
            let mut block = Block { pass: self, layer, buffers, staging: &mut staging };
            block.rows(&rows.linear, (rows.first, width), x, out)?;
            self.norm(norm, out, &[], &mut staging)?;
        }
        Ok(())
    }

    /// The attention of one job's heads over all tokens.
    fn heads(
        &self,
        (index, layer): (usize, &Layer),
        input: Input<'_>,
        whole: Whole<'_>,
        part: WorkPart<'_>,
    ) -> Result<()> {
        let WorkPart { index: job, output, floats, bytes } = part;
        let (mut staging, mut floats, bytes) = self.layout.staging(floats, bytes)?;
        let config = &self.model.config;
        let tokens = self.tokens;
        let heads = self.layout.heads_of(config.has_window(index));
        let HeadLayout { heads: own, sharing, size, .. } = *heads;
        let key_stride = self.layout.key_stride;
        let together = heads.together();
        let (stride, query_stride) = (together * size, together * sharing * size);
        let inputs = self.inputs();
        let queries = split_off(&mut floats, inputs * query_stride).ok_or(TOO_SMALL)?;
        let values = split_off(&mut floats, inputs * stride).ok_or(TOO_SMALL)?;
        let keys = split_off(&mut floats, key_stride * stride).ok_or(TOO_SMALL)?;
        let changes = config.changes_heads();
        let changed = if changes { tokens * stride } else { 0 };
        let key_rows = split_off(&mut floats, changed).ok_or(TOO_SMALL)?;
        let scale = config.score_scale(config.heads_in(index));
        let visible = Visible::new(config, index);
        // Positions have no values; codes are not divided by tokens.
        let own_rows;
        let valued = match input {
            Input::Floats(x) if FAMILIES => {
                own_rows = Input::Floats(x.get(..tokens * config.hidden).ok_or(TOO_SMALL)?);
                &own_rows
            }
            _ => &input,
        };
        let by_token = Strides { token: stride, row: 1 };
        let by_element = Strides { token: 1, row: key_stride };
        for (turn, out) in output.chunks_mut((tokens * query_stride).max(1)).enumerate() {
            let first = job * own * size + turn * stride;
            let first_query = (job * own + turn * together) * sharing;
            let query_rows = out.len() / tokens.max(1);
            let rows = query_rows / sharing.max(1);
            let by_query = Strides { token: query_stride, row: 1 };
            let (key_target, key_strides) =
                if changes { (&mut *key_rows, by_token) } else { (&mut *keys, by_element) };
            let mut whole = whole.iter().flatten().filter(|whole| !whole.is_empty());
            for (part, input, first, rows, out, strides) in [
                (&layer.query, &input, first * sharing, query_rows, &mut *queries, by_query),
                (&layer.key, &input, first, rows, key_target, key_strides),
                (&layer.value, valued, first, rows, &mut *values, by_token),
            ] {
                let computed = if FAMILIES { whole.next() } else { None };
                if let Some(whole) = computed {
                    copy_columns((whole, part.count), (first, rows), (out, strides.token));
                    continue;
                }
                let first = if FAMILIES { part.first + first } else { first };
                let output = Output { first, rows, out, strides };
                self.run.linear(&part.linear, *input, output, &mut staging)?;
            }
            if changes {
                let Further { query_norm, key_norm, .. } = layer.further();
                self.change(index, query_norm, (&mut *queries, query_stride), &mut staging)?;
                self.change(index, key_norm, (&mut *key_rows, stride), &mut staging)?;
                transpose((key_rows, stride), (&mut *keys, key_stride));
            }
            if config.has_value_norm() {
                rms_norm_all(values, size, config.epsilon)?;
            }
            for (head, out) in out.chunks_exact_mut((tokens * size).max(1)).enumerate() {
                let shared = head / sharing.max(1);
                let queries = Table { data: &*queries, stride: query_stride };
                let head = Head {
                    queries: queries.skip(head * size),
                    keys: Table { data: &*keys, stride: key_stride }.rows(shared * size, size),
                    values: Table { data: &*values, stride }.skip(shared * size),
                    size,
                    scale,
                    visible,
                    bias: self.relative.for_head(first_query + head),
                    positions: self.positions,
                };
                self.attend(&head, input, &mut *floats, &mut *bytes, out)?;
            }
        }
        Ok(())
    }

    /// Norms the heads of queries or keys, in rows of `stride`, and rotates them by their
    /// positions.
    fn change(
        &self,
        layer: usize,
        norm: &Norm,
        (vectors, stride): (&mut [f32], usize),
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let config = &self.model.config;
        if config.has_query_key_norm() && !config.has_vector_norm() {
            self.norm(norm, vectors, &[], staging)?;
        }
        let Some(rope) = config.rope(layer) else { return Ok(()) };
        let size = config.heads_in(layer).size;
        let angles = self.angles.for_layer(config.has_window(layer));
        let heads = stride.checked_div(size).unwrap_or(0);
        let mut rest = vectors;
        for text in self.texts() {
            let angles = angles.get(text.elsewhere() * size..).unwrap_or_default();
            let rows = split_off(&mut rest, text.own() * stride).ok_or(TOO_SMALL)?;
            rope.turn_all(angles, rows, (heads, size));
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
        let mut floats = floats;
        let copies = if self.shared.count() > 0 { self.layout.copied_floats(head.size) } else { 0 };
        let copies = match FAMILIES {
            true => split_off(&mut floats, copies).ok_or(TOO_SMALL)?,
            false => &mut [],
        };
        if !matches!(input, Input::Floats(_)) {
            let codes =
                self.layout.integer_head((self.inputs(), self.tokens, head.size), floats, bytes);
            let mut codes = codes.ok_or(TOO_SMALL)?;
            codes.quantize(kernels, head);
            for (text, rows) in self.texts().enumerate() {
                let mut changed = None;
                let head = self.head_in((text, &rows), head, &mut *copies, &mut changed)?;
                if rows.are_apart() {
                    codes.quantize_keys(kernels, head);
                }
                codes.attend(kernels, head, &rows, out)?;
            }
        } else {
            for (text, rows) in self.texts().enumerate() {
                let mut changed = None;
                let head = self.head_in((text, &rows), head, &mut *copies, &mut changed)?;
                attend(kernels, head, &rows, floats, out)?;
            }
        }
        Ok(())
    }

    /// The head with copies of the keys and values of one text, one after the other.
    fn with_own_keys<'m>(
        &self,
        head: &Head<'m>,
        text: &TextRows,
        copies: &'m mut [f32],
    ) -> Result<Head<'m>> {
        let (size, stride) = (head.size, self.layout.copied_key_stride());
        let (keys, values) = copies.split_at_mut_checked(stride * size).ok_or(TOO_SMALL)?;
        let (shared, own) = (text.elsewhere(), text.own_rows());
        for (row, to) in keys.chunks_exact_mut(stride.max(1)).enumerate() {
            let from = head.keys.rows(row, 1).data;
            let (first, rest) = to.split_at_mut_checked(shared).ok_or(TOO_SMALL)?;
            copy(first, from);
            copy(rest, from.get(own.clone()).ok_or(TOO_SMALL)?);
        }
        let tokens = (0..shared).chain(own);
        for (token, to) in tokens.zip(values.chunks_exact_mut(size.max(1))) {
            copy(to, head.values.rows(token, 1).data);
        }
        let keys = Table { data: keys, stride };
        Ok(Head { keys, values: Table { data: values, stride: size }, ..*head })
    }

    /// The head in a text, if need be in `changed`: with copies of the text's keys and values where
    /// its rows are apart, or attending to its first tokens alone.
    #[inline]
    fn head_in<'m, 'h>(
        &self,
        (text, rows): (usize, &TextRows),
        head: &'m Head<'h>,
        copies: &'h mut [f32],
        changed: &'m mut Option<Head<'h>>,
    ) -> Result<&'m Head<'h>> {
        if rows.are_apart() {
            return Ok(changed.insert(self.with_own_keys(head, rows, copies)?));
        }
        Ok(match self.attended.get(text) {
            Some(first) if FAMILIES => {
                changed.insert(Head { visible: head.visible.among_first(*first), ..*head })
            }
            _ => head,
        })
    }

    /// Everything after the attention for one job's tokens, a block at a time.
    fn blocks(
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

/// The second half of a layer for a block of tokens.
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
    fn rows(
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
