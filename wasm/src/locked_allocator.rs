//! Memory for threads that share it: the allocator of other modules with models, behind a lock.

use core::alloc::{GlobalAlloc, Layout};

use dlmalloc::Dlmalloc;

use crate::lock::Lock;

/// An allocator for all threads of a module.
pub(crate) struct LockedAllocator(Lock<Dlmalloc>);

impl LockedAllocator {
    pub(crate) const fn new() -> Self {
        Self(Lock::new(Dlmalloc::new()))
    }
}

// SAFETY: dlmalloc's blocks are as layouts say, and one thread at a time is in it. Zeros are written
// outside of the lock, by the method that the trait has.
unsafe impl GlobalAlloc for LockedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        self.0.with(|blocks| unsafe { blocks.malloc(layout.size(), layout.align()) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        self.0.with(|blocks| unsafe { blocks.free(block, layout.size(), layout.align()) });
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (before, align) = (layout.size(), layout.align());
        // SAFETY: the caller's.
        self.0.with(|blocks| unsafe { blocks.realloc(block, before, align, size) })
    }
}
