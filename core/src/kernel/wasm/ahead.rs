//! Bringing what will be wanted next into the caches, by reading: WebAssembly has no instruction that only fetches.

use core::ptr::read_volatile;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Some bytes, a few cache lines at a time. The CPU goes on multiplying while it waits for a few.
pub(super) struct Ahead<'a> {
    left: &'a [u8],
    /// Bytes of the lines that are touched at a time.
    at_once: usize,
}

impl<'a> Ahead<'a> {
    /// `bytes`, spread evenly over `calls` calls.
    pub(super) fn new(bytes: &'a [u8], calls: usize) -> Self {
        let lines = bytes.len().div_ceil(LINE);
        Self { left: bytes, at_once: lines.div_ceil(calls.max(1)) * LINE }
    }

    /// Nothing to bring in.
    pub(super) const fn nothing() -> Self {
        Self { left: &[], at_once: 0 }
    }

    /// Touches the next lines.
    #[inline(always)]
    pub(super) fn touch(&mut self) {
        let (next, left) = self.left.split_at(self.at_once.min(self.left.len()));
        self.left = left;
        for line in next.chunks(LINE) {
            // SAFETY: a chunk has a first byte. Volatile, or the compiler would see that nobody wants it.
            unsafe { read_volatile(line.as_ptr()) };
        }
    }
}
