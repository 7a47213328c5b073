//! Files of the operating system: regular ones alone, as a device has no end and a pipe may never
//! say anything.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::string::String;
use std::vec::Vec;

use memmap2::Mmap;
use nanoembed_core::limit::Limit;
use nanoembed_core::{Error, ErrorKind};

use crate::status::{Failure, NANOEMBED_CANNOT_OPEN, Outcome};

/// Opens a regular file; whether it is one is asked first, as opening a pipe waits for who writes to
/// it. What cannot be asked cannot be opened either, and `errno` then says why.
fn open(path: &Path) -> io::Result<File> {
    match path.metadata() {
        Ok(file) if !file.is_file() => Err(io::ErrorKind::InvalidInput.into()),
        _ => File::open(path),
    }
}

/// A file that is mapped into memory.
pub(crate) fn map(path: &Path) -> Outcome<Mmap> {
    // SAFETY: as of every source, the caller sees to it that the file does not change.
    let map = open(path).and_then(|file| unsafe { Mmap::map(&file) });
    map.map_err(|_| Failure::here(NANOEMBED_CANNOT_OPEN))
}

/// The text of a file, within [`Limit::SETTINGS_BYTES`]; `None` if there is no such file.
pub(crate) fn read_text(path: &Path) -> Result<Option<Cow<'static, str>>, Error> {
    let failed = |_| Error::without_offset(ErrorKind::ReadFailed);
    let file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    let told = file.metadata().map_err(failed)?.len();
    Limit::SETTINGS_BYTES.check(told)?;
    if told == 0 {
        // Files of `/proc` have bytes all the same, or wait for some.
        return Err(Error::new(0, ErrorKind::UnexpectedEnd));
    }
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(told).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        Error::new(error.utf8_error().valid_up_to() as u64, ErrorKind::InvalidUtf8)
    })?;
    Ok(Some(Cow::Owned(text)))
}
