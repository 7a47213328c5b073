//! Files behind a callback.

use std::ffi::c_void;

use nanoembed_ffi::source::{nanoembed_source, nanoembed_source_from_callback};
use nanoembed_ffi::status::NANOEMBED_OK;

/// A file that is read by a callback, at most `most` bytes at a time.
pub(crate) struct Stored<'f> {
    file: &'f [u8],
    most: usize,
    /// Reading fails from there on.
    pub(crate) fails_at: u64,
}

impl<'f> Stored<'f> {
    /// Reading fails after the end of the file.
    pub(crate) fn new(file: &'f [u8], most: usize) -> Self {
        Self { file, most, fails_at: file.len() as u64 + 1 }
    }

    /// The source, which `self` and the file have to outlive.
    pub(crate) fn source(&self) -> nanoembed_source {
        let context = (&raw const *self).cast_mut().cast();
        let (length, mut source) = (self.file.len() as u64, nanoembed_source::default());
        // SAFETY: all are there.
        let status = unsafe {
            nanoembed_source_from_callback(Some(read_at), context, length, &raw mut source)
        };
        assert_eq!(status, NANOEMBED_OK);
        source
    }
}

unsafe extern "C" fn read_at(
    context: *mut c_void,
    offset: u64,
    destination: *mut u8,
    length: usize,
    read: *mut usize,
) -> i32 {
    // SAFETY: a source is used as long as what it is of lives.
    let Stored { file, most, fails_at } = unsafe { &*context.cast::<Stored<'_>>() };
    if offset >= *fails_at {
        return 1;
    }
    let at = usize::try_from(offset).unwrap_or(usize::MAX);
    let rest = file.get(at..).unwrap_or_default();
    let count = length.min(rest.len()).min(*most);
    // SAFETY: the contract of the callback.
    unsafe {
        destination.copy_from_nonoverlapping(rest.as_ptr(), count);
        read.write(count);
    }
    0
}
