//! `completions`: a script that lets a shell complete the commands and options.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use crate::error::{Error, Result};
use crate::streams;

/// Print a completion script for a shell
///
/// The script goes to stdout; where it belongs depends on the shell.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed completions bash > ~/.local/share/bash-completion/completions/nanoembed
  nanoembed completions zsh > ~/.zfunc/_nanoembed
  nanoembed completions fish > ~/.config/fish/completions/nanoembed.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints the script for the command line that `program` describes.
    pub(crate) fn run(self, mut program: clap::Command) -> Result<ExitCode> {
        // Into memory first: the generator panics when stdout is closed.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "nanoembed", &mut script);
        let mut stdout = streams::stdout();
        let written = stdout.write_all(&script).and_then(|()| stdout.flush());
        written.map_err(|error| Error::writing("stdout", &error))?;
        Ok(ExitCode::SUCCESS)
    }
}
