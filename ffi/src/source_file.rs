//! Files of the operating system as sources.

use core::ffi::{c_char, c_void};
use std::boxed::Box;

use memmap2::Mmap;

use crate::source::nanoembed_source;
use crate::status::{Outcome, answer, nanoembed_status};
use crate::{host_file, pointer, versioned};

/// A source over the file at `path`, which is mapped into memory: its pages come when they are used.
/// On Windows the path is UTF-8, here and in other functions; elsewhere any bytes.
/// `nanoembed_source_close` unmaps it. `NANOEMBED_CANNOT_OPEN` if there is no such file, or it is no
/// regular one, such as a pipe; where the operating system refuses it, `errno` says why.
///
/// # Safety
///
/// `path` is NULL or ends with a zero, `source` is NULL or points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_source_from_file(
    path: *const c_char,
    source: *mut nanoembed_source,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (path, out) = unsafe { (pointer::path(path)?, versioned::room(source)?) };
        let map = Box::new(host_file::map(path)?);
        let (data, length) = (map.as_ptr(), map.len() as u64);
        let context = Box::into_raw(map).cast::<c_void>();
        out.write(nanoembed_source { data, length, context, ..nanoembed_source::default() });
        Ok(())
    };
    answer(make())
}

/// Unmaps the file of a source that `nanoembed_source_from_file` made, and clears the source; others
/// are left alone. No handle over it may be used any more.
///
/// # Safety
///
/// `source` is NULL or a source that has not been copied and closed already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_source_close(source: *mut nanoembed_source) {
    if source.is_null() {
        return;
    }
    // SAFETY: the caller's promise; a source in memory has a context only if it is a mapped file.
    unsafe {
        let nanoembed_source { data, context, read_at, .. } = *source;
        if !data.is_null() && !context.is_null() && read_at.is_none() {
            drop(Box::from_raw(context.cast::<Mmap>()));
            ((*source).data, (*source).length) = (core::ptr::null(), 0);
            (*source).context = core::ptr::null_mut();
        }
    }
}
