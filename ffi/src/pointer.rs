//! The only place where the caller's pointers become Rust's: NULL, alignment and length are checked
//! first.

#[cfg(feature = "std")]
use core::ffi::CStr;
use core::ffi::c_char;
use core::mem::{MaybeUninit, align_of, size_of};

#[cfg(feature = "std")]
use std::path::Path;

use nanoembed_core::{Error, ErrorKind};

use crate::failure::{BAD_POINTER, Failure, Outcome};

fn check<T>(pointer: *const T, length: usize) -> Outcome {
    let fits =
        length.checked_mul(size_of::<T>()).is_some_and(|bytes| isize::try_from(bytes).is_ok());
    if pointer.is_null() || !pointer.addr().is_multiple_of(align_of::<T>()) || !fits {
        return Err(BAD_POINTER);
    }
    Ok(())
}

/// # Safety
///
/// Unless NULL or misaligned, `pointer` points to a `T` that nobody writes meanwhile.
pub(crate) unsafe fn get<'a, T>(pointer: *const T) -> Outcome<&'a T> {
    check(pointer, 1)?;
    // SAFETY: checked, and the caller's promise.
    Ok(unsafe { &*pointer })
}

/// # Safety
///
/// Unless NULL or misaligned, `pointer` points to a `T` that nobody else uses meanwhile.
pub(crate) unsafe fn get_mut<'a, T>(pointer: *mut T) -> Outcome<&'a mut T> {
    check(pointer, 1)?;
    // SAFETY: checked, and the caller's promise.
    Ok(unsafe { &mut *pointer })
}

/// # Safety
///
/// Unless NULL or misaligned, `pointer` points to memory for a `T`.
pub(crate) unsafe fn out<'a, T>(pointer: *mut T) -> Outcome<&'a mut MaybeUninit<T>> {
    check(pointer, 1)?;
    // SAFETY: checked, and the caller's promise; nothing is read.
    Ok(unsafe { &mut *pointer.cast() })
}

/// `length` elements; NULL is allowed for none.
///
/// # Safety
///
/// Unless NULL or misaligned, `pointer` points to `length` elements that nobody writes meanwhile.
pub(crate) unsafe fn slice<'a, T>(pointer: *const T, length: usize) -> Outcome<&'a [T]> {
    if length == 0 {
        return Ok(&[]);
    }
    check(pointer, length)?;
    // SAFETY: checked, and the caller's promise.
    Ok(unsafe { core::slice::from_raw_parts(pointer, length) })
}

/// `length` elements; NULL is allowed for none.
///
/// # Safety
///
/// Unless NULL or misaligned, `pointer` points to `length` initialised elements that nobody else
/// uses meanwhile.
pub(crate) unsafe fn slice_mut<'a, T>(pointer: *mut T, length: usize) -> Outcome<&'a mut [T]> {
    if length == 0 {
        return Ok(&mut []);
    }
    check(pointer, length)?;
    // SAFETY: checked, and the caller's promise.
    Ok(unsafe { core::slice::from_raw_parts_mut(pointer, length) })
}

/// Memory for `length` elements, which may hold anything: it is zeroed before it becomes a slice of
/// `T`.
///
/// # Safety
///
/// Unless NULL or misaligned, `pointer` points to memory for `length` elements that nobody else
/// uses meanwhile; `T` may be all zeros.
pub(crate) unsafe fn zeroed<'a, T: Copy>(pointer: *mut T, length: usize) -> Outcome<&'a mut [T]> {
    if length == 0 {
        return Ok(&mut []);
    }
    check(pointer, length)?;
    // SAFETY: checked, and the caller's promise.
    unsafe {
        pointer.write_bytes(0, length);
        Ok(core::slice::from_raw_parts_mut(pointer, length))
    }
}

/// UTF-8 of the caller's.
///
/// # Safety
///
/// `start` points to `bytes` bytes.
pub(crate) unsafe fn text<'a>(start: *const c_char, bytes: usize) -> Outcome<&'a str> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { slice(start.cast::<u8>(), bytes) }?;
    core::str::from_utf8(bytes).map_err(|error| {
        Failure::core(Error::new(error.valid_up_to() as u64, ErrorKind::InvalidUtf8))
    })
}

/// A name of the caller's, in UTF-8.
///
/// # Safety
///
/// `name` is NULL or ends with a zero.
#[cfg(feature = "std")]
pub(crate) unsafe fn name<'a>(name: *const c_char) -> Outcome<&'a str> {
    check(name, 1)?;
    // SAFETY: checked, and the caller's promise.
    unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| ErrorKind::InvalidUtf8.into())
}

/// A path of the caller's: any bytes where paths of the system are bytes, else UTF-8.
///
/// # Safety
///
/// `path` is NULL or ends with a zero.
#[cfg(feature = "std")]
pub(crate) unsafe fn path<'a>(path: *const c_char) -> Outcome<&'a Path> {
    check(path, 1)?;
    // SAFETY: checked, and the caller's promise.
    as_path(unsafe { CStr::from_ptr(path) })
}

#[cfg(all(feature = "std", unix))]
fn as_path(path: &CStr) -> Outcome<&Path> {
    use std::os::unix::ffi::OsStrExt as _;
    Ok(Path::new(std::ffi::OsStr::from_bytes(path.to_bytes())))
}

#[cfg(all(feature = "std", not(unix)))]
fn as_path(path: &CStr) -> Outcome<&Path> {
    path.to_str().map(Path::new).map_err(|_| ErrorKind::InvalidUtf8.into())
}
