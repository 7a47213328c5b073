//! Scratch memory, lent by the caller; how much is needed is known exactly before.

use super::config::BertConfig;
use super::parallel::split_off;
use crate::error::{Error, ErrorKind, Result};

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
}

impl Plan {
    /// A plan for `tokens` on one thread, with weights in memory.
    #[must_use]
    pub const fn new(tokens: usize) -> Self {
        Self { tokens, jobs: 1, tile_bytes: 0 }
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
    /// Both together, in bytes.
    #[must_use]
    pub const fn total_bytes(&self) -> usize {
        self.floats.saturating_mul(4).saturating_add(self.bytes)
    }

    /// The smallest tile for weights that cannot be borrowed: one row or one vector of the model.
    #[must_use]
    pub const fn least_tile_bytes(config: &BertConfig) -> usize {
        4 * max(config.hidden, config.intermediate)
    }
}

/// Query rows whose scores are computed together.
pub(super) const QUERY_BLOCK: usize = 32;
/// Tokens that pass through the feed-forward layers together, so that its output stays in the L2 cache.
const FEED_FORWARD_BLOCK: usize = 128;
/// Rows of weights that are converted to f32 together.
const CONVERTED_ROWS: usize = 8;

/// The sizes of the pieces of a workspace, all in elements; they depend on the model and the plan alone.
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
    pub(super) vector: usize,
    pub(super) converted: usize,
    pub(super) tile: usize,
    hidden: usize,
    head: usize,
    widest: usize,
}

impl Layout {
    /// `None` if the sizes overflow or the plan is empty.
    pub(super) fn new(config: &BertConfig, plan: &Plan) -> Option<Self> {
        let Plan { tokens, jobs, tile_bytes } = *plan;
        let BertConfig { hidden, intermediate, .. } = *config;
        if tokens == 0 || jobs == 0 || hidden == 0 || intermediate == 0 {
            return None;
        }
        let jobs = jobs.min(tokens);
        let share = tokens.div_ceil(jobs);
        let widest = hidden.max(intermediate);
        Some(Self {
            tokens,
            jobs,
            heads: config.heads.div_ceil(jobs),
            block: if tile_bytes == 0 { share.min(FEED_FORWARD_BLOCK) } else { share },
            key_stride: tokens.checked_next_multiple_of(16)?,
            vector: hidden.checked_mul(2)?.max(intermediate),
            converted: widest.checked_mul(CONVERTED_ROWS)?,
            tile: tile_bytes,
            hidden,
            head: config.head(),
            widest,
        })
    }

    /// Floats that every job needs for itself.
    pub(super) fn job_floats(&self) -> Option<usize> {
        let queries_and_values = self.tokens.checked_mul(self.head)?.checked_mul(2)?;
        let keys = self.key_stride.checked_mul(self.head)?;
        let scores = self.key_stride.checked_mul(QUERY_BLOCK.min(self.tokens))?;
        let attention = queries_and_values.checked_add(keys)?.checked_add(scores)?;
        let feed_forward = self.block.checked_mul(self.hidden.checked_add(self.widest)?)?;
        attention.max(feed_forward).checked_add(self.vector)?.checked_add(self.converted)
    }

    pub(super) fn needs(&self) -> Option<Needs> {
        let vectors = self.tokens.checked_mul(self.hidden)?.checked_mul(2)?;
        let floats = self.job_floats()?.checked_mul(self.jobs)?.checked_add(vectors)?;
        Some(Needs { floats, bytes: self.tile.checked_mul(self.jobs)? })
    }
}

/// Scratch memory for one thread that runs a model (and its jobs).
#[derive(Debug)]
pub struct Workspace<'a> {
    pub(super) layout: Layout,
    pub(super) hidden: &'a mut [f32],
    pub(super) context: &'a mut [f32],
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
        Layout::new(config, plan).and_then(|layout| layout.needs()).ok_or(invalid)
    }

    /// The bytes that `tokens` need on one thread with weights in memory: [`Needs::total_bytes`] of [`Plan::new`].
    ///
    /// # Errors
    ///
    /// As [`needs`](Self::needs).
    pub fn bytes_needed(config: &BertConfig, tokens: usize) -> Result<usize> {
        Ok(Self::needs(config, &Plan::new(tokens))?.total_bytes())
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
        bytes: &'a mut [u8],
    ) -> Result<Self> {
        let needs = Self::needs(config, plan)?;
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        if floats.len() < needs.floats || bytes.len() < needs.bytes {
            return Err(too_small);
        }
        let layout = Layout::new(config, plan).ok_or(too_small)?;
        let size = layout.tokens.saturating_mul(layout.hidden);
        let hidden = split_off(&mut floats, size).ok_or(too_small)?;
        let context = split_off(&mut floats, size).ok_or(too_small)?;
        Ok(Self { layout, hidden, context, floats, bytes })
    }
}

const fn max(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}
