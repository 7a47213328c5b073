//! Files that are opened because something names them: regular ones that tell their length. A device
//! has no end, a pipe may never say anything, and files of `/proc` and of some file systems in user
//! space have bytes although they tell a length of 0: no limit could be checked before they are read.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek};
use std::path::Path;

use nanoembed_core::limit::{Exceeded, Limit};

use crate::refusal::Refused;

/// Opens a regular file that tells its length. No more bytes than that are to be read of it, so a
/// limit that the length keeps is kept.
pub fn open(path: &Path) -> io::Result<File> {
    // Asked first, as opening a device may do something, and again, as it may be another by then.
    check_regular(&path.metadata()?)?;
    let mut file = reading().open(path)?;
    let there = file.metadata()?;
    check_regular(&there)?;
    if there.len() == 0 {
        check_empty(&mut file)?;
    }
    Ok(file)
}

fn check_regular(there: &Metadata) -> io::Result<()> {
    if there.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !there.is_file() {
        return Err(Refused::NotRegular.into());
    }
    Ok(())
}

/// Refuses a file that has bytes, waits for some, or cannot be asked.
fn check_empty(file: &mut File) -> io::Result<()> {
    match file.read(&mut [0]) {
        Ok(0) => file.rewind(),
        _ => Err(Refused::NoLength.into()),
    }
}

/// Options that open a file without waiting for anybody: pipes, and files of `/proc` that have
/// nothing to say yet.
pub(crate) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NONBLOCK | libc::O_NOCTTY,
    );
    options
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
    use crate::error::{Error, Kind};

    fn refusal(error: &io::Error) -> Error {
        Error::from_refusal(Refused::from_error(error).unwrap())
    }

    #[test]
    fn files_that_tell_no_length_are_refused_and_empty_ones_are_not() {
        let empty = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(read(empty.path()).unwrap(), b"");
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/proc/self/status", &link).unwrap();
        for path in [Path::new("/proc/self/status"), &link].map(Path::to_owned) {
            // Only Linux has it.
            if path.exists() {
                let refused = refusal(&open(&path).unwrap_err());
                let message = "the system does not tell the length of this file";
                assert_eq!(refused.to_string(), message);
            }
        }
    }

    #[test]
    fn devices_and_files_beyond_the_limit_are_refused() {
        let refused = |path: &Path| refusal(&read(path).unwrap_err());
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
