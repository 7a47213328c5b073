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

/// True if a program may be of another version than the library; firmware is compiled with its
/// library.
const MAY_DIFFER: bool = cfg!(feature = "std");

/// A struct whose first field is its size.
///
/// # Safety
///
/// `repr(C)`, begins with a `u32`, and may be all zeros.
pub(crate) unsafe trait Versioned: Copy + Default {
    /// The size in the first version of the interface.
    const FIRST_BYTES: usize = size_of::<Self>();
    /// The alignment in the first version of the interface.
    const FIRST_ALIGN: usize = align_of::<Self>();

    fn set_size(&mut self, size: u32);
}

/// The defaults of a struct are zeros, with its size.
#[macro_export]
#[doc(hidden)]
macro_rules! versioned {
    ($name:ty $(, since $bytes:expr, $align:expr)?) => {
        impl Default for $name {
            fn default() -> Self {
                // SAFETY: numbers, and pointers that may be NULL.
                let zeros: Self = unsafe { core::mem::zeroed() };
                Self { size: size_of::<Self>() as u32, ..zeros }
            }
        }

        // SAFETY: as the trait says.
        unsafe impl $crate::versioned::Versioned for $name {
            $(
                const FIRST_BYTES: usize = $bytes;
                const FIRST_ALIGN: usize = $align;
            )?

            fn set_size(&mut self, size: u32) {
                self.size = size;
            }
        }
    };
}

/// Reads a struct that a program passes; NULL stands for the defaults.
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
    let size = unsafe { check_given::<T>(given.cast()) }?;
    let mut known = T::default();
    if MAY_DIFFER {
        // SAFETY: the program's struct has as many bytes, and so has this; zeros are what a field
        // means that the program does not know.
        unsafe {
            let bytes = size.min(size_of::<T>());
            (&raw mut known).cast::<u8>().copy_from_nonoverlapping(given.cast(), bytes);
        }
    } else {
        // SAFETY: checked, and of the same version.
        known = unsafe { *given };
    }
    known.set_size(size_of::<T>() as u32);
    Ok(known)
}

/// Checks the size of a struct, which is returned, and that what this library does not know of it
/// is zeros.
///
/// # Safety
///
/// As [`given`].
unsafe fn check_given<T: Versioned>(given: *const u32) -> Outcome<usize> {
    let known = size_of::<T>();
    let (first, align) = match MAY_DIFFER {
        true => (T::FIRST_BYTES, T::FIRST_ALIGN),
        false => (known, align_of::<T>()),
    };
    // SAFETY: the caller's promise.
    let size = unsafe { size_of_struct(given, &[first, known], align) }? as usize;
    if !MAY_DIFFER {
        return Ok(size);
    }
    // SAFETY: the caller's promise: there are as many bytes as the struct says.
    let bytes = unsafe { pointer::slice(given.cast::<u8>(), size) }?;
    let unknown = bytes.get(known..).unwrap_or_default();
    if unknown.iter().all(|byte| *byte == 0) { Ok(size) } else { Err(INVALID) }
}

/// The size that a struct says: one of those `known`, or more than the last of them.
///
/// # Safety
///
/// Unless NULL, `place` points to a struct that begins with its size.
unsafe fn size_of_struct(place: *const u32, known: &[usize], align: usize) -> Outcome<u32> {
    // SAFETY: the caller's promise.
    let size = unsafe { *pointer::get(place)? };
    if !place.addr().is_multiple_of(align) {
        return Err(BAD_POINTER);
    }
    let newest = known.last().copied().unwrap_or_default();
    let is_later = MAY_DIFFER && (newest..=MOST_BYTES).contains(&(size as usize));
    let is_possible = is_later || known.contains(&(size as usize));
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
    let size = unsafe { size_of_struct(place.cast(), &[size_of::<T>()], align_of::<T>()) }?;
    Ok(Room { place, size })
}
