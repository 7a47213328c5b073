//! `reconstruct`: the vectors that a quantised file stands for.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed::files::mapped::Mapped;
use nanoembed::words::derive;
use nanoembed::words::file::Opened;
use nanoembed_core::format::finalfusion::Storage;

use crate::args::words::PolicyArgs;
use crate::error::{Error, Result};
use crate::output::create;
use crate::progress::Progress;

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
    input: PathBuf,

    /// The `.fifu` file to write; `-` is stdout
    #[arg(value_name = "OUT")]
    output: PathBuf,

    #[command(flatten)]
    policy: PolicyArgs,
}

impl Reconstruct {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let bytes = Mapped::open(&self.input)?;
        let opened = Opened::parse(&self.input, &bytes, self.policy.policy())?;
        let storage = &opened.file.layout().storage;
        if matches!(storage, Storage::Array(_)) {
            return Err(Error::bad_input("the vectors are not quantised").at(&opened.name));
        }
        let mut file = create(&self.output, true)?;
        let name = file.name();
        let row_bytes = u64::from(storage.cols()) * 4;
        let total = storage.rows().saturating_mul(row_bytes);
        let progress = (!quiet).then(|| Progress::bytes("reconstructing", total));
        derive::reconstruct(&opened, (&mut file, &name), || {
            if let Some(progress) = &progress {
                progress.advance(row_bytes);
            }
        })?;
        drop(progress);
        file.commit()?;
        Ok(ExitCode::SUCCESS)
    }
}
