//! Errors as C sees them.

use core::ffi::{CStr, c_char};

use nanoembed_core::ErrorKind;
use nanoembed_core::text::terminal::acts;

use crate::pointer;
use crate::versioned;

pub use crate::failure::*;

/// How many bytes `nanoembed_error` has for a name, with the zero at its end.
pub const NANOEMBED_NAME_BYTES: usize = 64;

/// An error and its place.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_error {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// The status that the call returned.
    pub status: nanoembed_status,
    /// Absolute offset of the field that is wrong, in the file, or in the text where that is no
    /// UTF-8; `NANOEMBED_NO_OFFSET` where it is no place in either.
    pub offset: u64,
    /// How many bytes or elements would have sufficed where what was lent is too small; else 0.
    pub needed: u64,
    /// The name of the key, tensor, setting or parameter at fault, if it has one.
    /// Ended by a zero, and cut to fit.
    pub name: [c_char; NANOEMBED_NAME_BYTES],
}

crate::versioned!(nanoembed_error);

impl nanoembed_error {
    fn set_name(&mut self, name: &str) {
        for (to, from) in self.name.iter_mut().zip(name.bytes()) {
            *to = from.cast_signed() as c_char;
        }
        self.name[NANOEMBED_NAME_BYTES - 1] = 0;
    }
}

/// The failure as C sees it.
fn reported(failure: Failure) -> nanoembed_error {
    let Failure { offset, name, needed, .. } = failure;
    let (status, needed) = (failure.status(), needed as u64);
    let mut report = nanoembed_error { status, offset, needed, ..nanoembed_error::default() };
    report.set_name(name);
    report
}

/// The status of a call without a file.
pub(crate) fn answer(outcome: Outcome) -> nanoembed_status {
    outcome.map_or_else(Failure::status, |()| NANOEMBED_OK)
}

/// The status of a call; what went wrong goes to `error`, if there is one.
///
/// # Safety
///
/// `error` is NULL or points to memory for one.
pub(crate) unsafe fn report(outcome: Outcome, error: *mut nanoembed_error) -> nanoembed_status {
    match outcome {
        Ok(()) => NANOEMBED_OK,
        // SAFETY: the caller's promise.
        Err(failure) => unsafe { report_failure(failure, error) },
    }
}

/// The same of what has a name that only the file knows.
///
/// # Safety
///
/// As [`report`].
#[cfg(feature = "std")]
pub(crate) unsafe fn report_named(
    outcome: Outcome,
    name: &str,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let Err(failure) = outcome else { return NANOEMBED_OK };
    let mut report = reported(failure);
    if !name.is_empty() {
        report.set_name(name);
    }
    // SAFETY: the caller's promise.
    if let Ok(room) = unsafe { versioned::room(error) } {
        room.write(report);
    }
    failure.status()
}

/// # Safety
///
/// As [`report`].
#[inline(never)] // it is there once for all functions
unsafe fn report_failure(failure: Failure, error: *mut nanoembed_error) -> nanoembed_status {
    // SAFETY: the caller's promise.
    if let Ok(room) = unsafe { versioned::room(error) } {
        room.write(reported(failure));
    }
    failure.status()
}

fn kind(status: nanoembed_status) -> Option<ErrorKind> {
    u16::try_from(status).ok().and_then(ErrorKind::from_code)
}

fn message(status: nanoembed_status) -> &'static CStr {
    match status {
        NANOEMBED_OK => c"success",
        NANOEMBED_UNSUPPORTED_EMBD => c"the format embd is not part of this build",
        NANOEMBED_UNSUPPORTED_FINALFUSION => c"the format finalfusion is not part of this build",
        NANOEMBED_UNSUPPORTED_GGUF => c"the format gguf is not part of this build",
        NANOEMBED_UNSUPPORTED_SAFETENSORS => c"the format safetensors is not part of this build",
        NANOEMBED_UNSUPPORTED_UQFF => c"the format uqff is not part of this build",
        NANOEMBED_UNSUPPORTED_AMB => c"the format amb is not part of this build",
        NANOEMBED_UNSUPPORTED_TRANSFORMERS => c"transformers are not part of this build",
        NANOEMBED_NEEDS_MEMORY => c"a file of this kind must be in memory",
        NANOEMBED_NEEDS_FOLDER => {
            c"the file has the weights of a model alone: its folder is opened by its path"
        }
        NANOEMBED_CANNOT_OPEN => c"the file cannot be opened or mapped",
        NANOEMBED_BAD_POINTER => c"a pointer is NULL, not aligned, or has an impossible length",
        NANOEMBED_STOPPED => c"the callback asked to stop",
        NANOEMBED_NOT_FOUND => c"the word, tensor or row asked for is not there",
        NANOEMBED_OUT_OF_MEMORY => c"there is no memory left",
        _ => kind(status).map_or(c"unknown status", ErrorKind::c_message),
    }
}

