//! The first half of a layer: queries, keys and values of heads, and their attention.

use super::blocks::Block;
use super::layout::HeadLayout;
use super::state::{Pass, TOO_SMALL};
use crate::error::Result;
use crate::kernel::pieces::{copy, even_size, pieces, pieces_mut};
use crate::kernel::{Strides, Table};
use crate::model::block::attention::{Head, TextRows, attend};
use crate::model::block::layer::{Further, Layer};
use crate::model::block::norm::{Norm, rms_norm_all};
use crate::model::block::visible::Visible;
use crate::model::config::FAMILIES;
use crate::model::linear::{Input, Output, Rows, Staging};
use crate::model::parallel::{Parallel, WorkPart, split_off};
use crate::model::weights::Weights;

/// Queries and keys of all heads, `[tokens, elements]`; empty unless they are normed together.
/// Zero-sized in builds for BERT alone.
pub(super) type Whole<'w> = [[&'w [f32]; 2]; FAMILIES as usize];

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

impl<L, W, P> Pass<'_, L, W, P>
where
    L: AsRef<[Layer]> + Sync,
    W: Weights + Sync + ?Sized,
    P: Parallel + ?Sized,
{
    /// Computes the queries or keys of one job's tokens, block by block, and norms all heads of a
    /// token together.
    pub(super) fn whole(
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
    pub(super) fn heads(
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

    /// The head with contiguous copies of one text's keys and values.
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
}
