//! `bucket-to-explicit`: n-grams listed instead of hashed.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed::files::mapped::Mapped;
use nanoembed::words::derive;
use nanoembed::words::file::Opened;

use crate::args::words::PolicyArgs;
use crate::error::Result;
use crate::output::create;

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
    input: PathBuf,

    /// The `.fifu` file to write; `-` is stdout
    #[arg(value_name = "OUT")]
    output: PathBuf,

    #[command(flatten)]
    policy: PolicyArgs,
}

impl BucketToExplicit {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let bytes = Mapped::open(&self.input)?;
        let opened = Opened::parse(&self.input, &bytes, self.policy.policy())?;
        let mut file = create(&self.output, true)?;
        let name = file.name();
        let [before, after] = derive::bucket_to_explicit(&opened, (&mut file, &name))?;
        file.commit()?;
        if !quiet {
            anstream::eprintln!("{name}: {after} of {before} buckets are used");
        }
        Ok(ExitCode::SUCCESS)
    }
}
