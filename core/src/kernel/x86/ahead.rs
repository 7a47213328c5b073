//! Fetching the weights that will be wanted next, a cache line at a time between multiplications.

use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Some bytes of some rows, fetched to L2.
pub(super) struct Ahead {
    next: *const u8,
    /// Cache lines left of this row, and of all.
    of_row: usize,
    left: usize,
    /// Cache lines of a row, and bytes from the end of one row's to the next.
    lines: usize,
    skip: usize,
}

impl Ahead {
    /// `bytes` bytes of `rows` rows, `stride` bytes apart. They need not exist: nothing is read.
    pub(super) fn new(start: *const u8, rows: usize, bytes: usize, stride: usize) -> Self {
        let lines = bytes.div_ceil(LINE);
        let skip = stride.saturating_sub(lines * LINE);
        Self { next: start, of_row: lines, left: lines * rows, lines, skip }
    }

    /// Asks for the next cache line.
    #[inline(always)]
    pub(super) fn fetch(&mut self) {
        if self.left == 0 {
            return;
        }
        // SAFETY: a hint, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(self.next.cast()) };
        self.left -= 1;
        self.of_row -= 1;
        self.next = self.next.wrapping_add(LINE);
        if self.of_row == 0 {
            self.of_row = self.lines;
            self.next = self.next.wrapping_add(self.skip);
        }
    }
}
