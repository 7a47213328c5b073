//! `reconstruct`: the vectors that a quantised file stands for.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed::words::Reconstruction;

use crate::args::words::PolicyArgs;
use crate::error::Result;
use crate::progress::Terminal;
use crate::streams;

/// Turn a product-quantised `.fifu` file into one of plain vectors
///
/// Words, n-grams, metadata and lengths stay.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed reconstruct vectors.pq.fifu vectors.fifu")]
pub(crate) struct Reconstruct {
    /// A quantised `.fifu` file
    #[arg(value_name = "IN")]
    pub(super) input: PathBuf,

    /// The `.fifu` file to write; `-` is stdout
    #[arg(value_name = "OUT")]
    output: PathBuf,

    #[command(flatten)]
    policy: PolicyArgs,
}

impl Reconstruct {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        streams::check_output(&self.output)?;
        let reconstruction = Reconstruction::new(&self.input, &self.output);
        reconstruction.policy(self.policy.policy()).run(&Terminal::new(quiet))?;
        Ok(ExitCode::SUCCESS)
    }
}
