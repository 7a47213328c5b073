//! The `nanoembed` command line, as a library: Cargo compiles a library beside those that it needs,
//! a program only behind them.
//!
//! | module | role |
//! |---|---|
//! | `args` | what may be asked for |
//! | `usage` | what is wrong with a command line |
//! | `commands` | one file for each command |
//! | `input` | texts, read as they are needed |
//! | `output` | results, written as streams and in order |
//! | `progress` | how far a job is |
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

/// Does what the arguments say.
#[must_use]
pub fn main() -> ExitCode {
    folder::enter();
    let cli = match usage::parse(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    interrupt::clean_up_when_interrupted();
    interrupt::report_truncation();
    match commands::run(cli) {
        Ok(code) => code,
        Err(failure) => {
            error::print(&failure);
            ExitCode::from(error::exit_code(&failure))
        }
    }
}
