//! Caller-provided memory for a pass.

use crate::error::{Error, ErrorKind, Result};
use crate::kernel::groups::TILE_ROWS;
use crate::model::config::{Config, Heads, NormKind, Rotary};
use crate::model::linear::{CodeBuffers, Staging};
use crate::model::parallel::split_off;
use crate::model::plan::Needs;
use crate::model::size::{larger, possible, product, sum};

/// The precision of activations in products with weights in ggml's blocks. Weights in other
/// encodings are always converted to f32 and multiplied with activations in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Activations {
    /// f32; blocks are converted to f32. The slowest, and the reference for the others.
    Floats,
    /// Two signed bytes with a scale each, for each group of columns: logits differ from
    /// [`Floats`](Self::Floats) by about a thousandth. On CPUs without kernels for it, the same as
    /// [`Floats`](Self::Floats).
    Words,
    /// One signed byte, as in llama.cpp: logits differ by some hundredths.
    Bytes,
}

/// The plan for which a [`LlamaMemory`] is sized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlamaPlan {
    /// Tokens that pass through the layers together; weights are read once for all of them.
    pub tokens: usize,
    /// Positions of the [`Cache`](super::Cache).
    pub positions: usize,
    /// Bytes of weights that are read at a time from storage that cannot be borrowed, at least a
    /// row of the widest matrix; 0 for borrowed weights.
    pub tile_bytes: usize,
    /// The precision of activations.
    pub activations: Activations,
}

impl LlamaPlan {
    /// A plan for `tokens` at a time up to `positions`, with weights in memory and
    /// [`Activations::Words`].
    #[must_use]
    pub const fn new(tokens: usize, positions: usize) -> Self {
        Self { tokens, positions, tile_bytes: 0, activations: Activations::Words }
    }
}

/// The memory that a pass needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LlamaNeeds {
    /// Elements of f32.
    pub floats: usize,
    /// Further bytes, including the tile.
    pub bytes: usize,
}

/// Rows of weights that are converted to f32 together.
const CONVERTED_ROWS: usize = 8;

/// Rows of a linear layer that are computed at a time.
pub(super) const ROWS_AT_ONCE: usize = 1024;

/// Scratch memory of a pass over up to `tokens` tokens at a time.
#[derive(Debug)]
pub struct LlamaMemory<'a> {
    pub(super) tokens: usize,
    pub(super) hidden: &'a mut [f32],
    pub(super) normed: &'a mut [f32],
    pub(super) queries: &'a mut [f32],
    pub(super) keys: &'a mut [f32],
    pub(super) context: &'a mut [f32],
    pub(super) gate: &'a mut [f32],
    pub(super) up: &'a mut [f32],
    /// Queries and context of the heads that share keys and values.
    pub(super) head: &'a mut [f32],
    /// Their scores, `[tokens, heads, positions]`.
    pub(super) scores: &'a mut [f32],
    /// Cosine and sine of each token's angles.
    pub(super) angles: &'a mut [f32],
    pub(super) norm: &'a mut [f32],
    pub(super) scratch: Scratch<'a>,
}

/// The scratch memory of linear layers.
#[derive(Debug)]
pub(super) struct Scratch<'a> {
    pub(super) activations: Activations,
    /// For quantised activations.
    pub(super) codes: CodeBuffers<'a>,
    pub(super) staging: Staging<'a>,
}

impl<'a> LlamaMemory<'a> {
    /// The memory that passes by a plan need in addition to the cache.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the plan has no tokens or the memory would exceed the
    /// address space.
    pub const fn needs(config: &Config, plan: &LlamaPlan) -> Result<LlamaNeeds> {
        let sizes = Sizes::new(config, plan);
        let bytes = sum(&[sizes.codes, sizes.unpacked, plan.tile_bytes]);
        match possible(Needs { floats: sum(&sizes.floats()), bytes }) {
            Some(Needs { floats, bytes }) if plan.tokens > 0 && config.heads.key_value > 0 => {
                Ok(LlamaNeeds { floats, bytes })
            }
            _ => Err(Error::without_offset(ErrorKind::InvalidArgument)),
        }
    }

