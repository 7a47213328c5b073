//! What became of a call.

use core::ffi::{CStr, c_char};

use nanoembed_core::text::terminal::acts;
use nanoembed_core::{Error, ErrorKind};

use crate::format::{NANOEMBED_FORMAT_AMB, NANOEMBED_FORMAT_EMBD, nanoembed_format};
use crate::pointer;
use crate::versioned;

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
/// Transformers are not part of this build.
pub const NANOEMBED_UNSUPPORTED_TRANSFORMERS: nanoembed_status = 297;
/// A pointer is NULL that must not be, is not aligned, or has a length that no memory has.
pub const NANOEMBED_BAD_POINTER: nanoembed_status = 901;
/// The callback asked to stop.
pub const NANOEMBED_STOPPED: nanoembed_status = 902;
/// The word, tensor or row asked for is not there.
pub const NANOEMBED_NOT_FOUND: nanoembed_status = 903;
/// There is no memory left on the heap.
pub const NANOEMBED_OUT_OF_MEMORY: nanoembed_status = 904;
/// A file of this format or kind must be in memory.
pub const NANOEMBED_NEEDS_MEMORY: nanoembed_status = 905;
/// The operating system cannot open or map the file.
pub const NANOEMBED_CANNOT_OPEN: nanoembed_status = 906;

/// Stands for no place in a file.
pub const NANOEMBED_NO_OFFSET: u64 = u64::MAX;
/// How many bytes `nanoembed_error` has for a name, with the zero at its end.
pub const NANOEMBED_NAME_BYTES: usize = 64;

/// What went wrong, and where.
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
    /// What is at fault, if that has a name: a key or a tensor of the file, a setting, a parameter.
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

/// What keeps a call from succeeding. As small as can be: every step of every call may give one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    offset: u64,
    status: nanoembed_status,
    /// What is at fault, or nothing.
    name: &'static str,
    /// How much would do, or 0.
    needed: usize,
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::core(error)
    }
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Self {
        Self::from_kind(kind)
    }
}

pub(crate) const BAD_POINTER: Failure = Failure::here(NANOEMBED_BAD_POINTER);
pub(crate) const TOO_SMALL: Failure = Failure::from_kind(ErrorKind::BufferTooSmall);
pub(crate) const INVALID: Failure = Failure::from_kind(ErrorKind::InvalidArgument);

/// What is lent is too small: so many bytes or elements are needed.
pub(crate) const fn too_small(needed: usize) -> Failure {
    Failure { needed, ..TOO_SMALL }
}

/// The parameter or field of this name cannot be what it is.
pub(crate) const fn invalid(name: &'static str) -> Failure {
    INVALID.about(name)
}

/// What a file of a format answers that the build leaves out.
pub(crate) fn left_out(format: nanoembed_format) -> Failure {
    match format {
        NANOEMBED_FORMAT_EMBD..=NANOEMBED_FORMAT_AMB => {
            Failure::here(NANOEMBED_UNSUPPORTED_EMBD - NANOEMBED_FORMAT_EMBD + format)
        }
        _ => ErrorKind::UnknownFormat.into(),
    }
}

impl Failure {
    #[inline(never)] // there are calls of it everywhere
    pub(crate) fn core(error: Error) -> Self {
        let offset = error.offset().unwrap_or(NANOEMBED_NO_OFFSET);
        Self { offset, ..Self::from_kind(error.kind()) }
    }

    const fn from_kind(kind: ErrorKind) -> Self {
        Self::here(kind.code() as nanoembed_status)
    }

    pub(crate) const fn here(status: nanoembed_status) -> Self {
        Self { offset: NANOEMBED_NO_OFFSET, status, name: "", needed: 0 }
    }

    /// The same, of what has this name.
    pub(crate) const fn about(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    pub(crate) const fn status(self) -> nanoembed_status {
        self.status
    }

    fn report(self) -> nanoembed_error {
        let Self { offset, status, name, needed } = self;
        let needed = needed as u64;
        let mut report = nanoembed_error { status, offset, needed, ..nanoembed_error::default() };
        report.set_name(name);
        report
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
    let mut report = failure.report();
    if !name.is_empty() {
        report.set_name(name);
    }
    // SAFETY: the caller's promise.
    if let Ok(room) = unsafe { versioned::room(error) } {
        room.write(report);
    }
    failure.status
}

/// # Safety
///
/// As [`report`].
#[inline(never)] // it is there once for all functions
unsafe fn report_failure(failure: Failure, error: *mut nanoembed_error) -> nanoembed_status {
    // SAFETY: the caller's promise.
    if let Ok(room) = unsafe { versioned::room(error) } {
        room.write(failure.report());
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

/// Writes `error` as text, `byte OFFSET: MESSAGE: NAME`, into `buffer`, cut to its `capacity` and ended
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
