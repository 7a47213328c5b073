//! Scratch memory, lent by the caller; how much is needed is known exactly before.

use super::attention::IntegerHead;
use super::config::BertConfig;
use super::linear::{CodeBuffers, Staging};
use super::parallel::split_off;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::groups::TILE_ROWS;

/// What a [`Workspace`] must suffice for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Tokens that are computed together: the longest text, or several short ones packed.
    pub tokens: usize,
    /// Parts that run at the same time, as [`Parallel::jobs`](super::Parallel::jobs) says; 1 without threads.
    pub jobs: usize,
    /// Bytes of weights that are read at a time from storage that cannot be borrowed; 0 where it can.
    ///
    /// At least [`Needs::least_tile_bytes`]; more means fewer, larger reads.
    pub tile_bytes: usize,
    /// Whether activations are quantised where weights are 8-bit: faster, and the same bits on every machine.
    ///
    /// Without it weights are converted to f32 as they are used: slower, and as precise as the weights are. Models
    /// whose weights are all floats run the same either way, and need less memory without. Models without column
    /// scales lose much precision with it.
    pub quantized: bool,
    /// Whether some weights are in blocks; with `quantized`, activations for them are quantised too, in the groups of
    /// the blocks. Without `quantized` blocks are converted to f32 as they are used.
    pub grouped: bool,
    /// Tokens that pass through the feed-forward layers together, 0 for as many as is fast.
    ///
    /// Fewer take less memory; weights that cannot be borrowed are read anew for each block.
    pub block: usize,
}

impl Plan {
    /// A plan for `tokens` on one thread, with weights in memory and activations in f32.
    ///
    /// [`Bert::plan`](super::Bert::plan) knows whether a model was made for quantised activations.
    #[must_use]
    pub const fn new(tokens: usize) -> Self {
        Self { tokens, jobs: 1, tile_bytes: 0, quantized: false, grouped: false, block: 0 }
    }
}

/// How much memory a plan needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Elements of f32.
    pub floats: usize,
    /// Bytes beside those.
    pub bytes: usize,
}

impl Needs {
    /// The smallest tile for weights that cannot be borrowed: one row or one vector of the model.
    #[must_use]
    pub const fn least_tile_bytes(config: &BertConfig) -> usize {
        4 * if config.hidden > config.intermediate { config.hidden } else { config.intermediate }
    }
}

/// Query rows whose scores are computed together.
pub(super) const QUERY_BLOCK: usize = 32;
/// Tokens that pass through the feed-forward layers together, so that their output stays in the L2 cache.
const FEED_FORWARD_BLOCK: usize = 256;
/// The same where weights are bytes, which are brought in again for a quarter of what floats cost.
const FEED_FORWARD_BLOCK_OF_CODES: usize = 64;
/// Rows of weights that are converted to f32 together: as many as kernels multiply together, fewer where memory is short.
const CONVERTED_ROWS: usize = 16;
/// The same where weights are read from storage.
const CONVERTED_ROWS_OF_TILE: usize = 8;
/// The most groups of columns that quantised activations are divided into.
pub(super) const MAX_GROUPS: usize = 16;
/// The fewest columns of a group of a block.
const LEAST_GROUP: usize = 16;

/// The sizes of the pieces of a workspace; they depend on the model's sizes and the plan alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) tokens: usize,
    pub(super) jobs: usize,
    /// Heads that one job computes.
    pub(super) heads: usize,
    /// Tokens that one job takes through the feed-forward layers at a time.
    pub(super) block: usize,
    /// From one row of transposed keys, and of scores, to the next.
    pub(super) key_stride: usize,
    pub(super) quantized: bool,
    pub(super) grouped: bool,
    hidden: usize,
    head: usize,
    widest: usize,
    tile: usize,
    /// Floats and bytes of each job.
    pub(super) job: Needs,
    total: Needs,
}

