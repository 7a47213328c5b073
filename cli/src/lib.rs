//! The `nanoembed` command line, as a library: Cargo compiles a library in parallel to those that
//! it needs, a program only after them.
//!
//! | module | role |
//! |---|---|
//! | `args` | arguments that several commands share |
//! | `usage` | the command line, and errors in one |
//! | `commands` | one file for each command |
//! | `input` | texts, read as they are needed |
//! | `output` | results, written as streams and in order |
//! | `progress` | progress of a job |
//! | `error` | errors as lines and exit codes |
//! | `streams` | whether stdin and stdout are open at all |
//! | `interrupt` | signals that end the program |
//! | `folder` | where names of files begin |
//!
//! Everything that more than one front end would decide lives in `nanoembed` and `nanoembed-core`.

mod args;
mod commands;
mod error;
mod folder;
mod input;
mod interrupt;
mod output;
mod progress;
mod streams;
mod usage;

use std::process::ExitCode;

use usage::Cli;
pub use usage::command;

/// Runs the command that the arguments name.
#[must_use]
pub fn main() -> ExitCode {
    folder::enter();
    let Cli { command, quiet, file_limit } = match usage::parse(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    interrupt::clean_up_when_interrupted();
    interrupt::report_truncation();
    let checked = file_limit.check(&command.reads());
    match checked.and_then(|()| commands::run(command, quiet, usage::command)) {
        Ok(code) => code,
        Err(failure) => {
            error::print(&failure);
            ExitCode::from(error::exit_code(&failure))
        }
    }
}
