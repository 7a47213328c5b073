//! Memory as C lends it: of exactly so many bytes, so that a sanitiser sees one byte more.

use std::alloc::{Layout, alloc, dealloc};

use nanoembed_ffi::memory::NANOEMBED_ALIGN;

/// Memory that holds anything at first.
#[derive(Debug)]
pub struct Memory {
    /// Its first byte.
    pub start: *mut u8,
    layout: Layout,
}

/// What is asked for at most: files that are honest need less here.
const MOST: usize = 64 << 20;

impl Memory {
    /// So many bytes; `None` if they are more than a caller here would lend.
    pub fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, NANOEMBED_ALIGN).ok()?;
        if bytes == 0 || bytes > MOST {
            return None;
        }
        // SAFETY: not of size zero.
        let start = unsafe { alloc(layout) };
        assert!(!start.is_null(), "{bytes} bytes");
        // SAFETY: just allocated with as many bytes. No zeros, which would look like good memory.
        unsafe { start.write_bytes(0xA5, bytes) };
        Some(Self { start, layout })
    }

    /// How many bytes there are.
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