impl Layout {
    /// `None` if the sizes overflow or the plan is empty.
    pub(super) fn new(config: &BertConfig, plan: &Plan) -> Option<Self> {
        let Plan { tokens, jobs, tile_bytes, quantized, grouped, block } = *plan;
        let BertConfig { hidden, intermediate, heads, .. } = *config;
        let head = config.head();
        if tokens == 0 || jobs == 0 || head == 0 || intermediate == 0 {
            return None;
        }
        let jobs = jobs.min(tokens);
        let share = tokens.div_ceil(jobs);
        let none = Needs { floats: 0, bytes: 0 };
        let mut layout = Self {
            tokens,
            jobs,
            heads: heads.div_ceil(jobs),
            block: match block {
                0 if tile_bytes == 0 && quantized && !grouped => {
                    share.min(FEED_FORWARD_BLOCK_OF_CODES)
                }
                0 if tile_bytes == 0 => share.min(FEED_FORWARD_BLOCK),
                0 => share,
                block => share.min(block),
            },
            key_stride: tokens.checked_next_multiple_of(16)?,
            quantized,
            grouped: quantized && grouped,
            hidden,
            head,
            widest: hidden.max(intermediate),
            tile: tile_bytes,
            job: none,
            total: none,
        };
        layout.job = layout.job_needs()?;
        let states = tokens.checked_mul(hidden)?;
        let codes = layout.code_tokens();
        let groups = codes.checked_mul(MAX_GROUPS);
        let scales = codes.checked_mul(layout.scale_slots(hidden));
        layout.total = Needs {
            floats: sum(&[
                layout.job.floats.checked_mul(jobs),
                states.checked_mul(2),
                scales,
                Some(ALIGNED_FLOATS - 1),
            ])?,
            bytes: sum(&[
                layout.job.bytes.checked_mul(jobs),
                codes.checked_mul(hidden),
                groups,
                Some(if layout.job.bytes > 0 { ALIGNMENT - 1 } else { 0 }),
            ])?,
        };
        Some(layout)
    }

    /// Floats for the scales of the codes of a token, of up to `cols` columns.
    fn scale_slots(&self, cols: usize) -> usize {
        // A scale and a sum for each group.
        if self.grouped { MAX_GROUPS.max(cols.div_ceil(LEAST_GROUP) * 2) } else { MAX_GROUPS }
    }

    /// Bytes of the unpacked codes of a tile of rows.
    fn unpacked(&self) -> usize {
        if self.grouped { self.widest.saturating_mul(TILE_ROWS) } else { 0 }
    }

    /// Tokens whose hidden states have codes.
    fn code_tokens(&self) -> usize {
        if self.quantized { self.tokens } else { 0 }
    }

    fn job_needs(&self) -> Option<Needs> {
        let Self { tokens, head, block, hidden, widest, key_stride, .. } = *self;
        let if_quantized = |size: usize| if self.quantized { size } else { 0 };
        let attention = sum(&[
            tokens.checked_mul(head)?.checked_mul(2),
            key_stride.checked_mul(head),
            key_stride.checked_mul(QUERY_BLOCK),
            Some(if_quantized(sum(&[
                tokens.checked_mul(2),
                Some(head + QUERY_BLOCK),
                Some(tokens.max(head)),
            ])?)),
        ])?;
        let feed_forward = sum(&[
            block.checked_mul(hidden),
            block.checked_mul(widest),
            Some(if_quantized(block.checked_mul(self.scale_slots(widest))?)),
        ])?;
        let staging =
            sum(&[Some(self.vector()), Some(widest), widest.checked_mul(self.converted_rows())])?;
        let attention_bytes = sum(&[
            tokens.checked_mul(head.div_ceil(2) * 4),
            key_stride.checked_mul(head.div_ceil(2) * 4),
            tokens.div_ceil(2).checked_mul(4)?.checked_mul(head),
            tokens.div_ceil(2).checked_mul(4)?.checked_mul(QUERY_BLOCK),
        ])?;
        let feed_forward_bytes = sum(&[block.checked_mul(widest), block.checked_mul(MAX_GROUPS)])?;
        let floats = attention.max(feed_forward).checked_add(staging)?;
        let bytes = if_quantized(attention_bytes.max(feed_forward_bytes)).checked_add(self.tile)?;
        let bytes = bytes.checked_add(self.unpacked())?;
        Some(Needs {
            floats: floats.checked_next_multiple_of(ALIGNED_FLOATS)?,
            bytes: bytes.checked_next_multiple_of(ALIGNMENT)?,
        })
    }

    /// Rows that are converted together. With quantised activations hardly any are, and storage is for small memories;
    /// the scales and minima of a tile of blocks take two.
    const fn converted_rows(&self) -> usize {
        match (self.tile, self.quantized, self.grouped) {
            (0, ..) => CONVERTED_ROWS,
            (_, true, true) => 2,
            (_, true, false) => 1,
            _ => CONVERTED_ROWS_OF_TILE,
        }
    }

    fn vector(&self) -> usize {
        (self.hidden * 2).max(self.widest)
    }

