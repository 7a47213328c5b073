//! `bucket-to-explicit`: n-grams listed instead of hashed.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed::words::{Buckets, ExplicitNgrams};

use crate::args::words::PolicyArgs;
use crate::error::{Result, name_of_output};
use crate::streams::{self, say};

/// Turn hashed n-grams into a list of those that the words have
///
/// Buckets that no word of the vocabulary uses are dropped, which makes most files a good deal
/// smaller. Unknown words are then made of n-grams that known words have too.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed bucket-to-explicit vectors.fifu explicit.fifu")]
pub(crate) struct BucketToExplicit {
    /// A `.fifu` file with a bucket or fastText vocabulary
    #[arg(value_name = "IN")]
    pub(super) input: PathBuf,

    /// The `.fifu` file to write; `-` is stdout
    #[arg(value_name = "OUT")]
    output: PathBuf,

    #[command(flatten)]
    policy: PolicyArgs,
}

impl BucketToExplicit {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        streams::check_output(&self.output)?;
        let listing = ExplicitNgrams::new(&self.input, &self.output);
        let Buckets { total, used, .. } = listing.policy(self.policy.policy()).run()?;
        if !quiet {
            let name = name_of_output(&self.output);
            say(format_args!("{name}: {used} of {total} buckets are used"));
        }
        Ok(ExitCode::SUCCESS)
    }
}
