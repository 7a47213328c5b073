//! Keys and values of the tokens so far, in caller-provided memory.

use super::original_positions;
use crate::error::{Error, ErrorKind, Result};
use crate::model::config::Config;
use crate::model::plan::Needs;
use crate::model::size::{possible, product};

/// Keys and values of all tokens so far, in `2 · layers · kv_heads · positions · head` floats of
/// caller-provided memory.
#[derive(Debug)]
pub struct Cache<'a> {
    values: &'a mut [f32],
    positions: usize,
    /// The number of tokens in it.
    pub(super) length: usize,
    /// True if its tokens are rotated as those of long texts.
    pub(super) is_long: bool,
}

impl<'a> Cache<'a> {
    /// The size in floats of a cache for `positions` positions; `None` on overflow.
    #[must_use]
    pub const fn floats_needed(config: &Config, positions: usize) -> Option<usize> {
        let floats = product(&[config.heads.key_width(), 2, config.layers, positions]);
        match possible(Needs { floats, bytes: 0 }) {
            Some(needs) => Some(needs.floats),
            None => None,
        }
    }

    /// An empty cache for `positions` positions. In models with separate divisors for long texts,
    /// tokens are rotated with these if the text may become long; see [`set_long`](Self::set_long).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if the memory is too small.
    pub fn new(config: &Config, positions: usize, memory: &'a mut [f32]) -> Result<Self> {
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let needed = Self::floats_needed(config, positions).ok_or(small)?;
        let values = memory.get_mut(..needed).ok_or(small)?;
        let is_long = positions > original_positions(config);
        Ok(Self { values, positions, length: 0, is_long })
    }

    /// Restores a cache of `length` tokens whose memory the caller kept, with the same positions.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and [`ErrorKind::InvalidArgument`] if there are more tokens than
    /// positions.
    pub fn resume(
        config: &Config,
        positions: usize,
        length: usize,
        memory: &'a mut [f32],
    ) -> Result<Self> {
        if length > positions {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        Ok(Self { length, ..Self::new(config, positions, memory)? })
    }

    /// Sets whether further tokens are rotated as those of a [long](super::Llama::is_long) text;
    /// tokens already in the cache are unchanged.
    pub const fn set_long(&mut self, is_long: bool) {
        self.is_long = is_long;
    }

    /// The number of tokens in it.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Returns true if it has no tokens.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The capacity in tokens.
    #[must_use]
    pub const fn positions(&self) -> usize {
        self.positions
    }

    /// Removes all tokens from the `length`-th on.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// One head's keys and values of a layer, `[positions, head]` each.
    pub(super) fn head(
        &mut self,
        config: &Config,
        layer: usize,
        kv_head: usize,
    ) -> Option<(&mut [f32], &mut [f32])> {
        let size = self.positions * config.head();
        let start = (layer * config.heads.key_value + kv_head) * 2 * size;
        self.values.get_mut(start..start + 2 * size)?.split_at_mut_checked(size)
    }
}
