//! Memory that is known before: what a pass is planned for, and how much it needs.

use super::config::Config;

/// Floats, bytes and weights that are requantised begin at multiples of this many bytes, as their
/// pieces do as far as sizes are multiples of it: a vector across two cache lines costs twice.
pub(crate) const ALIGNMENT: usize = 64;

/// What a [`Workspace`](super::Workspace) must suffice for.
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
    /// Fewer take less memory; weights that cannot be borrowed are read again for each block.
    pub block: usize,
}

impl Plan {
    /// A plan for `tokens` on one thread, with weights in memory and activations in f32.
    ///
    /// [`Transformer::plan`](super::Transformer::plan) knows whether a model was made for quantised
    /// activations.
    #[must_use]
    pub const fn new(tokens: usize) -> Self {
        Self { tokens, jobs: 1, tile_bytes: 0, quantized: false, grouped: false, block: 0 }
    }
}

/// How much memory a plan needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// Elements of f32.
    pub floats: usize,
    /// Bytes beside those.
    pub bytes: usize,
}

impl Needs {
    /// The smallest tile for weights that cannot be borrowed: one row or one vector of the model.
    #[must_use]
    pub const fn least_tile_bytes(config: &Config) -> usize {
        4 * config.widest()
    }
}
