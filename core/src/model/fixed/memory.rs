//! Memory requirements of an integer run, and the division of that memory.

use super::INVALID;
use crate::error::Result;
use crate::model::plan::Needs;
use crate::model::{Config, Plan};

/// The memory that an integer run needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedNeeds {
    /// Elements of i32.
    pub words: usize,
    /// Elements of i16.
    pub codes: usize,
    /// Bytes.
    pub bytes: usize,
}

impl FixedNeeds {
    /// The requirements of a `plan`; only its tokens, tile and block matter.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if the plan is empty, too
    /// large for memory, or its tile too small.
    pub fn new(config: &Config, plan: &Plan) -> Result<Self> {
        Sizes::new(config, plan).and_then(|sizes| sizes.needs()).ok_or(INVALID)
    }
}

/// Caller-provided memory for a run, of the sizes in [`FixedNeeds`].
#[derive(Debug)]
pub struct FixedMemory<'a> {
    /// Fixed-point numbers.
    pub words: &'a mut [i32],
    /// Quantised activations.
    pub codes: &'a mut [i16],
    /// Weights read from storage.
    pub bytes: &'a mut [u8],
}

#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) tokens: usize,
    pub(super) hidden: usize,
    pub(super) intermediate: usize,
    pub(super) head: usize,
    pub(super) block: usize,
    pub(super) tile: usize,
}

impl Sizes {
    pub(super) fn new(config: &Config, plan: &Plan) -> Option<Self> {
        let Config { hidden, intermediate, .. } = *config;
        let least_tile = if plan.tile_bytes == 0 { 0 } else { Needs::least_tile_bytes(config) };
        let block = if plan.block == 0 { plan.tokens } else { plan.block.min(plan.tokens) };
        let sizes = Self {
            tokens: plan.tokens,
            hidden,
            intermediate,
            head: config.head(),
            block,
            tile: plan.tile_bytes,
        };
        (plan.tokens > 0 && sizes.head > 0 && plan.tile_bytes >= least_tile).then_some(sizes)
    }

    pub(super) fn widest(&self) -> usize {
        self.hidden.max(self.intermediate)
    }

    /// The words of one part of the work: a head's attention, or a block's feed-forward layers.
    fn part(&self) -> Option<usize> {
        let Self { tokens, hidden, head, block, .. } = *self;
        let attention = tokens.checked_mul(head)?.checked_mul(3)?.checked_add(tokens)?;
        let feed_forward =
            block.checked_mul(hidden)?.checked_add(block.checked_mul(self.widest())?)?;
        Some(attention.max(feed_forward))
    }

    pub(super) fn needs(&self) -> Option<FixedNeeds> {
        let Self { tokens, hidden, block, tile, .. } = *self;
        let widest = self.widest();
        let states = tokens.checked_mul(hidden)?;
        // Both states, a part, biases, scales, a row, and two words of a factor for each token.
        let staging = widest.checked_mul(3)?.checked_add(tokens.checked_mul(2)?)?;
        let words = states.checked_mul(2)?.checked_add(self.part()?)?.checked_add(staging)?;
        Some(FixedNeeds { words, codes: states.max(block.checked_mul(widest)?), bytes: tile })
    }
}
