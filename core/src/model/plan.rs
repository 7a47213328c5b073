//! Plans of passes, and the memory that they need.

use super::config::Config;

/// The alignment in bytes of floats, bytes and requantised weights, and of their pieces as far as
/// sizes are multiples of it: a vector that spans two cache lines costs twice.
pub(crate) const ALIGNMENT: usize = 64;

/// The plan for which a [`Workspace`](super::Workspace) is sized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Tokens that are computed together: the longest text, or several short ones packed.
    pub tokens: usize,
    /// Parts that run in parallel, see [`Parallel::jobs`](super::Parallel::jobs); 1 without
    /// threads.
    pub jobs: usize,
    /// Bytes of weights that are read at a time from storage that cannot be borrowed; 0 for
    /// borrowed weights.
    ///
    /// At least [`Needs::least_tile_bytes`]; more means fewer, larger reads.
    pub tile_bytes: usize,
    /// True to quantise activations for products with 8-bit weights: faster, and bit-identical on
    /// every machine.
    ///
    /// Otherwise weights are converted to f32 as they are used: slower, and as precise as the
    /// weights. Models whose weights are all floats run the same either way, and need less memory
    /// without. Models without column scales lose much precision with it.
    pub quantized: bool,
    /// True if some weights are in blocks; with `quantized`, their activations are quantised too,
    /// in the groups of the blocks. Without `quantized`, blocks are converted to f32 as they are
    /// used.
    pub grouped: bool,
    /// Tokens that pass through the feed-forward layers together; 0 for the fastest number.
    ///
    /// Fewer take less memory; weights that cannot be borrowed are read again for each block.
    pub block: usize,
}

impl Plan {
    /// A plan for `tokens` on one thread, with weights in memory and activations in f32.
    ///
    /// [`Transformer::plan`](super::Transformer::plan) determines whether a model was made for
    /// quantised activations.
    #[must_use]
    pub const fn new(tokens: usize) -> Self {
        Self { tokens, jobs: 1, tile_bytes: 0, quantized: false, grouped: false, block: 0 }
    }
}

/// The memory that a plan needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// Elements of f32.
    pub floats: usize,
    /// Further bytes.
    pub bytes: usize,
}

impl Needs {
    /// The smallest tile for weights that cannot be borrowed: one row or one vector of the model.
    #[must_use]
    pub const fn least_tile_bytes(config: &Config) -> usize {
        4 * config.widest()
    }
}
