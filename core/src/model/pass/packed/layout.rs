//! The division of scratch memory.

use super::pack::longest_copied;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::groups::TILE_ROWS;
use crate::kernel::pieces::even_size;
use crate::model::block::attention::{IntegerHead, QUERY_BLOCK};
use crate::model::block::{disentangled, experts};
use crate::model::config::{Config, FAMILIES, Heads, Relative};
use crate::model::linear::{CodeBuffers, MAX_GROUPS, Staging};
use crate::model::parallel::split_off;
use crate::model::plan::{ALIGNMENT, Needs, Plan};
use crate::model::size::{larger, possible, product, rounded_up, smaller, sum};

/// Tokens that pass through the feed-forward layers together, so that their output stays in the L2
/// cache.
const FEED_FORWARD_BLOCK: usize = 256;
/// The same for weights in bytes, which cost a quarter as much to read again.
const FEED_FORWARD_BLOCK_OF_CODES: usize = 64;
/// Rows of weights that are converted to f32 together: as many as kernels multiply together, fewer
/// if memory is short.
const CONVERTED_ROWS: usize = 16;
/// The same for many tokens, which need more memory themselves: kernels are faster with more rows.
const CONVERTED_ROWS_OF_MANY: usize = 64;
/// The largest number of tokens that are few.
const FEW_TOKENS: usize = 64;
/// The same for weights that are read from storage.
const CONVERTED_ROWS_OF_TILE: usize = 8;
/// The smallest number of columns of a group of a block.
const LEAST_GROUP: usize = 16;

/// [`ALIGNMENT`] in floats.
pub(super) const ALIGNED_FLOATS: usize = ALIGNMENT / 4;

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// The division of the heads of a kind of layers among jobs.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadLayout {
    /// Heads of keys and values that one job computes, with the queries that share them.
    pub(super) heads: usize,
    /// Query heads for each of them.
    pub(super) sharing: usize,
    /// Elements of a head.
    pub(super) size: usize,
    /// See [`together`](Self::together).
    together: usize,
}

impl HeadLayout {
    const fn new(heads: &Heads, jobs: usize) -> Self {
        Self {
            heads: heads.key_value.div_ceil(jobs),
            sharing: heads.sharing(),
            size: heads.size,
            together: 1,
        }
    }

    /// Heads whose queries, keys and values are computed together: a constant in small builds, so
    /// that the compiler emits no loop.
    pub(super) const fn together(&self) -> usize {
        if cfg!(feature = "small") { 1 } else { self.together }
    }
}

/// The sizes of the pieces of a workspace, which depend only on the model's sizes and the plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) tokens: usize,
    /// Rows of the attention's input: tokens, and vectors of positions after them.
    pub(super) rows: usize,
    /// Tokens of the longest text.
    longest: usize,
    /// Tokens of the longest text whose keys and values are copied: none unless the model is causal.
    copied: usize,
    pub(super) jobs: usize,
    /// The heads of layers with a window, or of all.
    local: HeadLayout,
    /// The heads of layers without a window.
    global: HeadLayout,
    changes_heads: bool,
    /// Elements that a token needs beside its widest vector: of its gate, of the further input of a
    /// layer, or for its choice of experts.
    beside: usize,
    /// Floats of the tokens' first vectors, if layers have a further input.
    pub(super) first: usize,
    /// Floats of the context, of normed hidden states, and of angles.
    pub(super) context: usize,
    pub(super) normed: usize,
    pub(super) angles: usize,
    /// Floats of the relative biases, `[heads, 2 · tokens]`, or of the row of each offset.
    pub(super) relative: usize,
    /// Tokens that one job runs through the feed-forward layers at a time.
    pub(super) block: usize,
    /// The stride of transposed keys, and of scores.
    pub(super) key_stride: usize,
    pub(super) quantized: bool,
    pub(super) grouped: bool,
    pub(super) hidden: usize,
    widest: usize,
    tile: usize,
    /// Floats and bytes of each job.
    pub(super) job: Needs,
    /// Floats and bytes of all.
    pub(super) total: Needs,
}

