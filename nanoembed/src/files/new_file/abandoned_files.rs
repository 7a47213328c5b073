//! Temporary files and folders of processes that were killed, named `.nanoembed-PROCESS-….part`.
//!
//! Each process keeps a lock on its files, which ends with it. One is abandoned if its process is
//! gone, as far as that can be seen from here, and its lock is free. Processes in other containers,
//! whose numbers mean nothing here, still hold theirs. A process that began after the file was made
//! has its number by coincidence, as in containers, where the numbers are always the same few.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::files::whole_file;

const PREFIX: &str = ".nanoembed-";
pub(super) const SUFFIX: &str = ".part";

/// The prefix of the names of this process's files.
pub(super) fn prefix() -> String {
    format!("{PREFIX}{}-", own_number())
}

#[cfg(not(target_os = "wasi"))]
fn own_number() -> u32 {
    std::process::id()
}

/// A program within another one has no process number: its host may set one.
#[cfg(target_os = "wasi")]
fn own_number() -> String {
    std::env::var("NANOEMBED_PROCESS").unwrap_or_default()
}

/// Removes the files that other processes left in `folder`; `own` are those of this one. Files that
/// cannot be removed stay.
pub(super) fn remove(folder: &Path, own: &[PathBuf]) {
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(process_of);
        let path = entry.path();
        let is_gone =
            process.is_some_and(|process| !is_running(process) || is_younger(process, &path));
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

/// True if it is a file or a folder without a lock.
fn is_free(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|there| there.is_file() || there.is_dir())
        && whole_file::reading().open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// True if another process of this number runs. The files of this one are known.
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

/// True if a process began after the file at `path` was last written, where the system says so.
fn is_younger(process: u32, path: &Path) -> bool {
    // Both are told in whole seconds, more or less.
    const DOUBT: Duration = Duration::from_secs(2);
    let written = path.symlink_metadata().and_then(|there| there.modified()).ok();
    began(process).zip(written).is_some_and(|(began, written)| began > written + DOUBT)
}

/// When a process began.
#[cfg(target_os = "linux")]
fn began(process: u32) -> Option<SystemTime> {
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let status = text(&format!("/proc/{process}/stat"))?;
    // The name before may have anything in it. Its 20th field from there is the time since boot.
    let (_, fields) = status.rsplit_once(')')?;
    let ticks: u64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    let boot = text("/proc/stat")?;
    let boot: u64 = boot.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()?;
    // SAFETY: it only asks for a number.
    let ticks_per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
    let began = boot.checked_add(ticks.checked_div(ticks_per_second)?)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(began))
}

/// The lock and the number decide.
#[cfg(not(target_os = "linux"))]
const fn began(_: u32) -> Option<SystemTime> {
    None
}

/// The lock decides.
#[cfg(not(unix))]
fn is_running(_: u32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_began_later_did_not_write_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let own = std::process::id();
        assert!(!is_younger(own, file.path()));
        file.as_file().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(is_younger(own, file.path()));
        assert!(!is_younger(u32::MAX, file.path()));
    }

    #[test]
    fn only_names_of_temporary_files_name_a_process() {
        assert_eq!(process_of(".nanoembed-123-aB3x.part"), Some(123));
        for other in [".nanoembed-aB3x9z.part", ".nanoembed-12-x", "x.part", ".nanoembed-x-1.part"]
        {
            assert_eq!(process_of(other), None, "{other}");
        }
    }
}
