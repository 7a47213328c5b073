//! A lock for memory that threads share.
//!
//! It spins: a page's own thread may not wait as `memory.atomic.wait32` does, and what is done
//! under a lock is short.

use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, Ordering};

/// A value that one thread has at a time.
pub(crate) struct Lock<T> {
    is_held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time reaches the value.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { is_held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Calls `run` with the value. It must neither stop nor take the same lock: other threads would
    /// wait forever.
    pub(crate) fn with<R>(&self, run: impl FnOnce(&mut T) -> R) -> R {
        while self.is_held.swap(true, Ordering::Acquire) {
            while self.is_held.load(Ordering::Relaxed) {
                spin_loop();
            }
        }
        // SAFETY: whoever set `is_held` has the value alone.
        let result = run(unsafe { &mut *self.value.get() });
        self.is_held.store(false, Ordering::Release);
        result
    }
}