/// The stride of transposed keys, and of scores. Rows of long texts must not all map to the same
/// few cache sets, as they do at multiples of large powers of two.
const fn key_stride(tokens: usize) -> usize {
    let stride = rounded_up(tokens, 16);
    let collides = stride > 512 && stride.is_multiple_of(256);
    if collides { stride.saturating_add(16) } else { stride }
}

impl Layout {
    /// `None` if the sizes overflow or the plan is empty.
    pub(super) const fn new(config: &Config, plan: &Plan) -> Option<Self> {
        let Plan { tokens, jobs, tile_bytes, quantized, grouped, block } = *plan;
        let Config { hidden, intermediate, .. } = *config;
        let (local, global) = (config.heads_of(true), config.heads_of(false));
        if tokens == 0 || jobs == 0 || local.size == 0 || global.size == 0 || intermediate == 0 {
            return None;
        }
        let jobs = smaller(jobs, tokens);
        let share = tokens.div_ceil(jobs);
        let per_layer = config.per_layer_elements();
        let rows = sum(&[tokens, config.position_rows(tokens)]);
        let mixing = match config.mixture() {
            Some(mixture) => experts::floats(mixture, hidden),
            None => 0,
        };
        let none = Needs { floats: 0, bytes: 0 };
        let mut layout = Self {
            tokens,
            rows,
            longest: config.longest(tokens),
            copied: if config.is_causal() { longest_copied(tokens) } else { 0 },
            jobs,
            local: HeadLayout::new(local, jobs),
            global: HeadLayout::new(global, jobs),
            changes_heads: config.changes_heads(),
            beside: larger(
                larger(if config.is_gated() { intermediate } else { 0 }, per_layer),
                mixing,
            ),
            first: if per_layer > 0 { product(&[tokens, hidden]) } else { 0 },
            block: match block {
                // With experts, each has a part of the tokens alone.
                0 if tile_bytes == 0 && quantized && !grouped && mixing == 0 => {
                    smaller(share, FEED_FORWARD_BLOCK_OF_CODES)
                }
                0 if tile_bytes == 0 => smaller(share, FEED_FORWARD_BLOCK),
                0 => share,
                block => smaller(share, block),
            },
            key_stride: if FAMILIES { key_stride(rows) } else { rounded_up(tokens, 16) },
            quantized,
            grouped: quantized && grouped,
            hidden,
            widest: config.widest(),
            context: product(&[tokens, config.context_width()]),
            normed: match FAMILIES {
                true => product(&[tokens, config.normed_elements()]),
                false => 0,
            },
            relative: match config.relative() {
                Some(Relative::Disentangled(_)) => product(&[tokens, 2]),
                Some(_) => product(&[config.heads.query, tokens, 2]),
                None => 0,
            },
            angles: match config.rotary {
                Some(_) if FAMILIES => product(&[tokens, sum(&[local.size, global.size])]),
                _ => 0,
            },
            tile: tile_bytes,
            job: none,
            total: none,
        };
        // Computing the number takes 300 bytes of code.
        if cfg!(not(feature = "small")) {
            layout.local.together = layout.most_heads_together(&layout.local);
            layout.global.together = layout.most_heads_together(&layout.global);
        }
        layout.job = layout.job_needs();
        let codes = layout.code_rows();
        let total = possible(Needs {
            floats: sum(&[
                product(&[layout.job.floats, jobs]),
                product(&[rows, hidden]),
                layout.first,
                layout.context,
                layout.normed,
                layout.angles,
                layout.relative,
                product(&[codes, layout.scale_slots(hidden)]),
                ALIGNED_FLOATS - 1,
            ]),
            bytes: sum(&[
                product(&[layout.job.bytes, jobs]),
                product(&[codes, hidden]),
                product(&[codes, MAX_GROUPS]),
                if layout.job.bytes > 0 { ALIGNMENT - 1 } else { 0 },
            ]),
        });
        match total {
            Some(total) => {
                layout.total = total;
                Some(layout)
            }
            None => None,
        }
    }

    /// The heads of layers with a window, or without.
    pub(super) const fn heads_of(&self, has_window: bool) -> &HeadLayout {
        if FAMILIES && !has_window { &self.global } else { &self.local }
    }

