//! Memory that is lent.

use std::alloc::{Layout, alloc, dealloc};

use nanoembed_core::ErrorKind;
use nanoembed_ffi::memory::NANOEMBED_ALIGN;
use nanoembed_ffi::status::{NANOEMBED_OK, nanoembed_status};

/// Memory as `malloc` gives it: aligned, of exactly this size, and not initialised.
pub(crate) struct Room {
    pub(crate) start: *mut u8,
    layout: Layout,
}

impl Room {
    pub(crate) fn new(bytes: usize) -> Self {
        assert_ne!(bytes, 0);
        let layout = Layout::from_size_align(bytes, NANOEMBED_ALIGN).expect("a size");
        // SAFETY: not of size zero.
        let start = unsafe { alloc(layout) };
        assert!(!start.is_null());
        Self { start, layout }
    }

    /// As much as `init` takes, which refuses one byte less.
    pub(crate) fn exactly(
        bytes: usize,
        mut init: impl FnMut(*mut u8, usize) -> nanoembed_status,
    ) -> Self {
        let room = Self::new(bytes);
        let too_small = u32::from(ErrorKind::BufferTooSmall.code());
        assert_eq!(init(room.start, room.bytes() - 1), too_small);
        assert_eq!(init(room.start, room.bytes()), NANOEMBED_OK);
        room
    }

    pub(crate) fn bytes(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}
