//! Sources of a file's bytes for lookups: memory, or storage with random access.

use crate::error::{Error, ErrorKind, Result};
use crate::kernel::prefetch;
use crate::read::ReadAt;

/// Provides byte ranges of the file: by a borrow if the file is in memory, otherwise through the
/// caller's buffer.
pub trait Source {
    /// The `bytes` bytes from the absolute `offset` on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SourceChanged`] if the file ends early; [`ErrorKind::BufferTooSmall`] if they
    /// must be read and `scratch` cannot hold them; any error of reading.
    fn block<'s>(&'s self, offset: u64, bytes: usize, scratch: &'s mut [u8]) -> Result<&'s [u8]>;

    /// The largest [`block`](Self::block) in bytes with `scratch_bytes` of scratch.
    fn block_limit(&self, scratch_bytes: usize) -> usize;

    /// Prefetches a stretch of the file, so that the latencies of several overlap. Does nothing for
    /// a source that is not in memory.
    #[inline]
    fn expect(&self, _offset: u64, _bytes: usize) {}

    /// Calls `on_piece` with consecutive pieces of a stretch of the file, cut at multiples of 1024
    /// bytes from its start.
    ///
    /// # Errors
    ///
    /// Any error from [`block`](Self::block) or `on_piece`.
    #[inline]
    fn pieces(
        &self,
        offset: u64,
        bytes: usize,
        mut on_piece: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut scratch = [0; PIECE_BYTES];
        let mut done = 0;
        while done < bytes {
            let piece = PIECE_BYTES.min(bytes.saturating_sub(done));
            on_piece(self.block(offset.saturating_add(done as u64), piece, &mut scratch)?)?;
            done = done.saturating_add(piece);
        }
        Ok(())
    }
}

const PIECE_BYTES: usize = 1024;

/// A file that is all in memory: read, mapped, or in flash.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a>(pub &'a [u8]);

impl Memory<'_> {
    fn get(&self, offset: u64, bytes: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.0.get(start..start.checked_add(bytes)?)
    }
}

impl Source for Memory<'_> {
    #[inline]
    fn block<'s>(&'s self, offset: u64, bytes: usize, _: &'s mut [u8]) -> Result<&'s [u8]> {
        self.get(offset, bytes).ok_or(Error::new(offset, ErrorKind::SourceChanged))
    }

    fn block_limit(&self, _: usize) -> usize {
        usize::MAX
    }

    #[inline]
    fn expect(&self, offset: u64, bytes: usize) {
        prefetch(self.get(offset, bytes).unwrap_or(&[]));
    }

    #[inline]
    fn pieces(
        &self,
        offset: u64,
        bytes: usize,
        mut on_piece: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        on_piece(self.block(offset, bytes, &mut [])?)
    }
}

/// A file with random access.
#[derive(Clone, Copy, Debug)]
pub struct Stored<S>(pub S);

impl<S: ReadAt> Source for Stored<S> {
    fn block<'s>(&'s self, offset: u64, bytes: usize, scratch: &'s mut [u8]) -> Result<&'s [u8]> {
        let block =
            scratch.get_mut(..bytes).ok_or(Error::new(offset, ErrorKind::BufferTooSmall))?;
        self.0.read_exact_at(offset, block)?;
        Ok(block)
    }

    fn block_limit(&self, scratch_bytes: usize) -> usize {
        scratch_bytes
    }
}

/// The f32 at the absolute `offset`.
pub(super) fn read_f32(source: &impl Source, offset: u64) -> Result<f32> {
    let mut scratch = [0; 4];
    let bytes = source.block(offset, 4, &mut scratch)?.first_chunk().copied().unwrap_or_default();
    Ok(f32::from_le_bytes(bytes))
}
