//! Structs that grow with versions of the interface: the first field of each says how large the
//! program knows it.
//!
//! Programs and libraries of different versions understand each other: fields that a program does
//! not know are zeros, which means what there was before them, and fields that a library does not
//! know have to be zeros.

use core::mem::{align_of, size_of};

use crate::failure::{BAD_POINTER, INVALID, Outcome};
use crate::pointer;

/// No struct is as large: whoever says so has not set its size.
const MOST_BYTES: usize = 4096;

/// Whether a program may be of another version than the library: not where it is firmware, which is
/// compiled with its library.
const MAY_DIFFER: bool = cfg!(feature = "std");

/// A struct whose first field is its size.
///
/// # Safety
///
/// `repr(C)`, begins with a `u32`, and may be all zeros.
pub(crate) unsafe trait Versioned: Copy + Default {
    fn set_size(&mut self, size: u32);
}

/// The defaults of a struct are zeros, with its size.
#[macro_export]
#[doc(hidden)]
macro_rules! versioned {
    ($name:ty) => {
        impl Default for $name {
            fn default() -> Self {
                // SAFETY: numbers, and pointers that may be NULL.
                let zeros: Self = unsafe { core::mem::zeroed() };
                Self { size: size_of::<Self>() as u32, ..zeros }
            }
        }

        // SAFETY: as the trait says.
        unsafe impl $crate::versioned::Versioned for $name {
            fn set_size(&mut self, size: u32) {
                self.size = size;
            }
        }
    };
}

/// What a program passes; the defaults for NULL.
///
/// # Safety
///
/// `given` is NULL or points to a struct whose size is what it says.
pub(crate) unsafe fn given<T: Versioned>(given: *const T) -> Outcome<T> {
    // SAFETY: the caller's promise.
    if given.is_null() { Ok(T::default()) } else { unsafe { needed(given) } }
}

/// The same, where there has to be one.
///
/// # Safety
///
/// As [`given`].
pub(crate) unsafe fn needed<T: Versioned>(given: *const T) -> Outcome<T> {
    // SAFETY: the caller's promise.
    unsafe { check_given(given.cast(), size_of::<T>(), align_of::<T>()) }?;
    // SAFETY: checked.
    let mut known = unsafe { *given };
    known.set_size(size_of::<T>() as u32);
    Ok(known)
}

/// Checks the size of a struct, and that what this library does not know of it is zeros.
///
/// # Safety
///
/// As [`given`].
unsafe fn check_given(given: *const u32, known: usize, align: usize) -> Outcome {
    // SAFETY: the caller's promise.
    let size = unsafe { size_of_struct(given, known, align) }?;
    if !MAY_DIFFER {
        return Ok(());
    }
    // SAFETY: the caller's promise: there are as many bytes as the struct says.
    let bytes = unsafe { pointer::slice(given.cast::<u8>(), size as usize) }?;
    let unknown = bytes.get(known..).unwrap_or_default();
    if unknown.iter().all(|byte| *byte == 0) { Ok(()) } else { Err(INVALID) }
}

/// The size that a struct says, at least what this library knows of it.
///
/// # Safety
///
/// Unless NULL, `place` points to a struct that begins with its size.
unsafe fn size_of_struct(place: *const u32, known: usize, align: usize) -> Outcome<u32> {
    // SAFETY: the caller's promise.
    let size = unsafe { *pointer::get(place)? };
    if !place.addr().is_multiple_of(align) {
        return Err(BAD_POINTER);
    }
    let is_possible = match MAY_DIFFER {
        true => (known..=MOST_BYTES).contains(&(size as usize)),
        false => size as usize == known,
    };
    if is_possible { Ok(size) } else { Err(INVALID) }
}

/// Where a result goes.
pub(crate) struct Room<T> {
    place: *mut T,
    size: u32,
}

impl<T: Versioned> Room<T> {
    pub(crate) fn write(self, mut value: T) {
        value.set_size(self.size);
        // SAFETY: checked when this was made, and the caller's promise.
        unsafe { self.place.write(value) };
    }
}

/// Room for a result, whose size has been set.
///
/// # Safety
///
/// Unless NULL, `place` points to memory for a struct whose size is what it says.
pub(crate) unsafe fn room<T: Versioned>(place: *mut T) -> Outcome<Room<T>> {
    // SAFETY: the caller's promise.
    let size = unsafe { size_of_struct(place.cast(), size_of::<T>(), align_of::<T>()) }?;
    Ok(Room { place, size })
}
