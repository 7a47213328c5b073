//! Memory from the heap, and handles at its front.

use core::mem::MaybeUninit;
use std::alloc::{Layout, alloc_zeroed, dealloc};

use crate::decoder_model::nanoembed_decoder;
use crate::memory::ALIGN;
use crate::model_handle::nanoembed_model;
use crate::pointer;
use crate::session::nanoembed_session;
use crate::status::{Failure, NANOEMBED_OK, NANOEMBED_OUT_OF_MEMORY, nanoembed_status};
use crate::tokenizer::nanoembed_tokenizer;
use crate::words::nanoembed_words;
use crate::workspace::nanoembed_workspace;

/// Memory from the heap that goes back unless it is kept.
pub(super) struct Memory {
    pub(super) start: *mut u8,
    pub(super) layout: Layout,
}

impl Memory {
    pub(super) fn new(bytes: usize) -> Result<Self, nanoembed_status> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN);
        let layout = layout.map_err(|_| NANOEMBED_OUT_OF_MEMORY)?;
        // SAFETY: at least one byte.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() { Err(NANOEMBED_OUT_OF_MEMORY) } else { Ok(Self { start, layout }) }
    }

    fn keep(self) {
        core::mem::forget(self);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and given away by nobody.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// A handle, which lies at the front of its memory.
pub(super) trait Handle {
    /// Bytes that the heap gave for it; 0 if the caller lent them.
    fn owned_bytes(&mut self) -> &mut usize;
}

macro_rules! handles {
    ($($handle:ty),*) => {$(
        impl Handle for $handle {
            fn owned_bytes(&mut self) -> &mut usize {
                &mut self.owned_bytes
            }
        }
    )*};
}
handles!(nanoembed_model, nanoembed_workspace, nanoembed_words);
handles!(nanoembed_decoder, nanoembed_tokenizer, nanoembed_session);

/// A handle in memory from the heap, which `init` makes: it gets the memory, its size, and the
/// place of the pointer to the handle.
pub(super) fn on_heap<T: Handle>(
    bytes: usize,
    init: impl FnOnce(*mut u8, usize, *mut *mut T) -> nanoembed_status,
) -> Result<*mut T, nanoembed_status> {
    let memory = Memory::new(bytes)?;
    let (size, mut made) = (memory.layout.size(), core::ptr::null_mut());
    check(init(memory.start, size, &raw mut made))?;
    // SAFETY: it has been made.
    unsafe { *(*made).owned_bytes() = size };
    memory.keep();
    Ok(made)
}

/// Frees a handle from the heap; NULL and handles in lent memory are left alone.
///
/// # Safety
///
/// `handle` is NULL or a handle that is used no more.
pub(super) unsafe fn free<T: Handle>(handle: *mut T) {
    // SAFETY: the caller's promise.
    let bytes = unsafe { handle.as_mut() }.map_or(0, |handle| *handle.owned_bytes());
    if let (true, Ok(layout)) = (bytes > 0, Layout::from_size_align(bytes, ALIGN)) {
        // SAFETY: the heap gave it with this layout, and the caller's promise.
        unsafe {
            handle.drop_in_place();
            dealloc(handle.cast(), layout);
        }
    }
}

/// Where the pointer to a handle goes.
///
/// # Safety
///
/// `place` is NULL or points to memory for one.
pub(super) unsafe fn out<'a, T>(
    place: *mut *mut T,
) -> Result<&'a mut MaybeUninit<*mut T>, nanoembed_status> {
    // SAFETY: the caller's promise.
    unsafe { pointer::out(place) }.map_err(Failure::status)
}

pub(super) fn status(outcome: Result<(), nanoembed_status>) -> nanoembed_status {
    outcome.err().unwrap_or(NANOEMBED_OK)
}

pub(super) fn check(status: nanoembed_status) -> Result<(), nanoembed_status> {
    if status == NANOEMBED_OK { Ok(()) } else { Err(status) }
}
