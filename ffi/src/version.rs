//! Versions.

use core::ffi::{CStr, c_char};

/// The version of this interface. Programs compiled for one number work with every library that has
/// the same number and came later: functions and constants are added, none is changed or removed.
pub const NANOEMBED_ABI_VERSION: u32 = 1;

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
