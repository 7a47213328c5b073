//! What became of a call.

use core::ffi::{CStr, c_char};
use core::fmt::Write;

use nanoembed_core::{Error, ErrorKind};

use crate::format::{NANOEMBED_FORMAT_AMB, NANOEMBED_FORMAT_EMBD, nanoembed_format};
use crate::pointer;

/// What became of a call: 0 for success, else whose fault it is by the hundreds digit. 1xx the file
/// is damaged, 2xx it is not supported here, 3xx the model in it is incomplete, 4xx the call, 5xx
/// the source, 9xx the call, seen by this interface. Numbers never change their meaning.
pub type nanoembed_status = u32;

/// The call did what it should.
pub const NANOEMBED_OK: nanoembed_status = 0;
/// The format embd is not part of this build.
pub const NANOEMBED_UNSUPPORTED_EMBD: nanoembed_status = 291;
/// The format finalfusion is not part of this build.
pub const NANOEMBED_UNSUPPORTED_FINALFUSION: nanoembed_status = 292;
/// The format gguf is not part of this build.
pub const NANOEMBED_UNSUPPORTED_GGUF: nanoembed_status = 293;
/// The format safetensors is not part of this build.
pub const NANOEMBED_UNSUPPORTED_SAFETENSORS: nanoembed_status = 294;
/// The format uqff is not part of this build.
pub const NANOEMBED_UNSUPPORTED_UQFF: nanoembed_status = 295;
/// The format amb is not part of this build.
pub const NANOEMBED_UNSUPPORTED_AMB: nanoembed_status = 296;
/// A pointer is NULL that must not be, is not aligned, or has a length that no memory has.
pub const NANOEMBED_BAD_POINTER: nanoembed_status = 901;
/// The callback asked to stop.
pub const NANOEMBED_STOPPED: nanoembed_status = 902;
/// The word, tensor or row asked for is not there.
pub const NANOEMBED_NOT_FOUND: nanoembed_status = 903;
/// There is no memory left on the heap.
pub const NANOEMBED_OUT_OF_MEMORY: nanoembed_status = 904;

/// What went wrong, and at which byte of the file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_error {
    /// The status that the call returned.
    pub status: nanoembed_status,
    /// Absolute offset of the field that is wrong; 0 where there is no file.
    pub offset: u64,
}

/// What keeps a call from succeeding: a cause of core's, or one of this interface.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failure {
    Core(Error),
    Here(nanoembed_status),
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Self {
        Self::Core(Error::without_offset(kind))
    }
}

pub(crate) const BAD_POINTER: Failure = Failure::Here(NANOEMBED_BAD_POINTER);
pub(crate) const TOO_SMALL: Failure =
    Failure::Core(Error::without_offset(ErrorKind::BufferTooSmall));
pub(crate) const INVALID: Failure =
    Failure::Core(Error::without_offset(ErrorKind::InvalidArgument));

/// What a file of a format answers that the build leaves out.
pub(crate) fn left_out(format: nanoembed_format) -> Failure {
    match format {
        NANOEMBED_FORMAT_EMBD..=NANOEMBED_FORMAT_AMB => {
            Failure::Here(NANOEMBED_UNSUPPORTED_EMBD - NANOEMBED_FORMAT_EMBD + format)
        }
        _ => ErrorKind::UnknownFormat.into(),
    }
}

impl Failure {
    pub(crate) fn status(self) -> nanoembed_status {
        match self {
            Self::Core(error) => error.code().into(),
            Self::Here(status) => status,
        }
    }
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
    let Err(failure) = outcome else { return NANOEMBED_OK };
    let status = failure.status();
    let offset = match failure {
        Failure::Core(error) => error.offset().unwrap_or(0),
        Failure::Here(_) => 0,
    };
    // SAFETY: the caller's promise.
    if let Ok(error) = unsafe { pointer::out(error) } {
        error.write(nanoembed_error { status, offset });
    }
    status
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

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            if let Some([slot, end, ..]) = self.room.get_mut(self.length..) {
                (*slot, *end) = (byte, 0);
                self.length += 1;
            }
        }
        Ok(())
    }
}

/// Writes `error` as text, `byte OFFSET: MESSAGE`, into `buffer`, cut to its `capacity` and ended
/// by a zero.
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
        let error = unsafe { pointer::get(error) }?;
        // SAFETY: as before.
        let room = unsafe { pointer::slice_mut(buffer.cast::<u8>(), capacity) }?;
        let Some(first) = room.first_mut() else { return Err(TOO_SMALL) };
        *first = 0;
        let mut text = Text { room, length: 0 };
        let message = message(error.status).to_str().unwrap_or_default();
        // Text never fails.
        let _ = text.write_str("byte ");
        let mut digits = [0; 20];
        let _ = text.write_str(decimal(error.offset, &mut digits));
        let _ = text.write_str(": ");
        let _ = text.write_str(message);
        Ok(())
    };
    answer(describe())
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