    /// Floats for the scales of the codes of a token, of up to `cols` columns.
    pub(super) const fn scale_slots(&self, cols: usize) -> usize {
        // A scale and a sum for each group.
        if self.grouped { larger(MAX_GROUPS, cols.div_ceil(LEAST_GROUP) * 2) } else { MAX_GROUPS }
    }

    /// Bytes of the unpacked codes of a tile of rows.
    const fn unpacked(&self) -> usize {
        if self.grouped { product(&[self.widest, TILE_ROWS]) } else { 0 }
    }

    /// Rows of the attention's input that have codes.
    pub(super) const fn code_rows(&self) -> usize {
        if self.quantized { self.rows } else { 0 }
    }

    const fn if_quantized(&self, size: usize) -> usize {
        if self.quantized { size } else { 0 }
    }

    /// The number of heads of a job that fit the memory that the feed-forward layers need anyway,
    /// at least one, divided evenly.
    const fn most_heads_together(&self, heads: &HeadLayout) -> usize {
        let room = self.feed_forward_floats().saturating_sub(self.attention_floats(heads, 0));
        let most = room / larger(self.head_floats(heads), 1);
        even_size(heads.heads, larger(most, 1))
    }

    /// Floats of the keys and values of a head, and of the queries that share them; with norms or
    /// rotary positions also keys by token.
    const fn head_floats(&self, heads: &HeadLayout) -> usize {
        let by_token = heads.sharing + 1 + self.changes_heads as usize;
        product(&[sum(&[product(&[self.rows, by_token]), self.key_stride]), heads.size])
    }

    /// Floats of the attention of `count` heads.
    const fn attention_floats(&self, heads: &HeadLayout, count: usize) -> usize {
        let Self { rows, key_stride, .. } = *self;
        sum(&[
            product(&[self.head_floats(heads), count]),
            product(&[key_stride, QUERY_BLOCK]),
            self.position_terms(),
            self.copied_floats(heads.size),
            self.if_quantized(sum(&[
                product(&[rows, 2]),
                heads.size + QUERY_BLOCK,
                larger(rows, heads.size),
            ])),
        ])
    }

    /// Floats of the copied keys and values of a head.
    pub(super) const fn copied_floats(&self, size: usize) -> usize {
        product(&[sum(&[self.copied_key_stride(), self.copied]), size])
    }

    /// The stride of these keys.
    pub(super) const fn copied_key_stride(&self) -> usize {
        if FAMILIES { key_stride(self.copied) } else { 0 }
    }

    /// Floats of the products of positions with keys and queries.
    const fn position_terms(&self) -> usize {
        let Self { tokens, rows, longest, .. } = *self;
        product(&[
            rows.saturating_sub(tokens),
            sum(&[disentangled::key_stride(longest), QUERY_BLOCK]),
        ])
    }

    /// Floats and bytes of the attention of the heads that are computed together, without the bytes
    /// that activations in floats do not need.
    const fn attention(&self, heads: &HeadLayout) -> Needs {
        let Self { tokens, rows, key_stride, .. } = *self;
        Needs {
            floats: self.attention_floats(heads, heads.together),
            bytes: sum(&[
                product(&[rows, heads.size.div_ceil(2) * 4]),
                product(&[key_stride, heads.size.div_ceil(2) * 4]),
                product(&[tokens.div_ceil(2), 4, heads.size]),
                product(&[tokens.div_ceil(2), 4, QUERY_BLOCK]),
            ]),
        }
    }

    /// Floats of a block after the attention.
    const fn feed_forward_floats(&self) -> usize {
        let Self { block, hidden, widest, .. } = *self;
        sum(&[
            product(&[block, hidden]),
            product(&[block, widest]),
            product(&[block, self.beside]),
            self.if_quantized(product(&[block, self.scale_slots(widest)])),
        ])
    }