/// One English sentence that says what `status` means. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_status_message(status: nanoembed_status) -> *const c_char {
    message(status).as_ptr()
}

/// The stable name of `status` in snake_case. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_status_name(status: nanoembed_status) -> *const c_char {
    let name = match status {
        NANOEMBED_OK => c"ok",
        NANOEMBED_UNSUPPORTED_EMBD => c"unsupported_embd",
        NANOEMBED_UNSUPPORTED_FINALFUSION => c"unsupported_finalfusion",
        NANOEMBED_UNSUPPORTED_GGUF => c"unsupported_gguf",
        NANOEMBED_UNSUPPORTED_SAFETENSORS => c"unsupported_safetensors",
        NANOEMBED_UNSUPPORTED_UQFF => c"unsupported_uqff",
        NANOEMBED_UNSUPPORTED_AMB => c"unsupported_amb",
        NANOEMBED_UNSUPPORTED_TRANSFORMERS => c"unsupported_transformers",
        NANOEMBED_NEEDS_MEMORY => c"needs_memory",
        NANOEMBED_CANNOT_OPEN => c"cannot_open",
        NANOEMBED_NEEDS_FOLDER => c"needs_folder",
        NANOEMBED_BAD_POINTER => c"bad_pointer",
        NANOEMBED_STOPPED => c"stopped",
        NANOEMBED_NOT_FOUND => c"not_found",
        NANOEMBED_OUT_OF_MEMORY => c"out_of_memory",
        _ => kind(status).map_or(c"unknown", ErrorKind::c_name),
    };
    name.as_ptr()
}

/// Text that is cut where the memory ends, always ended by a zero.
struct Text<'a> {
    room: &'a mut [u8],
    length: usize,
}

impl Text<'_> {
    /// A name that comes from a file: what a terminal would act on is replaced.
    fn push_shown(&mut self, name: &str) {
        let mut letter = [0; 4];
        for shown in name.chars().map(|it| if acts(it) { char::REPLACEMENT_CHARACTER } else { it })
        {
            self.push(shown.encode_utf8(&mut letter));
        }
    }

    fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            if let Some([slot, end, ..]) = self.room.get_mut(self.length..) {
                (*slot, *end) = (byte, 0);
                self.length += 1;
            }
        }
    }
}

/// Writes `error` as text, `byte OFFSET: MESSAGE: NAME`, into `buffer`, cut to its `capacity` and
/// ended by a zero.
///
/// # Safety
///
/// `error` points to an error, `buffer` to `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_error_describe(
    error: *const nanoembed_error,
    buffer: *mut c_char,
    capacity: usize,
) -> nanoembed_status {
    let describe = || -> Outcome {
        // SAFETY: the caller's promise.
        let error = unsafe { versioned::needed(error) }?;
        // SAFETY: as before.
        let room = unsafe { pointer::slice_mut(buffer.cast::<u8>(), capacity) }?;
        let Some(first) = room.first_mut() else { return Err(TOO_SMALL) };
        *first = 0;
        let mut text = Text { room, length: 0 };
        let message = message(error.status).to_str().unwrap_or_default();
        let mut digits = [0; 20];
        if error.offset != NANOEMBED_NO_OFFSET {
            text.push("byte ");
            text.push(decimal(error.offset, &mut digits));
            text.push(": ");
        }
        text.push(message);
        if let Ok(name) = name_of(&error.name)
            && !name.is_empty()
        {
            text.push(": ");
            text.push_shown(name);
        }
        if error.needed > 0 {
            text.push(": ");
            text.push(decimal(error.needed, &mut digits));
            text.push(" are needed");
        }
        Ok(())
    };
    answer(describe())
}

/// A name up to its zero.
fn name_of(name: &[c_char; NANOEMBED_NAME_BYTES]) -> Result<&str, core::str::Utf8Error> {
    // SAFETY: bytes of either sign.
    let bytes = unsafe { core::slice::from_raw_parts(name.as_ptr().cast::<u8>(), name.len()) };
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    core::str::from_utf8(bytes.get(..end).unwrap_or_default())
}

/// The digits of a number; core's formatting would bring its panics along.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &str {
    let mut start = digits.len();
    for (at, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        start = at;
        if number == 0 {
            break;
        }
    }
    core::str::from_utf8(digits.get(start..).unwrap_or_default()).unwrap_or_default()
}
