//! Versions.

use core::ffi::{CStr, c_char};

/// The version of this interface. Programs compiled for one number work with every library that has
/// the same number and came later: functions and constants are added, none is changed or removed.
pub const NANOEMBED_ABI_VERSION: u32 = 2;

/// The version of this interface that the library has; compare it with `NANOEMBED_ABI_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_abi_version() -> u32 {
    NANOEMBED_ABI_VERSION
}

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };

/// The version of the library as text, for example `0.1.0`. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The version of the header, the number that changes what programs can rely on.
pub const NANOEMBED_VERSION_MAJOR: u32 = 0;
/// The second number of the header's version; while the first is 0, it changes what programs can
/// rely on.
pub const NANOEMBED_VERSION_MINOR: u32 = 1;
/// The last number of the header's version.
pub const NANOEMBED_VERSION_PATCH: u32 = 0;

const fn number(text: &str) -> u32 {
    let (bytes, mut number, mut at) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        number = number * 10 + (bytes[at] - b'0') as u32;
        at += 1;
    }
    number
}

const _: () = assert!(
    number(env!("CARGO_PKG_VERSION_MAJOR")) == NANOEMBED_VERSION_MAJOR
        && number(env!("CARGO_PKG_VERSION_MINOR")) == NANOEMBED_VERSION_MINOR
        && number(env!("CARGO_PKG_VERSION_PATCH")) == NANOEMBED_VERSION_PATCH
);
