//! Errors on the command line: one line for people, a code and an exit status for scripts.
//!
//! ```text
//! error[115]: model.weights: byte 56: the header's checksum does not match its bytes
//!   hint: the file is damaged; get another copy of it
//! ```
//!
//! | exit | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | the input is bad, or a thing was not found |
//! | 2 | wrong usage |
//! | 3 | reading or writing failed |
//! | 130 | interrupted |

use std::error::Error as _;
use std::fmt::Display;
use std::io;

use anstyle::{AnsiColor, Style};
use nanoembed::Kind;

use crate::streams::say_after;

pub(crate) use nanoembed::{Error, Result, name_of, name_of_output};

/// The status that the process should end with.
pub(crate) fn exit_code(error: &Error) -> u8 {
    match error.kind() {
        _ if is_broken_pipe(error) => 0,
        Kind::Usage => 2,
        kind if kind.code() / 100 == 5 => 3,
        _ => 1,
    }
}

/// The place and the message; arguments are options here.
fn line(error: &Error) -> String {
    let place: String = error.place().map(|part| format!("{part}: ")).collect();
    let option = error.argument_name().map(|name| format!("--{} ", name.replace('_', "-")));
    format!("{place}{}{}", option.unwrap_or_default(), error.message())
}

/// True if the reader of our output has gone, which is no error.
fn is_broken_pipe(error: &Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| source.kind() == io::ErrorKind::BrokenPipe)
}

/// Prints the error, unless the reader of our output has gone.
pub(crate) fn print(error: &Error) {
    if is_broken_pipe(error) {
        return;
    }
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let cyan = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
    let code = error.code();
    say_after(format_args!("{red}error[{code}]{red:#}: "), line(error));
    if let Some(hint) = error.hint() {
        say_after(format_args!("  {cyan}hint{cyan:#}: "), hint);
    }
}

/// Prints a warning to stderr.
pub(crate) fn warn(message: impl Display) {
    let yellow = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
    say_after(format_args!("{yellow}warning{yellow:#}: "), message);
}
