//! The formats, and how they are recognised.

use core::ffi::c_char;

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Format;
use nanoembed_core::format::{SNIFF_BYTES, sniff};

use crate::failure::{Failure, NANOEMBED_UNSUPPORTED_EMBD};
use crate::pointer;

/// The formats.
pub type nanoembed_format = u32;
/// None that this library knows.
pub const NANOEMBED_FORMAT_UNKNOWN: nanoembed_format = 0;
/// EMBD `.weights`.
pub const NANOEMBED_FORMAT_EMBD: nanoembed_format = 1;
/// finalfusion `.fifu`.
pub const NANOEMBED_FORMAT_FINALFUSION: nanoembed_format = 2;
/// GGUF.
pub const NANOEMBED_FORMAT_GGUF: nanoembed_format = 3;
/// safetensors.
pub const NANOEMBED_FORMAT_SAFETENSORS: nanoembed_format = 4;
/// UQFF, in a safetensors container, which is how it is recognised.
pub const NANOEMBED_FORMAT_UQFF: nanoembed_format = 5;
/// AMB.
pub const NANOEMBED_FORMAT_AMB: nanoembed_format = 6;

pub(crate) fn number_of(format: Format) -> nanoembed_format {
    match format {
        Format::Embd => NANOEMBED_FORMAT_EMBD,
        Format::Finalfusion => NANOEMBED_FORMAT_FINALFUSION,
        Format::Gguf => NANOEMBED_FORMAT_GGUF,
        Format::Safetensors => NANOEMBED_FORMAT_SAFETENSORS,
        Format::Uqff => NANOEMBED_FORMAT_UQFF,
        Format::Amb => NANOEMBED_FORMAT_AMB,
        _ => NANOEMBED_FORMAT_UNKNOWN,
    }
}

/// How many bytes `nanoembed_sniff` wants to see.
pub const NANOEMBED_SNIFF_BYTES: usize = 9;
const _: () = assert!(SNIFF_BYTES == NANOEMBED_SNIFF_BYTES);

/// Recognises a format by a file's first bytes; `NANOEMBED_FORMAT_UNKNOWN` also for NULL.
///
/// # Safety
///
/// `start` points to `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_sniff(start: *const u8, bytes: usize) -> nanoembed_format {
    // SAFETY: the caller's promise.
    let start = unsafe { pointer::slice(start, bytes) };
    start.ok().and_then(sniff).map_or(NANOEMBED_FORMAT_UNKNOWN, number_of)
}

/// The name of a format, for example `embd`, or `unknown`. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_format_name(format: nanoembed_format) -> *const c_char {
    let name = match format {
        NANOEMBED_FORMAT_EMBD => c"embd",
        NANOEMBED_FORMAT_FINALFUSION => c"finalfusion",
        NANOEMBED_FORMAT_GGUF => c"gguf",
        NANOEMBED_FORMAT_SAFETENSORS => c"safetensors",
        NANOEMBED_FORMAT_UQFF => c"uqff",
        NANOEMBED_FORMAT_AMB => c"amb",
        _ => c"unknown",
    };
    name.as_ptr()
}

/// The failure for a file of a format that the build leaves out.
pub(crate) fn left_out(format: nanoembed_format) -> Failure {
    match format {
        NANOEMBED_FORMAT_EMBD..=NANOEMBED_FORMAT_AMB => {
            Failure::here(NANOEMBED_UNSUPPORTED_EMBD - NANOEMBED_FORMAT_EMBD + format)
        }
        _ => ErrorKind::UnknownFormat.into(),
    }
}
