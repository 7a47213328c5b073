//! Fetching what will be wanted next: weights a cache line at a time between multiplications, or all at once.

use core::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

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
    /// Calls from one fetch to the next, and since the last.
    pace: usize,
    calls: usize,
}

impl Ahead {
    /// `bytes` bytes of `rows` rows, `stride` bytes apart, spread evenly over `calls` calls: too many fetches at a time
    /// would hold up other loads. They need not exist: nothing is read.
    pub(super) fn new(
        start: *const u8,
        rows: usize,
        bytes: usize,
        stride: usize,
        calls: usize,
    ) -> Self {
        let lines = bytes.div_ceil(LINE);
        let skip = stride.saturating_sub(lines * LINE);
        let left = lines * rows;
        let pace = calls.checked_div(left).unwrap_or(0);
        Self { next: start, of_row: lines, left, lines, skip, pace, calls: 0 }
    }

    /// Asks for the next cache line, when it is time.
    #[inline(always)]
    pub(super) fn fetch(&mut self) {
        self.calls += 1;
        if self.calls < self.pace || self.left == 0 {
            return;
        }
        self.calls = 0;
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

/// Asks for these items to be brought into the first cache.
#[inline]
pub(in crate::kernel) fn prefetch<T>(items: &[T]) {
    let start = items.as_ptr().cast::<i8>();
    let bytes = size_of_val(items);
    // The last byte may lie in a line more than steps from the first one reach.
    for at in (0..bytes).step_by(LINE).chain(bytes.checked_sub(1)) {
        // SAFETY: a hint, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(at)) };
    }
}
