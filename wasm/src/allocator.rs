//! Memory for modules that inspect: lists of free blocks, one for each power of two.
//!
//! A tenth of the code of an allocator for everything. A block is never divided nor joined with
//! another, so that up to twice of what is used is taken; modules that hold models have another
//! allocator.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::wasm32::{memory_grow, memory_size};
use core::cell::UnsafeCell;
use core::ptr::null_mut;

/// Blocks begin at multiples of so many bytes, and none is smaller.
const LEAST: usize = 16;
const PAGE: usize = 1 << 16;

struct State {
    /// For each power of two a free block, whose first bytes are the address of the next.
    free: [*mut u8; usize::BITS as usize],
    /// Memory that was never a block.
    rest: *mut u8,
    rest_bytes: usize,
}

/// An allocator for one thread, as modules have.
pub(crate) struct PowersOfTwo(UnsafeCell<State>);

// SAFETY: there are no other threads in a module without shared memory.
unsafe impl Sync for PowersOfTwo {}

impl PowersOfTwo {
    pub(crate) const fn new() -> Self {
        let free = [null_mut(); usize::BITS as usize];
        Self(UnsafeCell::new(State { free, rest: null_mut(), rest_bytes: 0 }))
    }
}

impl State {
    /// A block of `size` bytes from the end of memory; null if there is no more.
    fn fresh(&mut self, size: usize) -> *mut u8 {
        if size > self.rest_bytes {
            // What is left is too small for this size and is given up: a page at most, and none if
            // memory goes on.
            let pages = size.div_ceil(PAGE);
            let end = memory_size(0) * PAGE;
            if memory_grow(0, pages) == usize::MAX {
                return null_mut();
            }
            if self.rest.addr() + self.rest_bytes != end {
                (self.rest, self.rest_bytes) = (core::ptr::with_exposed_provenance_mut(end), 0);
            }
            self.rest_bytes += pages * PAGE;
        }
        let block = self.rest;
        self.rest = block.wrapping_add(size);
        self.rest_bytes -= size;
        block
    }
}

/// Which power of two a block has, `None` beyond all memory.
fn power(layout: Layout) -> Option<usize> {
    if layout.align() > LEAST {
        return None;
    }
    let size = layout.size().max(LEAST).checked_next_power_of_two()?;
    Some(size.trailing_zeros() as usize)
}

// SAFETY: blocks are as large as they must be and begin at multiples of 16, the largest alignment
// that is answered; each is either in use or in the list of its size.
unsafe impl GlobalAlloc for PowersOfTwo {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(power) = power(layout) else { return null_mut() };
        // SAFETY: one thread, and nothing here is called from within; a free block has room for an
        // address.
        unsafe {
            let state = &mut *self.0.get();
            let Some(first) = state.free.get_mut(power) else { return null_mut() };
            let block = *first;
            if block.is_null() {
                return state.fresh(1 << power);
            }
            *first = *block.cast::<*mut u8>();
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; the block came from `alloc` with this layout.
        unsafe {
            let state = &mut *self.0.get();
            if let Some(first) = power(layout).and_then(|power| state.free.get_mut(power)) {
                *block.cast::<*mut u8>() = *first;
                *first = block;
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's: the size is not beyond what a layout may have.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if power(layout) == power(wanted) {
            return block;
        }
        // SAFETY: as above; both blocks have the smaller of both sizes.
        unsafe {
            let to = self.alloc(wanted);
            if !to.is_null() {
                core::ptr::copy_nonoverlapping(block, to, layout.size().min(size));
                self.dealloc(block, layout);
            }
            to
        }
    }
}
