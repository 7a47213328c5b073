//! Taking apart memory that the caller lends: handles and arrays one after the other.

use core::mem::{align_of, size_of};

use crate::status::{BAD_POINTER, Outcome, TOO_SMALL};

/// An alignment that suffices for lent memory on every machine; what `malloc` returns is always
/// aligned enough.
pub const NANOEMBED_ALIGN: usize = 16;

/// The alignment that `malloc` guarantees: two pointers.
pub(crate) const ALIGN: usize = 2 * size_of::<usize>();

/// The alignment that lent memory must have on this machine: that of what `malloc` returns, at most
/// `NANOEMBED_ALIGN`.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_align() -> usize {
    ALIGN
}

const fn round_up(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(ALIGN)
}

/// Adds up what [`Lent`] will take; the same calls in the same order give the exact size.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(usize);

impl Sum {
    pub(crate) fn add<T>(&mut self, length: usize) -> Outcome {
        assert_alignment::<T>();
        let bytes = length.checked_mul(size_of::<T>()).and_then(round_up);
        let sum = bytes.and_then(|bytes| self.0.checked_add(bytes));
        self.0 = sum.filter(|&sum| isize::try_from(sum).is_ok()).ok_or(TOO_SMALL)?;
        Ok(())
    }

    pub(crate) const fn bytes(self) -> usize {
        self.0
    }
}

const fn assert_alignment<T>() {
    const { assert!(align_of::<T>() <= ALIGN) }
}

/// Memory that is being taken apart.
#[derive(Debug)]
pub(crate) struct Lent {
    at: *mut u8,
    left: usize,
}

impl Lent {
    /// No memory.
    pub(crate) const NONE: Self = Self { at: core::ptr::without_provenance_mut(ALIGN), left: 0 };

    /// # Safety
    ///
    /// Unless NULL, `memory` points to `bytes` bytes that nobody else uses as long as what is taken
    /// from here lives.
    pub(crate) unsafe fn new(memory: *mut u8, bytes: usize) -> Outcome<Self> {
        let possible = isize::try_from(bytes).is_ok();
        if memory.is_null() || !memory.addr().is_multiple_of(ALIGN) || !possible {
            return Err(BAD_POINTER);
        }
        Ok(Self { at: memory, left: bytes })
    }

    /// How many bytes are left.
    pub(crate) const fn left(&self) -> usize {
        self.left
    }

    /// All that is left but for less than [`ALIGN`] bytes, zeroed: a buffer.
    pub(crate) fn rest(&mut self) -> Outcome<&'static mut [u8]> {
        let bytes = self.left / ALIGN * ALIGN;
        let place: *mut u8 = self.place(bytes)?;
        // SAFETY: just taken, with room for as many bytes.
        unsafe {
            place.write_bytes(0, bytes);
            Ok(core::slice::from_raw_parts_mut(place, bytes))
        }
    }

    /// The place of the next `length` elements, which may hold anything.
    pub(crate) fn place<T>(&mut self, length: usize) -> Outcome<*mut T> {
        assert_alignment::<T>();
        let bytes = length.checked_mul(size_of::<T>()).and_then(round_up).ok_or(TOO_SMALL)?;
        self.left = self.left.checked_sub(bytes).ok_or(TOO_SMALL)?;
        let place = self.at;
        // SAFETY: within the memory: there were as many bytes left.
        self.at = unsafe { self.at.add(bytes) };
        Ok(place.cast())
    }

    /// `value`, in memory that is never taken back.
    #[inline(always)] // so that a large one is made where it lies
    pub(crate) fn put<T>(&mut self, value: T) -> Outcome<&'static mut T> {
        let place: *mut T = self.place(1)?;
        // SAFETY: just taken, with room for one.
        unsafe {
            place.write(value);
            Ok(&mut *place)
        }
    }

    /// The next `length` elements, each of them `value`.
    pub(crate) fn filled<T: Copy>(&mut self, length: usize, value: T) -> Outcome<&'static mut [T]> {
        let place: *mut T = self.place(length)?;
        for at in 0..length {
            // SAFETY: just taken, with room for `length` elements.
            unsafe { place.add(at).write(value) };
        }
        // SAFETY: all elements have been written.
        Ok(unsafe { core::slice::from_raw_parts_mut(place, length) })
    }
}

/// A slice in lent memory, whose owner is the caller.
#[derive(Debug)]
pub(crate) struct LentSlice<T: 'static>(pub(crate) &'static mut [T]);

impl<T> AsRef<[T]> for LentSlice<T> {
    fn as_ref(&self) -> &[T] {
        self.0
    }
}

impl<T> AsMut<[T]> for LentSlice<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self.0
    }
}

/// A size as C sees it: those of models are below 2²⁴.
pub(crate) fn number(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}
