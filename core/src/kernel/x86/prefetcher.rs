//! Prefetching of upcoming data: weights one cache line at a time between multiplications, or all
//! at once.

use core::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches some bytes of some rows to L2.
#[derive(Clone, Copy)]
pub(super) struct Prefetcher {
    next: *const u8,
    /// Cache lines left of this row, and of all rows.
    of_row: usize,
    left: usize,
    /// Cache lines of a row, and bytes from the end of one row's to the next.
    lines: usize,
    skip: usize,
    /// Calls from one fetch to the next, and until the next; never 0.
    pace: usize,
    wait: usize,
}

impl Prefetcher {
    /// `bytes` bytes of `rows` rows, `stride` bytes apart, spread evenly over `calls` calls: too
    /// many fetches at a time would delay other loads. The bytes need not exist: nothing is read.
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
        let pace = calls.checked_div(left).unwrap_or(usize::MAX).max(1);
        Self { next: start, of_row: lines, left, lines, skip, pace, wait: pace }
    }

    /// Nothing to fetch.
    pub(super) const fn nothing() -> Self {
        let next = core::ptr::null();
        Self { next, of_row: 0, left: 0, lines: 0, skip: 0, pace: usize::MAX, wait: usize::MAX }
    }

    /// Prefetches the next cache line when it is due; otherwise only counts down, since inner loops
    /// call this in every step.
    #[inline(always)]
    pub(super) fn fetch(&mut self) {
        self.wait -= 1;
        if self.wait > 0 {
            return;
        }
        // SAFETY: a hint, valid for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(self.next.cast()) };
        self.left -= 1;
        self.wait = if self.left > 0 { self.pace } else { usize::MAX };
        self.of_row -= 1;
        self.next = self.next.wrapping_add(LINE);
        if self.of_row == 0 {
            self.of_row = self.lines;
            self.next = self.next.wrapping_add(self.skip);
        }
    }
}

/// Prefetches these items to the L1 cache.
#[inline]
pub(in crate::kernel) fn prefetch<T>(items: &[T]) {
    let start = items.as_ptr().cast::<i8>();
    let bytes = size_of_val(items);
    // The last byte may be in one more line than the steps from the first one reach.
    for at in (0..bytes).step_by(LINE).chain(bytes.checked_sub(1)) {
        // SAFETY: a hint, valid for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(at)) };
    }
}
