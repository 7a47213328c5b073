//! What `verify` checks of a file: one file a format.

mod amb;
mod embd;
mod finalfusion;
mod folder;
mod gguf;
mod pieces;
mod safetensors;
mod uqff;
mod values;
mod words;

use std::path::Path;

use nanoembed_core::event::{Format, Mode};
use nanoembed_core::{Error, ErrorKind};
use serde::Serialize;

use crate::error::{Failure, hint, place_of};
use crate::foreign;
use crate::stored::FileSet;
use crate::word_vectors::policy::PolicyArgs;

/// What is said of formats in which a changed value cannot be told.
const NO_CHECKSUMS: &str = "the format has no checksums";

/// One thing that is wrong. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) file: String,
    /// The byte, unless it is the file as a whole that is wrong.
    pub(crate) offset: Option<u64>,
    pub(crate) code: u16,
    pub(crate) name: &'static str,
    pub(crate) message: String,
    #[serde(skip)]
    pub(crate) hint: Option<String>,
}

impl Finding {
    fn new(file: &str, error: Error) -> Self {
        Self {
            file: file.to_owned(),
            offset: place_of(error),
            code: error.code(),
            name: error.kind.name(),
            message: error.message().to_owned(),
            hint: hint(error.kind, file).map(str::to_owned),
        }
    }

    /// What a reader says of the file.
    fn of(file: &str, failure: Failure) -> Self {
        let (code, name) = (failure.code(), failure.cause());
        let (offset, failure) = failure.within(file);
        let (message, hint) = failure.into_message();
        Self { file: file.to_owned(), offset, code, name, message, hint }
    }

    /// The first of `findings` as the reason not to use the model at `path`.
    pub(crate) fn into_failure(findings: Vec<Self>, path: &Path) -> Failure {
        let count = findings.len();
        let failure = match findings.into_iter().next() {
            Some(first) => {
                let failure = Failure::of_code(first.code, first.message).at(&first.file);
                match first.offset {
                    Some(offset) => failure.at(format_args!("byte {offset}")),
                    None => failure,
                }
            }
            None => Failure::bad_input("the file is not sound").at(path.display()),
        };
        let path = path.display();
        failure.hint(format!("`nanoembed verify {path}` lists all {count} findings"))
    }

    /// What makes files at odds with each other.
    fn of_failure(file: &str, kind: ErrorKind, failure: Failure) -> Self {
        let (message, hint) = failure.into_message();
        let finding = Self::new(file, Error::new(0, kind));
        Self { message, hint: hint.or(finding.hint.clone()), ..finding }
    }

    /// The same with the place in words, if it is known: what holds the wrong byte.
    fn at(self, place: Option<String>) -> Self {
        match place {
            Some(place) => Self { message: format!("{place}: {}", self.message), ..self },
            None => self,
        }
    }
}

/// Checks files of any format, and what lies beside the weights of a folder: what was checked, or
/// what is wrong.
pub(crate) fn verify(
    set: &FileSet,
    mode: Mode,
    policy: PolicyArgs,
    quiet: bool,
) -> Result<String, Vec<Finding>> {
    let beside = set.given_folder().map(folder::verify);
    let weights = weights(set, mode, policy, quiet);
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
    policy: PolicyArgs,
    quiet: bool,
) -> Result<String, Vec<Finding>> {
    let name = &set.name();
    let bytes = set.first();
    match set.format() {
        Some(Format::Amb) => amb::verify(name, bytes, mode, quiet),
        Some(Format::Embd) => embd::verify(name, bytes, mode, quiet),
        Some(Format::Gguf) => gguf::verify(set, mode, quiet),
        Some(Format::Safetensors) => safetensors::verify(set, mode, quiet),
        Some(Format::Uqff) => uqff::verify(set, mode, quiet),
        Some(Format::Finalfusion) => finalfusion::verify(name, bytes, (mode, policy), quiet),
        _ => words::verify(name, bytes, policy, quiet).unwrap_or_else(|| {
            let unknown = Error::new(0, ErrorKind::UnknownFormat);
            Err(vec![Finding::of(name, foreign::failure(name, bytes, unknown))])
        }),
    }
}
