//! Re-assembles whole rows or blocks of one tensor from pieces of data.

use crate::error::{Error, ErrorKind, Result};
use crate::tensor::TensorHeader;

/// A complete block: some rows of a matrix, or one block of a quantised layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block<'a> {
    /// The ordinal of the block in the tensor.
    pub index: u64,
    /// Its bytes, of the declared block length.
    pub bytes: &'a [u8],
}

/// Re-assembles blocks of one size from [`Event::Data`](crate::event::Event::Data) pieces cut
/// anywhere.
///
/// A block that is contiguous in a piece is passed on without a copy; one that is cut is assembled
/// in the caller's `block`.
#[derive(Debug)]
pub struct Blocks<'b> {
    block: &'b mut [u8],
    filled: usize,
    /// The absolute offsets of the next byte and of the tensor's end.
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
    /// completes. Parts of the piece outside the tensor are skipped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if bytes of the tensor were skipped before this piece; any
    /// error from `on_block`.
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
            let (part, after) =
                rest.split_at_checked(size.saturating_sub(self.filled)).unwrap_or((rest, &[]));
            rest = after;
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

    /// Returns true if all blocks have been passed on.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.next == self.end
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;
    use crate::tensor::{Dtype, Shape};

    /// Twelve bytes, four blocks of three, that begin at the offset 40.
    fn tensor() -> TensorHeader<'static> {
        let shape = Shape::new(&[4, 3]).unwrap();
        TensorHeader { name: "w", dtype: Dtype::U8, shape, offset: 40, bytes: 12 }
    }

    /// A file in which each byte's value is its offset.
    fn file() -> [u8; 60] {
        core::array::from_fn(|at| at as u8)
    }

    #[test]
    fn blocks_are_whole_wherever_pieces_are_cut() {
        let file = file();
        for first in 0..=file.len() {
            for second in first..=file.len() {
                let mut room = [0; 3];
                let mut blocks = Blocks::new(&tensor(), &mut room).unwrap();
                let mut found = Vec::new();
                for (from, to) in [(0, first), (first, second), (second, file.len())] {
                    let on_block = |block: Block<'_>| {
                        found.push((block.index, block.bytes.to_vec()));
                        Ok(())
                    };
                    blocks.feed(from as u64, &file[from..to], on_block).unwrap();
                    assert_eq!(blocks.is_complete(), to >= 52, "{first} {second}");
                }
                let expected: Vec<_> =
                    (0..).zip(file[40..52].chunks(3).map(<[u8]>::to_vec)).collect();
                assert_eq!(found, expected, "{first} {second}");
            }
        }
    }

    #[test]
    fn bytes_that_came_before_are_passed_over_and_a_gap_is_refused_where_it_begins() {
        let (file, mut room) = (file(), [0; 3]);
        let mut blocks = Blocks::new(&tensor(), &mut room).unwrap();
        let mut count = 0;
        let mut on_block = |block: Block<'_>| {
            count += 1;
            assert_eq!(u64::from(block.bytes[0]), 40 + 3 * block.index);
            Ok(())
        };
        blocks.feed(40, &file[40..45], &mut on_block).unwrap();
        blocks.feed(40, &file[40..45], &mut on_block).unwrap();
        blocks.feed(42, &file[42..47], &mut on_block).unwrap();
        let refused = blocks.feed(48, &file[48..], &mut on_block);
        assert_eq!(refused, Err(Error::new(47, ErrorKind::InvalidArgument)));
        blocks.feed(47, &file[47..], &mut on_block).unwrap();
        assert!(blocks.is_complete());
        assert_eq!(count, 4);
    }

    #[test]
    fn what_takes_blocks_may_refuse_one_and_sizes_must_fit() {
        let (file, mut room) = (file(), [0; 3]);
        let error = Error::new(1, ErrorKind::BadScale);
        for start in [40, 41] {
            // The second is cut, and put together in the room.
            let mut blocks = Blocks::new(&tensor(), &mut room).unwrap();
            blocks.feed(40, &file[40..start], |_| Ok(())).unwrap();
            let refused = blocks.feed(start as u64, &file[start..], |_| Err(error));
            assert_eq!(refused, Err(error));
        }
        let mismatch = Some(Error::new(40, ErrorKind::SizeMismatch));
        assert_eq!(Blocks::new(&tensor(), &mut [0; 5]).err(), mismatch);
        assert_eq!(Blocks::new(&tensor(), &mut []).err(), mismatch);
        let beyond = TensorHeader { offset: u64::MAX - 11, ..tensor() };
        assert!(Blocks::new(&beyond, &mut [0; 3]).is_err());
    }
}