    /// Takes what bringing weights in needs off a job's scratch memory; the rest comes back.
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

    /// What the integer attention of a head over `tokens` needs, off a job's scratch memory.
    pub(super) fn integer_head<'a>(
        &self,
        tokens: usize,
        mut floats: &'a mut [f32],
        mut bytes: &'a mut [u8],
    ) -> Option<IntegerHead<'a>> {
        let Self { head, key_stride, .. } = *self;
        let pairs = head.div_ceil(2) * 4;
        Some(IntegerHead {
            scores: split_off(&mut floats, key_stride * QUERY_BLOCK)?,
            queries: split_off(&mut bytes, tokens * pairs)?,
            keys: split_off(&mut bytes, key_stride * pairs)?,
            values: split_off(&mut bytes, tokens.div_ceil(2) * 4 * head)?,
            probabilities: split_off(&mut bytes, tokens.div_ceil(2) * 4 * QUERY_BLOCK)?,
            query_scales: split_off(&mut floats, tokens)?,
            key_scales: split_off(&mut floats, tokens)?,
            value_scales: split_off(&mut floats, head)?,
            probability_scales: split_off(&mut floats, QUERY_BLOCK)?,
            inverses: split_off(&mut floats, tokens.max(head))?,
        })
    }

    /// Memory for the codes of up to `tokens` (at most a block) of any width, off a job's scratch memory.
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

/// The floats and the bytes begin at multiples of this many bytes, as their pieces do as far as sizes are multiples of it: a
/// vector across two cache lines costs twice.
const ALIGNMENT: usize = 64;
/// The same in floats.
const ALIGNED_FLOATS: usize = ALIGNMENT / 4;

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

fn sum(terms: &[Option<usize>]) -> Option<usize> {
    terms.iter().try_fold(0_usize, |sum, &term| sum.checked_add(term?))
}

/// Scratch memory for one thread that runs a model (and its jobs).
#[derive(Debug)]
pub struct Workspace<'a> {
    pub(super) layout: Layout,
    pub(super) hidden: &'a mut [f32],
    pub(super) context: &'a mut [f32],
    /// The codes of the hidden states; empty without quantised activations.
    pub(super) codes: CodeBuffers<'a>,
    pub(super) floats: &'a mut [f32],
    pub(super) bytes: &'a mut [u8],
}

impl<'a> Workspace<'a> {
    /// How much memory `plan` needs for a model of these sizes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the plan is for nothing or larger than memory can be, or its tile too small.
    pub fn needs(config: &BertConfig, plan: &Plan) -> Result<Needs> {
        let invalid = Error::without_offset(ErrorKind::InvalidArgument);
        if plan.tile_bytes != 0 && plan.tile_bytes < Needs::least_tile_bytes(config) {
            return Err(invalid);
        }
        Layout::new(config, plan).map(|layout| layout.total).ok_or(invalid)
    }

    /// A workspace in the memory lent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if it is less than [`needs`](Self::needs) says.
    pub fn new(
        config: &BertConfig,
        plan: &Plan,
        mut floats: &'a mut [f32],
        mut bytes: &'a mut [u8],
    ) -> Result<Self> {
        let needs = Self::needs(config, plan)?;
        if floats.len() < needs.floats || bytes.len() < needs.bytes {
            return Err(TOO_SMALL);
        }
        let layout = Layout::new(config, plan).ok_or(TOO_SMALL)?;
        let unaligned = floats.as_ptr().align_offset(ALIGNMENT).min(ALIGNED_FLOATS - 1);
        split_off(&mut floats, unaligned).ok_or(TOO_SMALL)?;
        if needs.bytes > 0 {
            let unaligned = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT - 1);
            split_off(&mut bytes, unaligned).ok_or(TOO_SMALL)?;
        }
        let states = layout.tokens.saturating_mul(layout.hidden);
        let tokens = layout.code_tokens();
        Ok(Self {
            layout,
            hidden: split_off(&mut floats, states).ok_or(TOO_SMALL)?,
            context: split_off(&mut floats, states).ok_or(TOO_SMALL)?,
            codes: CodeBuffers {
                codes: split_off(&mut bytes, tokens * layout.hidden).ok_or(TOO_SMALL)?,
                zeros: split_off(&mut bytes, tokens * MAX_GROUPS).ok_or(TOO_SMALL)?,
                scales: split_off(&mut floats, tokens * layout.scale_slots(layout.hidden))
                    .ok_or(TOO_SMALL)?,
            },
            floats,
            bytes,
        })
    }
}
