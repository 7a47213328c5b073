//! Where a file's bytes are.

use core::ffi::c_void;

use nanoembed_core::model::{Matrix, Weights};
use nanoembed_core::read::ReadAt;
use nanoembed_core::{Error, ErrorKind};

use crate::pointer;
use crate::status::{BAD_POINTER, Outcome, answer, nanoembed_status};
use crate::versioned;

/// Reads up to `length` bytes from `offset` on into `destination` and puts how many into `*read`:
/// at least one unless the storage ends there. Answers 0, or anything else if the storage cannot be
/// read. Called from every thread that uses a handle over this source.
pub type nanoembed_read_at = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        offset: u64,
        destination: *mut u8,
        length: usize,
        read: *mut usize,
    ) -> i32,
>;

/// Where a file's bytes are: in memory if `data` is not NULL, else behind `read_at`. The bytes stay
/// the caller's and must not change as long as a handle over them is used.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_source {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// The first byte of the file in memory (read, mapped, or in flash), or NULL.
    pub data: *const u8,
    /// The length of the file in bytes.
    pub length: u64,
    /// Reads from storage; used if `data` is NULL.
    pub read_at: nanoembed_read_at,
    /// Passed on to `read_at`.
    pub context: *mut c_void,
}

crate::versioned!(nanoembed_source);

/// A source whose bytes are all in memory.
///
/// # Safety
///
/// `source` is NULL or points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_source_from_buffer(
    data: *const u8,
    length: usize,
    source: *mut nanoembed_source,
) -> nanoembed_status {
    let make = || -> Outcome {
        if data.is_null() {
            return Err(BAD_POINTER);
        }
        // SAFETY: the caller's promise.
        unsafe { versioned::room(source) }?.write(nanoembed_source {
            data,
            length: length as u64,
            ..nanoembed_source::default()
        });
        Ok(())
    };
    answer(make())
}

/// A source of `length` bytes behind a callback.
///
/// # Safety
///
/// `source` is NULL or points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_source_from_callback(
    read_at: nanoembed_read_at,
    context: *mut c_void,
    length: u64,
    source: *mut nanoembed_source,
) -> nanoembed_status {
    let make = || -> Outcome {
        if read_at.is_none() {
            return Err(BAD_POINTER);
        }
        let made = nanoembed_source { length, read_at, context, ..nanoembed_source::default() };
        // SAFETY: the caller's promise.
        unsafe { versioned::room(source) }?.write(made);
        Ok(())
    };
    answer(make())
}

/// A checked source.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bytes {
    Memory(&'static [u8]),
    Storage(Storage),
}

/// Storage behind the caller's callback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage {
    read_at: unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, *mut usize) -> i32,
    context: *mut c_void,
    length: u64,
}

// SAFETY: the contract of `nanoembed_read_at`: it is called from every thread that uses a handle.
unsafe impl Sync for Storage {}
// SAFETY: as before.
unsafe impl Send for Storage {}

impl Bytes {
    /// # Safety
    ///
    /// `source` is NULL or points to one that keeps what its type says.
    pub(crate) unsafe fn new(source: *const nanoembed_source) -> Outcome<Self> {
        // SAFETY: the caller's promise.
        let source = unsafe { versioned::needed(source) }?;
        if source.data.is_null() {
            let read_at = source.read_at.ok_or(BAD_POINTER)?;
            let nanoembed_source { context, length, .. } = source;
            return Ok(Self::Storage(Storage { read_at, context, length }));
        }
        let length = usize::try_from(source.length).map_err(|_| BAD_POINTER)?;
        // SAFETY: the caller's promise.
        Ok(Self::Memory(unsafe { pointer::slice(source.data, length) }?))
    }

    pub(crate) const fn memory(&self) -> Option<&'static [u8]> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::Storage(_) => None,
        }
    }

    /// The file's first bytes: as many as there is room for, or all.
    pub(crate) fn start<'t>(&'t self, room: &'t mut [u8]) -> Outcome<&'t [u8]> {
        let there = usize::try_from(self.len()).unwrap_or(usize::MAX).min(room.len());
        let start = room.get_mut(..there).unwrap_or_default();
        self.read_exact_at(0, start)?;
        Ok(start)
    }

    fn borrow(&self, offset: u64, length: usize) -> Option<&'static [u8]> {
        let start = usize::try_from(offset).ok()?;
        self.memory()?.get(start..start.checked_add(length)?)
    }

    /// `length` bytes from `offset` on, borrowed or read to the front of `room`; `missing` says
    /// what it means if the source has not as many.
    fn piece<'t>(
        &'t self,
        offset: u64,
        length: usize,
        room: &'t mut [u8],
        missing: ErrorKind,
    ) -> Result<&'t [u8], Error> {
        let missing = Error::new(offset, missing);
        if self.memory().is_some() {
            return self.borrow(offset, length).ok_or(missing);
        }
        let end = offset.checked_add(length as u64);
        if end.is_none_or(|end| end > self.len()) {
            return Err(missing);
        }
        let room = room.get_mut(..length).ok_or(Error::new(offset, ErrorKind::BufferTooSmall))?;
        self.read_exact_at(offset, room)?;
        Ok(room)
    }
}

impl ReadAt for Bytes {
    fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len(),
            Self::Storage(storage) => storage.length,
        }
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize, Error> {
        let storage = match self {
            Self::Memory(bytes) => return bytes.read_at(offset, destination),
            Self::Storage(storage) => storage,
        };
        let left = storage.length.saturating_sub(offset);
        let wanted = destination.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if wanted == 0 {
            return Ok(0);
        }
        let mut read = 0;
        // SAFETY: `wanted` bytes are there to be written, and the contract of the callback.
        let failed = unsafe {
            (storage.read_at)(
                storage.context,
                offset,
                destination.as_mut_ptr(),
                wanted,
                &raw mut read,
            )
        };
        if failed != 0 || read > wanted {
            return Err(Error::new(offset, ErrorKind::ReadFailed));
        }
        Ok(read)
    }
}

impl Weights for Bytes {
    fn matrix(&self, _: &str) -> Result<Option<Matrix>, Error> {
        // Asked only while a model is opened, which knows its tensors by another way.
        Ok(None)
    }

    fn bytes<'t>(
        &'t self,
        offset: u64,
        length: usize,
        tile: &'t mut [u8],
    ) -> Result<&'t [u8], Error> {
        self.piece(offset, length, tile, ErrorKind::OutOfBounds)
    }

    fn borrows(&self) -> bool {
        self.memory().is_some()
    }
}

impl nanoembed_core::words::Source for Bytes {
    fn block<'s>(
        &'s self,
        offset: u64,
        bytes: usize,
        scratch: &'s mut [u8],
    ) -> Result<&'s [u8], Error> {
        self.piece(offset, bytes, scratch, ErrorKind::SourceChanged)
    }

    fn block_limit(&self, scratch_bytes: usize) -> usize {
        match self {
            Self::Memory(_) => usize::MAX,
            Self::Storage(_) => scratch_bytes,
        }
    }
}
