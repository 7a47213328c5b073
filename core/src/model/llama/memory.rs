//! Memory for keys and values, and for a pass, lent by the caller.

use super::config::LlamaConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::model::linear::Staging;
use crate::model::parallel::split_off;

/// Keys and values of all tokens so far, in `2 · layers · kv_heads · positions · head` floats of lent memory.
#[derive(Debug)]
pub struct Cache<'a> {
    values: &'a mut [f32],
    positions: usize,
    /// Tokens that are in it.
    pub(super) length: usize,
}

impl<'a> Cache<'a> {
    /// How many floats a cache of so many positions needs; `None` if that overflows.
    #[must_use]
    pub fn floats_needed(config: &LlamaConfig, positions: usize) -> Option<usize> {
        let token = config.kv_heads.checked_mul(config.head)?.checked_mul(2)?;
        token.checked_mul(config.layers)?.checked_mul(positions)
    }

    /// An empty cache for so many positions.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if the memory does not suffice.
    pub fn new(config: &LlamaConfig, positions: usize, memory: &'a mut [f32]) -> Result<Self> {
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let needed = Self::floats_needed(config, positions).ok_or(small)?;
        let values = memory.get_mut(..needed).ok_or(small)?;
        Ok(Self { values, positions, length: 0 })
    }

    /// Takes up again a cache of `length` tokens whose memory the caller kept, with the same positions.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and [`ErrorKind::InvalidArgument`] if there are more tokens than positions.
    pub fn resume(
        config: &LlamaConfig,
        positions: usize,
        length: usize,
        memory: &'a mut [f32],
    ) -> Result<Self> {
        if length > positions {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        Ok(Self { length, ..Self::new(config, positions, memory)? })
    }

    /// How many tokens are in it.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many tokens it has room for.
    #[must_use]
    pub const fn positions(&self) -> usize {
        self.positions
    }

    /// Forgets all tokens from the `length`-th on.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// One head's keys and values of a layer, `[positions, head]` each.
    pub(super) fn head(
        &mut self,
        config: &LlamaConfig,
        layer: usize,
        kv_head: usize,
    ) -> Option<(&mut [f32], &mut [f32])> {
        let size = self.positions * config.head;
        let start = (layer * config.kv_heads + kv_head) * 2 * size;
        self.values.get_mut(start..start + 2 * size)?.split_at_mut_checked(size)
    }
}

/// How much memory a pass needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlamaNeeds {
    /// Elements of f32.
    pub floats: usize,
    /// Bytes of the tile, as the caller chose.
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
    /// One head's queries and its context.
    pub(super) head: &'a mut [f32],
    /// One head's scores, `[tokens, positions]`.
    pub(super) scores: &'a mut [f32],
    /// Cosine and sine of each token's angles.
    pub(super) angles: &'a mut [f32],
    pub(super) norm: &'a mut [f32],
    pub(super) staging: Staging<'a>,
}

impl<'a> LlamaMemory<'a> {
    /// What a pass over up to `tokens` tokens needs beside a cache of `positions`. `tile_bytes` are for weights that cannot
    /// be borrowed: a row of the widest matrix at least; 0 where they can.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if `tokens` is 0 or the memory would be larger than addresses are.
    pub fn needs(
        config: &LlamaConfig,
        tokens: usize,
        positions: usize,
        tile_bytes: usize,
    ) -> Result<LlamaNeeds> {
        let sizes = Sizes::new(config, tokens, positions).filter(|_| tokens > 0);
        let floats = sizes.and_then(|sizes| {
            sizes.all().iter().try_fold(0_usize, |sum, size| sum.checked_add(*size))
        });
        let invalid = Error::without_offset(ErrorKind::InvalidArgument);
        Ok(LlamaNeeds { floats: floats.ok_or(invalid)?, bytes: tile_bytes })
    }

    /// Memory in what is lent; all of `bytes` is the tile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if it is less than [`needs`](Self::needs) says.
    pub fn new(
        config: &LlamaConfig,
        tokens: usize,
        positions: usize,
        mut floats: &'a mut [f32],
        bytes: &'a mut [u8],
    ) -> Result<Self> {
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let sizes = Sizes::new(config, tokens, positions).ok_or(small)?;
        let mut take = |size: usize| split_off(&mut floats, size).ok_or(small);
        Ok(Self {
            tokens,
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
            staging: Staging {
                vector: take(sizes.vector)?,
                scales: take(sizes.vector)?,
                converted: take(sizes.converted)?,
                // Activations stay f32 here, so no rows of blocks are unpacked to codes.
                unpacked: &mut [],
                tile: bytes,
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
}

impl Sizes {
    fn new(config: &LlamaConfig, tokens: usize, positions: usize) -> Option<Self> {
        let LlamaConfig { heads, kv_heads, head, hidden, intermediate, .. } = *config;
        let widest = hidden.max(intermediate).max(heads.checked_mul(head)?);
        Some(Self {
            states: tokens.checked_mul(hidden)?,
            queries: tokens.checked_mul(heads.checked_mul(head)?)?,
            keys: tokens.checked_mul(kv_heads.checked_mul(head)?)?,
            wide: tokens.checked_mul(intermediate)?,
            head: tokens.checked_mul(head)?.checked_mul(2)?,
            scores: tokens.checked_mul(positions)?,
            angles: tokens.checked_mul(head)?,
            norm: hidden.max(head),
            vector: ROWS_AT_ONCE,
            converted: widest.checked_mul(CONVERTED_ROWS)?,
        })
    }

    /// Every piece as often as it is there.
    const fn all(&self) -> [usize; 14] {
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
            self.vector,
            self.vector,
            self.converted,
        ]
    }
}
