//! Files that are opened because something names them: regular ones, as a device has no end and a
//! pipe may never say anything.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::limit::{Exceeded, Limit};

use crate::error::Error;

/// Why a file is not opened or read, within an [`io::Error`].
#[derive(Clone, Copy, Debug)]
pub enum Refused {
    /// A device, a pipe, a socket.
    NotRegular,
    /// Longer than a limit.
    TooLong(Exceeded),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRegular => f.write_str("this is no regular file"),
            Self::TooLong(exceeded) => exceeded.fmt(f),
        }
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        Self::new(io::ErrorKind::InvalidInput, refused)
    }
}

impl Refused {
    /// What is refused for itself, not because reading failed.
    pub fn of(error: &io::Error) -> Option<Error> {
        let refused = error.get_ref()?.downcast_ref::<Self>()?;
        Some(match refused {
            Self::NotRegular => Error::bad_input(refused.to_string()),
            Self::TooLong(_) => Error::input(ErrorKind::OverLimit, refused.to_string()),
        })
    }
}

/// Opens a regular file; whether it is one is asked first, as opening a pipe waits for who writes
/// to it.
pub fn open(path: &Path) -> io::Result<File> {
    let there = path.metadata()?;
    if there.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !there.is_file() {
        return Err(Refused::NotRegular.into());
    }
    File::open(path)
}

/// The bytes of a regular file within [`Limit::SETTINGS_BYTES`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let limit = Limit::SETTINGS_BYTES;
    let too_long = |value| io::Error::from(Refused::TooLong(Exceeded { limit, value }));
    let length = file.metadata()?.len();
    let length = limit.check(length).map_err(|_| too_long(length))?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length)?;
    // It may grow while it is read.
    file.take(limit.most as u64 + 1).read_to_end(&mut bytes)?;
    limit.check_len(bytes.len()).map_err(|_| too_long(bytes.len() as u64))?;
    Ok(bytes)
}

/// As [`read`], of a text.
pub fn read_text(path: &Path) -> io::Result<String> {
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "this is not UTF-8");
    String::from_utf8(read(path)?).map_err(invalid)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn devices_and_files_beyond_the_limit_are_refused() {
        let refused = |path: &Path| Refused::of(&read(path).unwrap_err()).unwrap();
        let device = refused(Path::new("/dev/zero"));
        assert_eq!(device.kind(), Kind::BadInput);
        assert_eq!(device.to_string(), "this is no regular file");
        let sparse = tempfile::NamedTempFile::new().unwrap();
        sparse.as_file().set_len(1 << 27).unwrap();
        assert_eq!(read(sparse.path()).unwrap().len(), 1 << 27);
        sparse.as_file().set_len((1 << 27) + 1).unwrap();
        let message = refused(sparse.path()).to_string();
        assert!(message.starts_with("134217729 bytes of a file of settings"), "{message}");
    }
}
