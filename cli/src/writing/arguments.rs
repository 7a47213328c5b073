//! The arguments that the commands which write weights share.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::error::{Failure, Result};

/// The largest UQFF shard unless it is said.
const SHARD_SIZE: &str = "10G";
/// The same in bytes.
const SHARD_BYTES: u64 = 10 << 30;

/// The arguments about the file that is written.
#[derive(Args, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct Writing {
    /// What OUT shall be [default: by its ending; `.uqff` is 1.2]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(super) to: Option<Target>,

    /// Names of layers: JSON `{"0": "lm_head", …}` or lines `0 lm_head`
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,

    /// The model's `config.json`, for the names, order and heads of Llama-family models [default:
    /// the one beside IN]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Keep the names and orders of rows that IN has
    #[arg(long, conflicts_with = "names")]
    pub(crate) keep_names: bool,

    /// Take metadata and the choice and order of tensors from this GGUF file
    #[arg(long, value_name = "GGUF")]
    pub(super) like: Option<PathBuf>,

    /// The largest UQFF shard: bytes, or with K, M, G; further layers go to `NAME-1.uqff` and so on
    #[arg(long, value_name = "SIZE", default_value = SHARD_SIZE, value_parser = size)]
    pub(super) shard_size: u64,

    /// Write `uqff_report.json` beside a UQFF 1.2 file
    #[arg(long)]
    pub(super) report: bool,

    /// Where tensors go that are no layers of a UQFF file [default: `residual.safetensors` beside
    /// OUT; one of another model is not replaced]
    #[arg(long, value_name = "FILE")]
    pub(super) residual: Option<PathBuf>,
}

/// The formats that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// UQFF 1.2, as mistral.rs since 0.9 reads it
    #[value(name = "uqff-1.2", alias = "uqff")]
    Uqff12,
    /// UQFF 0.2.0, as mistral.rs 0.7 and 0.8 read it
    #[value(name = "uqff-0.2")]
    Uqff02,
    /// GGUF version 3
    Gguf,
    /// Floats in safetensors
    Safetensors,
}

impl Target {
    /// The format's name for people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Uqff12 | Self::Uqff02 => "UQFF",
            Self::Gguf => "GGUF",
            Self::Safetensors => "safetensors",
        }
    }
}

/// A number of bytes, binary multiples by a letter.
pub(crate) fn size(text: &str) -> std::result::Result<u64, String> {
    let (digits, unit) = match text.trim_end_matches(['B', 'b', 'i']) {
        number if number.ends_with(['K', 'k']) => (&number[..number.len() - 1], 1 << 10),
        number if number.ends_with(['M', 'm']) => (&number[..number.len() - 1], 1 << 20),
        number if number.ends_with(['G', 'g']) => (&number[..number.len() - 1], 1 << 30),
        number => (number, 1),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "expected a size such as 500M or 10G".into())
}

impl Writing {
    /// An option that was given another value than it has of itself.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--to", self.to.is_some()),
            ("--names", self.names.is_some()),
            ("--config", self.config.is_some()),
            ("--keep-names", self.keep_names),
            ("--like", self.like.is_some()),
            ("--shard-size", self.shard_size != SHARD_BYTES),
            ("--report", self.report),
            ("--residual", self.residual.is_some()),
        ];
        options.iter().find(|(_, is_given)| *is_given).map(|(option, _)| *option)
    }

    /// The format of OUT.
    pub(crate) fn target(&self, output: &Path) -> Result<Target> {
        let ending = output.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let by_ending = match ending.as_deref() {
            Some("uqff") => Some(Target::Uqff12),
            Some("gguf") => Some(Target::Gguf),
            Some("safetensors") => Some(Target::Safetensors),
            _ => None,
        };
        let target = self.to.or(by_ending).ok_or_else(|| {
            let failure = Failure::usage("the ending of OUT does not tell its format");
            match ending.as_deref() {
                Some("weights") => failure.hint("`nanoembed convert` writes `.weights` files"),
                _ => failure.hint("name it `.uqff`, `.gguf` or `.safetensors`, or say `--to`"),
            }
        })?;
        if output == Path::new("-") && matches!(target, Target::Uqff12 | Target::Uqff02) {
            return Err(Failure::usage("UQFF is written to files, not to stdout"));
        }
        Ok(target)
    }

    /// Where the tensors go that are no layers of `output`.
    pub(super) fn residual(&self, output: &Path) -> PathBuf {
        let beside = || output.with_file_name("residual.safetensors");
        self.residual.clone().unwrap_or_else(beside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(size(SHARD_SIZE), Ok(SHARD_BYTES));
        assert_eq!(size("500MiB"), Ok(500 << 20));
        assert_eq!(size("4096"), Ok(4096));
        for bad in ["", "0", "G", "-1", "1T", "99999999999G"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
