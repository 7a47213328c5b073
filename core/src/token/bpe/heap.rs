//! A binary heap in lent memory.

use crate::error::{Error, ErrorKind, Result};
use crate::token::heap_sort::swap;

/// A heap with the least entry on top.
pub(super) struct Heap<'s, T> {
    pub(super) entries: &'s mut [T],
    pub(super) length: usize,
}

impl<T: Copy + Ord> Heap<'_, T> {
    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if there is no memory for it.
    pub(super) fn push(&mut self, entry: T) -> Result<()> {
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let mut at = self.length;
        *self.entries.get_mut(at).ok_or(small)? = entry;
        self.length = at.saturating_add(1);
        while let Some(parent) = at.checked_sub(1).map(|at| at / 2) {
            if self.entries.get(at) >= self.entries.get(parent) {
                break;
            }
            swap(self.entries, at, parent);
            at = parent;
        }
        Ok(())
    }

    /// Takes the least entry away.
    pub(super) fn pop(&mut self) -> Option<T> {
        let last = self.length.checked_sub(1)?;
        let top = self.entries.first().copied()?;
        swap(self.entries, 0, last);
        self.length = last;
        let mut at = 0_usize;
        loop {
            let left = at.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            if left >= last {
                return Some(top);
            }
            let right_is_less = right < last && self.entries.get(right) < self.entries.get(left);
            let least = if right_is_less { right } else { left };
            if self.entries.get(least) >= self.entries.get(at) {
                return Some(top);
            }
            swap(self.entries, at, least);
            at = least;
        }
    }
}
