//! What can be said of the file that is written.

use std::path::{Path, PathBuf};

use crate::choice::choices;
use crate::error::{Error, Result};

/// The largest UQFF shard unless it is said.
pub const SHARD_BYTES: u64 = 10 << 30;

/// How weights are written.
#[derive(Clone, Debug)]
pub struct Writing {
    /// What the output shall be; `None` goes by its ending, `.uqff` being 1.2.
    pub to: Option<Target>,
    /// A file with the names of layers.
    pub names: Option<PathBuf>,
    /// The model's `config.json`; `None` takes the one beside the input.
    pub config: Option<PathBuf>,
    /// Keep the names and orders of rows that the input has.
    pub keep_names: bool,
    /// Take metadata and the choice and order of tensors from this GGUF file.
    pub like: Option<PathBuf>,
    /// The largest UQFF shard.
    pub shard_size: u64,
    /// Write `uqff_report.json` beside a UQFF 1.2 file.
    pub report: bool,
    /// Where tensors go that are no layers of a UQFF file; `None` puts them into
    /// `residual.safetensors` beside the output.
    pub residual: Option<PathBuf>,
}

impl Default for Writing {
    fn default() -> Self {
        Self {
            to: None,
            names: None,
            config: None,
            keep_names: false,
            like: None,
            shard_size: SHARD_BYTES,
            report: false,
            residual: None,
        }
    }
}

choices! {
    /// The formats that are written.
    pub enum Target {
        /// UQFF 1.2, as mistral.rs since 0.9 reads it
        Uqff12 = "uqff-1.2" | "uqff",
        /// UQFF 0.2.0, as mistral.rs 0.7 and 0.8 read it
        Uqff02 = "uqff-0.2",
        /// GGUF version 3
        Gguf = "gguf",
        /// Floats in safetensors
        Safetensors = "safetensors",
    }
}

impl Target {
    /// Whether it is UQFF, of either generation.
    pub const fn is_uqff(self) -> bool {
        matches!(self, Self::Uqff12 | Self::Uqff02)
    }

    /// The format's name for people.
    pub const fn format_name(self) -> &'static str {
        match self {
            Self::Uqff12 | Self::Uqff02 => "UQFF",
            Self::Gguf => "GGUF",
            Self::Safetensors => "safetensors",
        }
    }
}

impl Writing {
    /// The format of OUT.
    pub fn target(&self, output: &Path) -> Result<Target> {
        let ending = output.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let by_ending = match ending.as_deref() {
            Some("uqff") => Some(Target::Uqff12),
            Some("gguf") => Some(Target::Gguf),
            Some("safetensors") => Some(Target::Safetensors),
            _ => None,
        };
        let target = self.to.or(by_ending).ok_or_else(|| {
            let failure = Error::usage("the ending of OUT does not tell its format");
            match ending.as_deref() {
                Some("weights") => failure.with_hint("`nanoembed convert` writes `.weights` files"),
                _ => failure.with_hint("name it `.uqff`, `.gguf` or `.safetensors`, or say `--to`"),
            }
        })?;
        if output == Path::new("-") && matches!(target, Target::Uqff12 | Target::Uqff02) {
            return Err(Error::usage("UQFF is written to files, not to stdout"));
        }
        Ok(target)
    }

    /// Where the tensors go that are no layers of `output`.
    pub(super) fn residual(&self, output: &Path) -> PathBuf {
        let beside = || output.with_file_name("residual.safetensors");
        self.residual.clone().unwrap_or_else(beside)
    }
}
