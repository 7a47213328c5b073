//! Files in memory.

use nanoembed_ffi::source::*;
use nanoembed_ffi::status::NANOEMBED_OK;

/// A source of a file in memory, which has to outlive it.
pub(crate) fn in_memory(file: &[u8]) -> nanoembed_source {
    let mut source = nanoembed_source::default();
    // SAFETY: both are there.
    let status = unsafe { nanoembed_source_from_buffer(file.as_ptr(), file.len(), &mut source) };
    assert_eq!(status, NANOEMBED_OK);
    source
}
