//! The arguments that the commands which write weights share.

use std::path::PathBuf;

use clap::Args;
use nanoembed::convert::writing::SHARD_BYTES;
use nanoembed::convert::{Target, Writing};

use super::choice::choice;
use super::limits::Read;
use super::size::size;

/// The largest UQFF shard unless it is said.
const SHARD_SIZE: &str = "10G";

/// Names of layers.
#[derive(Args, Clone, Debug)]
pub(crate) struct NamesArgs {
    /// Names of layers that have only numbers: JSON `{"0": "lm_head", …}` or lines `0 lm_head`
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
}

impl NamesArgs {
    /// The file with the names.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.names.clone()
    }
}

/// The arguments about the file that is written.
#[derive(Args, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct WritingArgs {
    /// Format of OUT [default: by its ending; `.uqff` is 1.2]
    #[arg(long, value_parser = choice::<Target>(), value_name = "FORMAT")]
    to: Option<Target>,

    #[command(flatten)]
    names: NamesArgs,

    /// The model's `config.json`, for the names, order and heads of Llama-family models [default:
    /// the one beside IN]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Keep the names and orders of rows that IN has
    #[arg(long, conflicts_with = "names")]
    keep_names: bool,

    /// Take metadata and the choice and order of tensors from this GGUF file
    #[arg(long, value_name = "GGUF")]
    like: Option<PathBuf>,

    /// The largest UQFF shard: bytes, or with K, M, G; further layers go to `NAME-1.uqff` and so on
    #[arg(long, value_name = "SIZE", default_value = SHARD_SIZE, value_parser = size)]
    shard_size: u64,

    /// Write `uqff_report.json` beside a UQFF 1.2 file
    #[arg(long)]
    report: bool,

    /// File for tensors that are no layers of a UQFF file [default: `residual.safetensors` beside
    /// OUT; one of another model is not replaced]
    #[arg(long, value_name = "FILE")]
    residual: Option<PathBuf>,
}

impl WritingArgs {
    /// The file with weights that is read beside IN.
    pub(crate) fn reads(&self) -> Option<Read<'_>> {
        self.like.as_deref().map(Read::Files)
    }

    /// An option that was given another value than it has of itself.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--to", self.to.is_some()),
            ("--names", self.names.file().is_some()),
            ("--config", self.config.is_some()),
            ("--keep-names", self.keep_names),
            ("--like", self.like.is_some()),
            ("--shard-size", self.shard_size != SHARD_BYTES),
            ("--report", self.report),
            ("--residual", self.residual.is_some()),
        ];
        options.iter().find(|(_, is_given)| *is_given).map(|(option, _)| *option)
    }

    /// The options that the arguments name.
    pub(crate) fn writing(&self) -> Writing {
        Writing::default()
            .to(self.to)
            .names(self.names.file())
            .config(self.config.clone())
            .keep_names(self.keep_names)
            .like(self.like.clone())
            .shard_size(self.shard_size)
            .report(self.report)
            .residual(self.residual.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_as_large_as_the_library_makes_them() {
        assert_eq!(size(SHARD_SIZE), Ok(SHARD_BYTES));
    }
}
