//! Memory for modules that hold one model: a list of what is free, in the order of addresses.
//!
//! A quarter of the code of an allocator for everything. Blocks carry no headers, and neighbours
//! that are free are joined; each call walks over the list, which is short where a model's memory
//! is a few large blocks and a call's a few small ones.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::wasm32::{memory_grow, memory_size};
use core::cell::UnsafeCell;
use core::ptr::{null_mut, with_exposed_provenance_mut};

/// Blocks begin at multiples of so many bytes, and their sizes are such multiples.
const STEP: usize = 16;
const PAGE: usize = 1 << 16;

/// The header of a free block.
struct Free {
    next: *mut Free,
    bytes: usize,
}

/// An allocator for one thread, as modules have.
pub(crate) struct FirstFit(UnsafeCell<*mut Free>);

// SAFETY: there are no other threads in a module without shared memory.
unsafe impl Sync for FirstFit {}

impl FirstFit {
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(null_mut()))
    }

    /// Takes `bytes` of the first free memory that has them: that at `place`, if one is asked for.
    /// Null if there is none.
    ///
    /// # Safety
    ///
    /// `bytes` is a multiple of `STEP`, and not 0.
    unsafe fn take(&self, bytes: usize, place: Option<*mut u8>) -> *mut u8 {
        let mut link = self.0.get();
        // SAFETY: one thread; `link` is the list's start or the first field of memory in it.
        unsafe {
            while !(*link).is_null() {
                let free = *link;
                let fits = (*free).bytes >= bytes;
                if fits && place.is_none_or(|place| place == free.cast()) {
                    *link = (*free).next;
                    if (*free).bytes > bytes {
                        let rest = free.byte_add(bytes);
                        *rest = Free { next: *link, bytes: (*free).bytes - bytes };
                        *link = rest;
                    }
                    return free.cast();
                }
                link = &raw mut (*free).next;
            }
        }
        null_mut()
    }

    /// Puts memory into the list.
    ///
    /// # Safety
    ///
    /// Nothing else uses these bytes; both numbers are multiples of `STEP`, and neither is 0.
    unsafe fn give(&self, block: *mut u8, bytes: usize) {
        let mut link = self.0.get();
        let mut before: *mut Free = null_mut();
        // SAFETY: one thread; `link` as in `take`; a block has room for what stands in it.
        unsafe {
            while !(*link).is_null() && (*link).cast() < block {
                before = *link;
                link = &raw mut (*before).next;
            }
            let mut free: *mut Free = block.cast();
            *free = Free { next: *link, bytes };
            if !before.is_null() && before.byte_add((*before).bytes) == free {
                (*before).bytes += bytes;
                free = before;
            } else {
                *link = free;
            }
            let next = (*free).next;
            if free.byte_add((*free).bytes) == next {
                (*free).bytes += (*next).bytes;
                (*free).next = (*next).next;
            }
        }
    }

    /// Where the memory begins after which nothing is in use.
    fn rest(&self) -> usize {
        let end = memory_size(0) * PAGE;
        let mut link = self.0.get();
        // SAFETY: as in `take`.
        unsafe {
            while !(*link).is_null() {
                let free = *link;
                if free.addr() + (*free).bytes == end {
                    return free.addr();
                }
                link = &raw mut (*free).next;
            }
        }
        end
    }

    /// Gets memory from the system until `bytes` are free at the end; false if it has no more.
    fn grow(&self, bytes: usize) -> bool {
        let missing = bytes - (memory_size(0) * PAGE - self.rest());
        let pages = missing.div_ceil(PAGE);
        let end = memory_grow(0, pages);
        if end == usize::MAX {
            return false;
        }
        // SAFETY: these pages are new.
        unsafe { self.give(with_exposed_provenance_mut(end * PAGE), pages * PAGE) };
        true
    }
}

/// The bytes of a block, `None` beyond all memory.
fn bytes(layout: Layout) -> Option<usize> {
    if layout.align() > STEP {
        return None;
    }
    layout.size().max(1).checked_next_multiple_of(STEP)
}

// SAFETY: blocks are as large as they must be and begin at multiples of 16, the largest alignment
// that is answered; memory is either in use or in the list.
unsafe impl GlobalAlloc for FirstFit {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(bytes) = bytes(layout) else { return null_mut() };
        // SAFETY: `bytes` is such a number.
        unsafe {
            let block = self.take(bytes, None);
            if !block.is_null() || !self.grow(bytes) {
                return block;
            }
            self.take(bytes, None)
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(bytes) = bytes(layout) {
            // SAFETY: the block came from `alloc` with this layout.
            unsafe { self.give(block, bytes) };
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's: the size is not beyond what a layout may have.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let (Some(has), Some(needs)) = (bytes(layout), bytes(wanted)) else { return null_mut() };
        let end = block.wrapping_add(has);
        // SAFETY: as above; what is beyond the smaller of both sizes is not copied.
        unsafe {
            if needs < has {
                self.give(block.add(needs), has - needs);
                return block;
            }
            if needs == has || !self.take(needs - has, Some(end)).is_null() {
                return block;
            }
            // The last block of all grows where it is.
            if end.addr() == self.rest() && self.grow(needs - has) {
                self.take(needs - has, Some(end));
                return block;
            }
            let to = self.alloc(wanted);
            if !to.is_null() {
                to.copy_from_nonoverlapping(block, layout.size());
                self.dealloc(block, layout);
            }
            to
        }
    }
}
