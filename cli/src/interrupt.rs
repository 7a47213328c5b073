//! Signals that ask the program to end: Ctrl-C, termination, a terminal that is closed; and the one
//! of a file that was cut while it was read.

use std::sync::{Mutex, PoisonError};

use nanoembed::files::new_file::remove_unfinished;

/// Ends a command that does so by itself, instead of the process.
type End = Box<dyn FnOnce() + Send>;

/// For the next interruption.
static END: Mutex<Option<End>> = Mutex::new(None);

/// From now on an interruption removes temporary files and ends the process with status 130.
pub(crate) fn clean_up_when_interrupted() {
    when_interrupted(|| {
        let end = END.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(end) = end {
            return end();
        }
        let _unfinished = remove_unfinished();
        std::process::exit(130);
    });
}

/// The next interruption calls `end`; the one after it ends the process.
pub(crate) fn end_by(end: impl FnOnce() + Send + 'static) {
    *END.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(end));
}

/// The next interruption ends the process again.
pub(crate) fn end_as_usual() {
    *END.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Calls `act` when one of them comes. Without a handler the system's own applies, which ends
/// the process all the same.
#[cfg(unix)]
fn when_interrupted(act: impl Fn() + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let ignored = ignored();
    let heeded =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    if let Ok(mut signals) = Signals::new(heeded) {
        std::thread::spawn(move || {
            for _ in signals.forever() {
                act();
            }
        });
    }
}

#[cfg(windows)]
fn when_interrupted(act: impl Fn() + Send + 'static) {
    drop(ctrlc::set_handler(act));
}

/// A program in WebAssembly gets no signals.
#[cfg(not(any(unix, windows)))]
fn when_interrupted(_: impl Fn() + Send + 'static) {}

/// The signals that this process was started to ignore, bit n − 1 for signal n: under `nohup`, or
/// in a script's background. They stay ignored. Where there is no `/proc`, nothing says so without
/// `unsafe`, and none counts as ignored.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// From now on a mapped file that another program cuts ends the process with a word of explanation
/// and status 3 instead of a crash.
#[cfg(unix)]
pub(crate) fn report_truncation() {
    const MESSAGE: &[u8] = b"error[502]: a file was cut short while it was being read\n";
    // SAFETY: the handler only calls `write` and `_exit`, both of which POSIX allows in signal
    // handlers.
    let _ = unsafe {
        signal_hook::low_level::register(libc::SIGBUS, || {
            libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::_exit(3);
        })
    };
}

#[cfg(not(unix))]
pub(crate) fn report_truncation() {}
