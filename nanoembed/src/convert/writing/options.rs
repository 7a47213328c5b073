//! Options for files of weights.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nanoembed_core::event::Format;
use nanoembed_core::format::uqff::ggml_number;
use nanoembed_core::tensor::DtypeKind;

use crate::choice::choices;
use crate::convert::quantizer::QuantType;
use crate::convert::quantizer::types::Scheme;
use crate::error::{Error, Result};
use crate::files::promise::check_promise;
use crate::folder::texts::Allowed;
use crate::stored::folder_weights::RESIDUAL;

/// The largest UQFF shard unless it is said.
pub const SHARD_BYTES: u64 = 10 << 30;

/// Options for writing files of weights.
///
/// ```
/// use nanoembed::convert::{Target, Writing};
///
/// let writing = Writing::default().to(Target::Uqff12).shard_size(2 << 30);
/// ```
#[derive(Clone, Debug)]
pub struct Writing {
    pub(in crate::convert) to: Option<Target>,
    pub(in crate::convert) names: Option<PathBuf>,
    pub(in crate::convert) config: Option<PathBuf>,
    pub(in crate::convert) keep_names: bool,
    pub(in crate::convert) like: Option<PathBuf>,
    pub(in crate::convert) shard_size: u64,
    pub(in crate::convert) report: bool,
    pub(in crate::convert) residual: Option<PathBuf>,
    /// Unknown settings that are passed over.
    pub(in crate::convert) allowed: Arc<Allowed>,
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
            allowed: Arc::default(),
        }
    }
}

choices! {
    /// The formats of weights that are written.
    #[non_exhaustive]
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
    /// True for UQFF, of either generation.
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

    /// Returns true if files of this format can hold the type.
    pub(in crate::convert) fn holds(self, to: QuantType) -> bool {
        match (self, to.scheme()) {
            (Self::Safetensors, Scheme::Plain(dtype)) => dtype.kind() == DtypeKind::Number,
            (Self::Safetensors, _) => false,
            (Self::Gguf, scheme) => matches!(scheme, Scheme::Plain(_)),
            (Self::Uqff12 | Self::Uqff02, Scheme::Plain(dtype)) => ggml_number(dtype).is_some(),
            (Self::Uqff12 | Self::Uqff02, _) => true,
        }
    }
}

/// The endings of files of a format. UQFF is kept in safetensors.
const fn endings(target: Target) -> &'static [&'static str] {
    match target {
        Target::Uqff12 | Target::Uqff02 => &["uqff", "safetensors"],
        Target::Gguf => &["gguf"],
        Target::Safetensors => &["safetensors"],
    }
}

impl Writing {
    /// The format of the output, instead of the one its ending names, `.uqff` being 1.2.
    #[must_use]
    pub fn to(self, target: impl Into<Option<Target>>) -> Self {
        Self { to: target.into(), ..self }
    }

    /// A file with the names of layers that have only numbers: JSON `{"0": "lm_head", …}`, or
    /// lines `0 lm_head`.
    #[must_use]
    pub fn names(self, file: impl Into<Option<PathBuf>>) -> Self {
        Self { names: file.into(), ..self }
    }

    /// The model's `config.json`, instead of the one beside the input.
    #[must_use]
    pub fn config(self, file: impl Into<Option<PathBuf>>) -> Self {
        Self { config: file.into(), ..self }
    }

    /// Keeps the names and orders of rows that the input has.
    #[must_use]
    pub const fn keep_names(mut self, keep: bool) -> Self {
        self.keep_names = keep;
        self
    }

    /// Takes metadata and the choice and order of tensors from this GGUF file.
    #[must_use]
    pub fn like(self, file: impl Into<Option<PathBuf>>) -> Self {
        Self { like: file.into(), ..self }
    }

    /// The most bytes of a UQFF shard, instead of 10 GiB.
    #[must_use]
    pub const fn shard_size(mut self, bytes: u64) -> Self {
        self.shard_size = bytes;
        self
    }

    /// Writes `uqff_report.json` beside a UQFF 1.2 file.
    #[must_use]
    pub const fn report(mut self, report: bool) -> Self {
        self.report = report;
        self
    }

    /// The file of the tensors that are no layers of a UQFF file, instead of `residual.safetensors`
    /// beside the output.
    #[must_use]
    pub fn residual(self, file: impl Into<Option<PathBuf>>) -> Self {
        Self { residual: file.into(), ..self }
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
        if let Some(to) = self.to {
            check_promise(output, endings(to), to.name())?;
        }
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
        self.refuse_unused(target)?;
        Ok(target)
    }

    /// Refuses options that would change nothing in a file of this format.
    fn refuse_unused(&self, target: Target) -> Result<()> {
        let is_uqff = matches!(target, Target::Uqff12 | Target::Uqff02);
        let unused = [
            ("shard_size", self.shard_size != SHARD_BYTES && !is_uqff, "UQFF"),
            ("residual", self.residual.is_some() && !is_uqff, "UQFF"),
            ("report", self.report && target != Target::Uqff12, "UQFF 1.2"),
        ];
        match unused.iter().find(|(_, is_unused, _)| *is_unused) {
            Some((option, _, of)) => {
                let message = format!("is for {of} files, and `{}` is written", target.name());
                Err(Error::argument(option, message))
            }
            None => Ok(()),
        }
    }

    /// Refuses names and a configuration where they would change nothing in the output.
    pub(super) fn refuse_unused_names(&self, from: Format, target: Target) -> Result<()> {
        let is_uqff = matches!(target, Target::Uqff12 | Target::Uqff02) || from == Format::Uqff;
        if self.names.is_some() && !is_uqff {
            return Err(Error::argument("names", "is for the layers of UQFF files"));
        }
        if self.config.is_some() && from == Format::Gguf && target == Target::Gguf {
            return Err(Error::argument("config", "changes nothing: GGUF files say it themselves"));
        }
        Ok(())
    }

    /// The file of the tensors that are no layers of `output`.
    pub(super) fn residual_of(&self, output: &Path) -> PathBuf {
        let beside = || output.with_file_name(RESIDUAL);
        self.residual.clone().unwrap_or_else(beside)
    }
}
