//! Counts allocated memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, counting.
pub struct Counting;

static KEPT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are forwarded to the system's allocator; counting does not touch the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        KEPT.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        KEPT.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The result of `make`, and the number of bytes it keeps.
pub fn kept<R>(make: impl FnOnce() -> R) -> (R, usize) {
    let before = KEPT.load(Relaxed);
    let made = make();
    (made, KEPT.load(Relaxed).saturating_sub(before))
}
