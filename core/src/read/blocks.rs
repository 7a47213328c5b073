//! From pieces of data to whole rows or blocks of one tensor.

use crate::error::{Error, ErrorKind, Result};
use crate::tensor::TensorHeader;

/// A whole block: some rows of a matrix, or one block of a quantised layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block<'a> {
    /// The ordinal of the block in the tensor.
    pub index: u64,
    /// Its bytes, as many as the blocks were declared to have.
    pub bytes: &'a [u8],
}

/// Re-assembles blocks of one size from [`Event::Data`](crate::event::Event::Data) pieces cut
/// anywhere.
///
/// Blocks that lie whole in a piece are handed on where they lie; one that is cut is put together
/// in the lent `block`.
#[derive(Debug)]
pub struct Blocks<'b> {
    block: &'b mut [u8],
    filled: usize,
    /// The absolute offset of the next byte, and of the first behind the tensor.
    next: u64,
    end: u64,
    index: u64,
}

impl<'b> Blocks<'b> {
    /// Blocks of `block.len()` bytes of the tensor that `header` describes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SizeMismatch`] if the tensor's data is not a whole number of blocks.
    pub fn new(header: &TensorHeader<'_>, block: &'b mut [u8]) -> Result<Self> {
        let end = header.offset.checked_add(header.bytes);
        match (header.bytes.checked_rem(block.len() as u64), end) {
            (Some(0), Some(end)) => {
                Ok(Self { block, filled: 0, next: header.offset, end, index: 0 })
            }
            _ => Err(Error::new(header.offset, ErrorKind::SizeMismatch)),
        }
    }

    /// Takes a piece of the file at the absolute `offset` and calls `on_block` with every block it
    /// completes. Parts of the piece that lie outside the tensor are passed over.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if bytes of the tensor were left out before this piece; what
    /// `on_block` returns.
    pub fn feed(
        &mut self,
        offset: u64,
        piece: &[u8],
        mut on_block: impl FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        let piece_end = offset.saturating_add(piece.len() as u64);
        if piece_end <= self.next || self.is_complete() || offset >= self.end {
            return Ok(());
        }
        if offset > self.next {
            return Err(Error::new(self.next, ErrorKind::InvalidArgument));
        }
        let position =
            |absolute: u64| usize::try_from(absolute.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = position(self.next)..position(self.end.min(piece_end));
        let mut rest = piece.get(wanted).unwrap_or(&[]);
        while !rest.is_empty() {
            let size = self.block.len();
            let (part, behind) =
                rest.split_at_checked(size.saturating_sub(self.filled)).unwrap_or((rest, &[]));
            rest = behind;
            self.next = self.next.saturating_add(part.len() as u64);
            if part.len() == size {
                self.hand_on(part, &mut on_block)?;
                continue;
            }
            let end = self.filled.saturating_add(part.len());
            for (to, from) in
                self.block.get_mut(self.filled..end).unwrap_or(&mut []).iter_mut().zip(part)
            {
                *to = *from;
            }
            self.filled = end;
            if self.filled == size {
                self.filled = 0;
                on_block(Block { index: self.index, bytes: self.block })?;
                self.index = self.index.saturating_add(1);
            }
        }
        Ok(())
    }

    fn hand_on(
        &mut self,
        bytes: &[u8],
        on_block: &mut impl FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        on_block(Block { index: self.index, bytes })?;
        self.index = self.index.saturating_add(1);
        Ok(())
    }

    /// Whether all blocks have been handed on.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.next == self.end
    }
}
