//! Scratch memory, lent by the caller; how much is needed is known exactly before.

use super::config::BertConfig;
use super::layout::{ALIGNED_FLOATS, ALIGNMENT, Layout, MAX_GROUPS};
use super::linear::CodeBuffers;
use super::parallel::split_off;
use crate::error::{Error, ErrorKind, Result};

/// What a [`Workspace`] must suffice for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Tokens that are computed together: the longest text, or several short ones packed.
    pub tokens: usize,
    /// Parts that run at the same time, as [`Parallel::jobs`](super::Parallel::jobs) says; 1
    /// without threads.
    pub jobs: usize,
    /// Bytes of weights that are read at a time from storage that cannot be borrowed; 0 where it
    /// can.
    ///
    /// At least [`Needs::least_tile_bytes`]; more means fewer, larger reads.
    pub tile_bytes: usize,
    /// Whether activations are quantised where weights are 8-bit: faster, and the same bits on
    /// every machine.
    ///
    /// Without it weights are converted to f32 as they are used: slower, and as precise as the
    /// weights are. Models whose weights are all floats run the same either way, and need less
    /// memory without. Models without column scales lose much precision with it.
    pub quantized: bool,
    /// Whether some weights are in blocks; with `quantized`, activations for them are quantised
    /// too, in the groups of the blocks. Without `quantized` blocks are converted to f32 as they
    /// are used.
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

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

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
    /// [`ErrorKind::InvalidArgument`] if the plan is for nothing or larger than memory can be, or
    /// its tile too small.
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
