//! Temporary files and folders of processes that were killed: `.nanoembed-PROCESS-….part`, which
//! nobody will finish.
//!
//! Each process keeps a lock on its own, which ends with it. One is abandoned if its process is gone, as far as that can be seen from here, and its lock is free. Processes in other
//! containers, whose numbers mean nothing here, still hold theirs.

use std::fs::File;
use std::path::{Path, PathBuf};

const PREFIX: &str = ".nanoembed-";
pub(super) const SUFFIX: &str = ".part";

/// What the names of this process's files begin with.
pub(super) fn prefix() -> String {
    format!("{PREFIX}{}-", own_number())
}

#[cfg(not(target_os = "wasi"))]
fn own_number() -> u32 {
    std::process::id()
}

/// A program within another one has no number: whoever runs it may say its own.
#[cfg(target_os = "wasi")]
fn own_number() -> String {
    std::env::var("NANOEMBED_PROCESS").unwrap_or_default()
}

/// Removes what other processes left in `folder`; `own` are those of this one. What cannot be
/// removed stays.
pub(super) fn remove(folder: &Path, own: &[PathBuf]) {
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(process_of);
        let path = entry.path();
        let is_gone = process.is_some_and(|process| !is_running(process));
        if is_gone && !own.iter().any(|own| own.file_name() == path.file_name()) && is_free(&path) {
            let _ = if path.is_dir() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
        }
    }
}

/// The process that a temporary file is of.
fn process_of(name: &str) -> Option<u32> {
    let (process, _) = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split_once('-')?;
    process.parse().ok()
}

/// Whether it is a file or a folder, and nobody holds its lock.
fn is_free(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|there| there.is_file() || there.is_dir())
        && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Whether another process of this number runs. This one has files of its own, which are known.
#[cfg(unix)]
fn is_running(process: u32) -> bool {
    let Ok(process_id) = libc::pid_t::try_from(process) else { return false };
    if process == std::process::id() || process_id == 0 {
        return false;
    }
    // SAFETY: signal 0 is sent to nobody; the call only says whether there is a process.
    let found = unsafe { libc::kill(process_id, 0) } == 0;
    found || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// The lock decides.
#[cfg(not(unix))]
fn is_running(_: u32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_temporary_files_name_a_process() {
        assert_eq!(process_of(".nanoembed-123-aB3x.part"), Some(123));
        for other in [".nanoembed-aB3x9z.part", ".nanoembed-12-x", "x.part", ".nanoembed-x-1.part"]
        {
            assert_eq!(process_of(other), None, "{other}");
        }
    }
}