    const fn job_needs(&self) -> Needs {
        let Self { block, widest, .. } = *self;
        let staging = [self.vector(), widest, product(&[widest, self.converted_rows()])];
        let mut attention = self.attention(&self.local);
        if FAMILIES {
            let global = self.attention(&self.global);
            attention.floats = larger(attention.floats, global.floats);
            attention.bytes = larger(attention.bytes, global.bytes);
        }
        let feed_forward_bytes = sum(&[product(&[block, widest]), product(&[block, MAX_GROUPS])]);
        let floats = sum(&[larger(attention.floats, self.feed_forward_floats()), sum(&staging)]);
        let bytes = self.if_quantized(larger(attention.bytes, feed_forward_bytes));
        Needs {
            floats: rounded_up(floats, ALIGNED_FLOATS),
            bytes: rounded_up(sum(&[bytes, self.tile, self.unpacked()]), ALIGNMENT),
        }
    }

    /// Rows that are converted together. With quantised activations there are hardly any, and
    /// storage implies small memories; the scales and minima of a tile of blocks take two.
    const fn converted_rows(&self) -> usize {
        match (self.tile, self.quantized, self.grouped) {
            (0, false, _) if FAMILIES && self.tokens > FEW_TOKENS => CONVERTED_ROWS_OF_MANY,
            (0, ..) => CONVERTED_ROWS,
            (_, true, true) => 2,
            (_, true, false) => 1,
            _ => CONVERTED_ROWS_OF_TILE,
        }
    }

    const fn vector(&self) -> usize {
        larger(self.hidden * 2, self.widest)
    }

    /// Takes the memory for reading weights from a job's scratch memory; returns the rest.
    pub(super) fn staging<'a>(
        &self,
        mut floats: &'a mut [f32],
        mut bytes: &'a mut [u8],
    ) -> Result<(Staging<'a>, &'a mut [f32], &'a mut [u8])> {
        let staging = Staging {
            vector: split_off(&mut floats, self.vector()).ok_or(TOO_SMALL)?,
            scales: split_off(&mut floats, self.widest).ok_or(TOO_SMALL)?,
            converted: split_off(&mut floats, self.widest * self.converted_rows())
                .ok_or(TOO_SMALL)?,
            unpacked: split_off(&mut bytes, self.unpacked()).ok_or(TOO_SMALL)?,
            tile: split_off(&mut bytes, self.tile).ok_or(TOO_SMALL)?,
        };
        Ok((staging, floats, bytes))
    }

    /// Takes the memory for the integer attention of a head of `size` elements over `tokens`, of
    /// `rows` in its input, from a job's scratch memory.
    pub(super) fn integer_head<'a>(
        &self,
        (rows, tokens, size): (usize, usize, usize),
        mut floats: &'a mut [f32],
        mut bytes: &'a mut [u8],
    ) -> Option<IntegerHead<'a>> {
        let key_stride = self.key_stride;
        let pairs = size.div_ceil(2) * 4;
        Some(IntegerHead {
            scores: split_off(&mut floats, key_stride * QUERY_BLOCK)?,
            queries: split_off(&mut bytes, rows * pairs)?,
            keys: split_off(&mut bytes, key_stride * pairs)?,
            values: split_off(&mut bytes, tokens.div_ceil(2) * 4 * size)?,
            probabilities: split_off(&mut bytes, tokens.div_ceil(2) * 4 * QUERY_BLOCK)?,
            query_scales: split_off(&mut floats, rows)?,
            key_scales: split_off(&mut floats, rows)?,
            value_scales: split_off(&mut floats, size)?,
            probability_scales: split_off(&mut floats, QUERY_BLOCK)?,
            inverses: split_off(&mut floats, rows.max(size))?,
            terms: floats,
        })
    }

    /// Takes the memory for the codes of up to `tokens` (at most a block) of any width from a job's
    /// scratch memory.
    pub(super) fn code_buffers<'a>(
        &self,
        tokens: usize,
        mut floats: &'a mut [f32],
        mut bytes: &'a mut [u8],
    ) -> Option<(CodeBuffers<'a>, &'a mut [f32])> {
        if !self.quantized {
            return Some((CodeBuffers { codes: &mut [], zeros: &mut [], scales: &mut [] }, floats));
        }
        let buffers = CodeBuffers {
            codes: split_off(&mut bytes, tokens * self.widest)?,
            zeros: split_off(&mut bytes, tokens * MAX_GROUPS)?,
            scales: split_off(&mut floats, tokens * self.scale_slots(self.widest))?,
        };
        Some((buffers, floats))
    }
}
