//! Checks of `verify`: one file a format.

mod amb;
mod embd;
mod finalfusion;
mod folder;
mod gguf;
mod model;
mod pieces;
mod safetensors;
mod uqff;
mod values;
mod words;

use std::path::{Path, PathBuf};

use nanoembed_core::event::{Format, Mode};
use nanoembed_core::{Error as CoreError, ErrorKind};
use serde::Serialize;

use crate::error::{Error, Kind, Result, hint, place_of};
use crate::model_check;
use crate::progress::Observer;
use crate::signature::foreign;
use crate::stored::FileSet;
use crate::words::policy::Policy;

/// The note on formats in which a changed value cannot be detected.
const NO_CHECKSUMS: &str = "the format has no checksums";

/// One thing that is wrong. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The file that is wrong.
    pub file: String,
    /// The byte, unless it is the file as a whole that is wrong.
    pub offset: Option<u64>,
    /// The stable number of the cause.
    pub code: u16,
    /// The stable name of the cause.
    pub name: &'static str,
    /// The fault.
    pub message: String,
    /// The hint against it.
    #[serde(skip)]
    pub hint: Option<String>,
    #[serde(skip)]
    kind: Kind,
}

impl Finding {
    fn new(file: &str, error: CoreError) -> Self {
        Self {
            file: file.to_owned(),
            offset: place_of(error),
            code: error.code(),
            name: error.kind().name(),
            message: error.message().to_owned(),
            hint: hint(error.kind(), file).map(str::to_owned),
            kind: Kind::Core(error.kind()),
        }
    }

    /// A fault of the model in the file.
    fn from_model(file: &str, finding: model_check::ModelFinding) -> Self {
        Self { message: finding.message, ..Self::new(file, finding.error) }
    }

    /// An error that a reader returned for the file.
    fn from_error(file: &str, failure: Error) -> Self {
        Self {
            file: file.to_owned(),
            offset: failure.offset(),
            code: failure.code(),
            name: failure.kind().name(),
            message: failure.message_within(file),
            hint: failure.hint().map(str::to_owned),
            kind: failure.kind(),
        }
    }

    /// The first of `findings` as the reason not to use the model at `path`.
    #[doc(hidden)]
    pub fn into_failure(findings: Vec<Self>, path: &Path) -> Error {
        let count = findings.len();
        let failure = match findings.into_iter().next() {
            Some(first) => {
                let failure = Error::new(first.kind, first.message).at(&first.file);
                match first.offset {
                    Some(offset) => failure.at_byte(offset),
                    None => failure,
                }
            }
            None => Error::bad_input("the file is not sound").at(path.display()),
        };
        let path = path.display();
        failure.with_hint(format!("`nanoembed verify {path}` lists all {count} findings"))
    }

    /// A contradiction between files.
    fn from_failure(file: &str, kind: ErrorKind, failure: Error) -> Self {
        let finding = Self::new(file, CoreError::new(0, kind));
        let hint = failure.hint().map(str::to_owned).or(finding.hint.clone());
        Self { message: failure.to_string(), hint, ..finding }
    }

    /// The same with the place in words, if it is known: what holds the wrong byte.
    fn at(self, place: Option<String>) -> Self {
        match place {
            Some(place) => Self { message: format!("{place}: {}", self.message), ..self },
            None => self,
        }
    }
}

/// A check of a file of any format, all shards or parts of a model, or a folder as on Hugging Face
/// with the files beside its weights: structure, bounds and checksums, and whether the model opens.
///
/// ```
/// use nanoembed::Silent;
/// use nanoembed::inspect::Verification;
///
/// let verified =
///     Verification::new("../ffi/tests/data/small_bert.weights").strict(true).run(&Silent)?;
/// for finding in &verified.findings {
///     println!("{}: {} [{}]", finding.file, finding.message, finding.code);
/// }
/// assert!(verified.is_sound());
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Verification {
    path: PathBuf,
    mode: Mode,
    policy: Policy,
}

/// The outcome of a check.
#[derive(Debug)]
#[non_exhaustive]
pub struct Verified {
    /// A description of the checks, for people; empty if there are faults.
    pub checked: String,
    /// All that is wrong.
    pub findings: Vec<Finding>,
}

impl Verified {
    /// True if there are no faults.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

impl Verification {
    /// A check that accepts harmless deviations from a format.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), mode: Mode::Lenient, policy: Policy::default() }
    }

    /// Refuses harmless deviations too and, in GGUF, safetensors and UQFF files, values that are no
    /// finite numbers; and runs the model on one text.
    #[must_use]
    pub const fn strict(mut self, strict: bool) -> Self {
        self.mode = if strict { Mode::Strict } else { Mode::Lenient };
        self
    }

    /// The policy for words that files of word vectors get wrong.
    #[must_use]
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Checks the file.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read. Faults are in [`Verified::findings`].
    pub fn run(&self, observer: &dyn Observer) -> Result<Verified> {
        let set = FileSet::open(&self.path)?;
        Ok(match verify(&set, self.mode, self.policy, observer) {
            Ok(checked) => Verified { checked, findings: Vec::new() },
            Err(findings) => Verified { checked: String::new(), findings },
        })
    }
}

/// Checks open files, and that the model in them opens; returns a description of the checks, or the
/// faults.
#[doc(hidden)]
pub fn verify(
    set: &FileSet,
    mode: Mode,
    policy: Policy,
    observer: &dyn Observer,
) -> Result<String, Vec<Finding>> {
    let praise = verify_files(set, mode, policy, observer)?;
    match model::verify(set, mode) {
        Some(used) => used.map(|used| format!("{praise}; {used}")),
        None => Ok(praise),
    }
}

/// Checks files that are open, of a model that is opened next.
#[doc(hidden)]
pub fn verify_files(
    set: &FileSet,
    mode: Mode,
    policy: Policy,
    observer: &dyn Observer,
) -> Result<String, Vec<Finding>> {
    let beside = set.given_folder().map(folder::verify);
    let weights = weights(set, mode, policy, observer);
    match (weights, beside) {
        (weights, None) => weights,
        (Ok(praise), Some(Ok(count))) => Ok(format!("{praise}; {count} files beside it are sound")),
        (weights, Some(beside)) => {
            let findings = weights.err().into_iter().chain(beside.err());
            Err(findings.flatten().collect())
        }
    }
}

fn weights(
    set: &FileSet,
    mode: Mode,
    policy: Policy,
    observer: &dyn Observer,
) -> Result<String, Vec<Finding>> {
    let name = &set.name();
    let bytes = set.first();
    match set.format() {
        Some(Format::Amb) => amb::verify(name, bytes, mode, observer),
        Some(Format::Embd) => embd::verify(name, bytes, mode, observer),
        Some(Format::Gguf) => gguf::verify(set, mode, observer),
        Some(Format::Safetensors) => safetensors::verify(set, mode, observer),
        Some(Format::Uqff) => uqff::verify(set, mode, observer),
        Some(Format::Finalfusion) => finalfusion::verify(name, bytes, (mode, policy), observer),
        _ => words::verify(name, bytes, policy, observer).unwrap_or_else(|| {
            let unknown = CoreError::new(0, ErrorKind::UnknownFormat);
            Err(vec![Finding::from_error(name, foreign::failure(name, bytes, unknown))])
        }),
    }
}
