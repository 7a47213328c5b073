//! Files without a name, which vanish when they are closed.

use std::fs::File;
use std::io;

/// A new one, where the system keeps such files.
#[cfg(not(target_os = "wasi"))]
pub(crate) fn create() -> io::Result<File> {
    tempfile::tempfile()
}

/// A new one. The standard library knows no place for them in WebAssembly.
#[cfg(target_os = "wasi")]
pub(crate) fn create() -> io::Result<File> {
    tempfile::tempfile_in(std::env::var_os("TMPDIR").unwrap_or_else(|| "/tmp".into()))
}
