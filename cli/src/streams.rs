//! The streams that a process is born with: whether they were open at all, and what goes to stderr.
//!
//! Rust opens `/dev/null` in place of a standard stream that is closed, before `main` runs. Results
//! would go there and the program would end as if they had been written. So the streams are looked
//! at before Rust does.

use std::fmt::{Arguments, Display};
use std::io::{self, StdoutLock, Write};
use std::path::Path;

use nanoembed::{Error, Result, escape};

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod at_start {
    use std::sync::atomic::{AtomicBool, Ordering};

    pub(super) static STDIN_IS_CLOSED: AtomicBool = AtomicBool::new(false);
    pub(super) static STDOUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

    extern "C" fn look() {
        // SAFETY: `fcntl` with F_GETFD only asks about a descriptor, and may be called before
        // `main`.
        let is_closed = |stream| unsafe { libc::fcntl(stream, libc::F_GETFD) == -1 };
        STDIN_IS_CLOSED.store(is_closed(0), Ordering::Relaxed);
        STDOUT_IS_CLOSED.store(is_closed(1), Ordering::Relaxed);
    }

    // SAFETY: the section holds functions that the system's loader calls before `main`, which
    // `look` may be: it needs nothing of Rust's runtime.
    #[used]
    #[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
    static LOOK: extern "C" fn() = look;
}

/// Writes a line to stderr.
pub(crate) fn say(line: impl Display) {
    say_after(format_args!(""), line);
}

/// Writes a line to stderr, after a prefix of the program: styles are kept only in the prefix, and
/// only on a terminal.
///
/// Failed writes are ignored: there is nowhere to report them, and the exit code says how the
/// program ended.
pub(crate) fn say_after(own: Arguments<'_>, line: impl Display) {
    let line = line.to_string();
    let _ = writeln!(anstream::stderr().lock(), "{own}{}", escape::line(&line));
}

/// Stdout, for results.
pub(crate) struct Stdout(StdoutLock<'static>);

/// Stdout, which fails when it is written to if it was closed when the program began.
pub(crate) fn stdout() -> Stdout {
    Stdout(io::stdout().lock())
}

/// Fails if results cannot be written to stdout.
pub(crate) fn check_stdout() -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    if at_start::STDOUT_IS_CLOSED.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(io::Error::other("it is closed"));
    }
    Ok(())
}

/// Refuses stdout as an output if nothing can be written to it.
pub(crate) fn check_output(path: &Path) -> Result<()> {
    match path == Path::new("-") {
        true => check_stdout().map_err(|error| Error::writing("stdout", &error)),
        false => Ok(()),
    }
}

/// Fails if nothing can be read from stdin.
pub(crate) fn check_stdin() -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    if at_start::STDIN_IS_CLOSED.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(io::Error::other("it is closed"));
    }
    Ok(())
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check_stdout()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
