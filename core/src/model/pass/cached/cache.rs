//! Keys and values of the tokens so far, in memory that the caller lends.

use super::original_positions;
use crate::error::{Error, ErrorKind, Result};
use crate::model::config::Config;
use crate::model::plan::Needs;
use crate::model::size::{possible, product};

/// Keys and values of all tokens so far, in `2 · layers · kv_heads · positions · head` floats of
/// lent memory.
#[derive(Debug)]
pub struct Cache<'a> {
    values: &'a mut [f32],
    positions: usize,
    /// Tokens that are in it.
    pub(super) length: usize,
    /// Whether its tokens are turned as those of long texts are.
    pub(super) is_long: bool,
}

impl<'a> Cache<'a> {
    /// How many floats a cache of so many positions needs; `None` if that overflows.
    #[must_use]
    pub const fn floats_needed(config: &Config, positions: usize) -> Option<usize> {
        let floats = product(&[config.heads.key_width(), 2, config.layers, positions]);
        match possible(Needs { floats, bytes: 0 }) {
            Some(needs) => Some(needs.floats),
            None => None,
        }
    }

    /// An empty cache for so many positions. In models that turn the tokens of long texts in
    /// another way, they are turned so if the text may become long; see
    /// [`set_long`](Self::set_long).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if the memory does not suffice.
    pub fn new(config: &Config, positions: usize, memory: &'a mut [f32]) -> Result<Self> {
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let needed = Self::floats_needed(config, positions).ok_or(small)?;
        let values = memory.get_mut(..needed).ok_or(small)?;
        let is_long = positions > original_positions(config);
        Ok(Self { values, positions, length: 0, is_long })
    }

    /// Takes up again a cache of `length` tokens whose memory the caller kept, with the same
    /// positions.
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

    /// Says whether the text is a [long](super::Llama::is_long) one, for the tokens that will be
    /// put into it; those that are in it stay as they are.
    pub const fn set_long(&mut self, is_long: bool) {
        self.is_long = is_long;
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
        config: &Config,
        layer: usize,
        kv_head: usize,
    ) -> Option<(&mut [f32], &mut [f32])> {
        let size = self.positions * config.head();
        let start = (layer * config.heads.key_value + kv_head) * 2 * size;
        self.values.get_mut(start..start + 2 * size)?.split_at_mut_checked(size)
    }
}