    /// Divides caller-provided memory; `bytes` beyond the plan's needs make the tile larger.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if it is smaller than [`needs`](Self::needs).
    pub fn new(
        config: &Config,
        plan: &LlamaPlan,
        mut floats: &'a mut [f32],
        mut bytes: &'a mut [u8],
    ) -> Result<Self> {
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let sizes = Sizes::new(config, plan);
        let mut take = |size: usize| split_off(&mut floats, size).ok_or(small);
        let mut take_bytes = |size: usize| split_off(&mut bytes, size).ok_or(small);
        let (codes, unpacked) = (take_bytes(sizes.codes)?, take_bytes(sizes.unpacked)?);
        Ok(Self {
            tokens: plan.tokens,
            hidden: take(sizes.states)?,
            normed: take(sizes.states)?,
            queries: take(sizes.queries)?,
            keys: take(sizes.keys)?,
            context: take(sizes.queries)?,
            gate: take(sizes.wide)?,
            up: take(sizes.wide)?,
            head: take(sizes.head)?,
            scores: take(sizes.scores)?,
            angles: take(sizes.angles)?,
            norm: take(sizes.norm)?,
            scratch: Scratch {
                activations: plan.activations,
                codes: CodeBuffers { codes, zeros: &mut [], scales: take(sizes.code_scales)? },
                staging: Staging {
                    vector: take(sizes.vector)?,
                    scales: take(sizes.vector)?,
                    converted: take(sizes.converted)?,
                    unpacked,
                    tile: bytes,
                },
            },
        })
    }
}

#[derive(Clone, Copy)]
struct Sizes {
    states: usize,
    queries: usize,
    keys: usize,
    wide: usize,
    head: usize,
    scores: usize,
    angles: usize,
    norm: usize,
    vector: usize,
    converted: usize,
    codes: usize,
    code_scales: usize,
    unpacked: usize,
}

/// The smallest number of columns of a group.
const LEAST_GROUP: usize = 16;

impl Sizes {
    const fn new(config: &Config, plan: &LlamaPlan) -> Self {
        let Config { hidden, intermediate, .. } = *config;
        let Heads { query: heads, key_value: kv_heads, size: head } = config.heads;
        let LlamaPlan { tokens, positions, activations, .. } = *plan;
        let widest = larger(larger(hidden, intermediate), product(&[heads, head]));
        let parts = match activations {
            Activations::Floats => 0,
            Activations::Words => 2,
            Activations::Bytes => 1,
        };
        let sharing = match heads.checked_div(kv_heads) {
            Some(sharing) => sharing,
            None => 0,
        };
        let rows = product(&[tokens, sharing]);
        let code_rows = product(&[tokens, parts]);
        Self {
            states: product(&[tokens, hidden]),
            queries: product(&[tokens, heads, head]),
            keys: product(&[tokens, kv_heads, head]),
            wide: product(&[tokens, intermediate]),
            head: product(&[rows, head, 2]),
            scores: product(&[rows, positions]),
            angles: product(&[tokens, head, if may_have_local(config) { 2 } else { 1 }]),
            norm: match config.norm {
                NormKind::Rms { .. } => larger(hidden, head),
                NormKind::Layer => product(&[larger(hidden, head), 2]),
            },
            vector: ROWS_AT_ONCE,
            converted: product(&[widest, CONVERTED_ROWS]),
            codes: product(&[code_rows, widest]),
            // A scale and a sum for each group.
            code_scales: product(&[code_rows, widest.div_ceil(LEAST_GROUP), 2]),
            unpacked: if parts == 1 { product(&[widest, TILE_ROWS]) } else { 0 },
        }
    }

    /// The sizes of all pieces of floats, with repetitions.
    const fn floats(&self) -> [usize; 15] {
        [
            self.states,
            self.states,
            self.queries,
            self.queries,
            self.keys,
            self.wide,
            self.wide,
            self.head,
            self.scores,
            self.angles,
            self.norm,
            self.code_scales,
            self.vector,
            self.vector,
            self.converted,
        ]
    }
}

/// Returns true if [`has_local`] may be true, as far as is known at compile time.
const fn may_have_local(config: &Config) -> bool {
    config.attention.window.is_some() && config.rotary.is_some()
}

/// Returns true if layers with a window have different rotary positions from those without.
pub(super) fn has_local(config: &Config) -> bool {
    let other = |rotary: Rotary| rotary.local != rotary.global;
    config.attention.window.is_some() && config.rotary.is_some_and(other)
}
