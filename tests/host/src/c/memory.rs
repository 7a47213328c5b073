//! Memory as C provides it: of exactly the requested size, so that a sanitiser detects overruns.

use std::alloc::{Layout, alloc, dealloc};

use nanoembed_ffi::memory::NANOEMBED_ALIGN;

/// Memory with arbitrary initial contents.
#[derive(Debug)]
pub struct Memory {
    /// Its first byte.
    pub start: *mut u8,
    layout: Layout,
}

/// The largest size: valid files need less here.
const MOST: usize = 64 << 20;

impl Memory {
    /// `bytes` bytes; `None` if that is more than the limit.
    pub fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, NANOEMBED_ALIGN).ok()?;
        if bytes == 0 || bytes > MOST {
            return None;
        }
        // SAFETY: not of size zero.
        let start = unsafe { alloc(layout) };
        assert!(!start.is_null(), "{bytes} bytes");
        // SAFETY: just allocated with that many bytes. Not zeros, which would look like valid
        // contents.
        unsafe { start.write_bytes(0xA5, bytes) };
        Some(Self { start, layout })
    }

    /// The size in bytes.
    pub const fn bytes(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}
