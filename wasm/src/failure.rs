//! Errors on their way to JavaScript, which makes a `NanoembedError` of them.

use alloc::string::String;
use alloc::string::ToString as _;

use nanoembed_core::owned::ModelFault;
use nanoembed_core::owned::folder::FolderFault;
use nanoembed_core::{Error, ErrorKind};
use wasm_bindgen::prelude::*;

use crate::leaf::{self, Part};

/// An error, and its offset in the file.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Failure {
    error: Error,
    /// A more specific message than that of the error's kind.
    explanation: Option<Part<leaf::Explanations, String>>,
}

/// Names and messages of the kinds of errors, in the order of [`ErrorKind::ALL`]: a table is
/// smaller than a `match`.
static TEXTS: [(&str, &str); ErrorKind::ALL.len()] = {
    let mut texts = [("", ""); ErrorKind::ALL.len()];
    let mut at = 0;
    while at < texts.len() {
        let kind = ErrorKind::ALL[at];
        texts[at] = (kind.name(), kind.message());
        at += 1;
    }
    texts
};

impl Failure {
    fn texts(&self) -> (&'static str, &'static str) {
        let place = ErrorKind::ALL.iter().position(|kind| *kind == self.error.kind());
        place.and_then(|at| TEXTS.get(at)).copied().unwrap_or_default()
    }
}

#[wasm_bindgen]
impl Failure {
    /// The stable number of the cause; the hundreds say whose fault it is.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.error.code()
    }

    /// The stable name of the cause.
    #[must_use]
    pub fn code(&self) -> String {
        self.texts().0.into()
    }

    /// One English sentence.
    #[must_use]
    pub fn message(&self) -> String {
        if let Some(explanation) = &self.explanation {
            return String::clone(explanation);
        }
        self.texts().1.into()
    }

    /// The byte of the file, if it is about one.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "files are shorter than 2⁵³")]
    pub fn offset(&self) -> Option<f64> {
        self.error.offset().map(|offset| offset as f64)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, explanation: None }
    }
}

impl Failure {
    /// An error with the sentence that people are to read.
    pub(crate) fn explained(error: Error, explanation: String) -> Self {
        let leaf = leaf::Explanations::built_in().ok();
        Self { error, explanation: leaf.map(|leaf| Part::new(leaf, explanation)) }
    }
}

/// Says which text, tensor or key is at fault; the place of an error within one of a folder's texts
/// is none of a file.
impl From<ModelFault> for Failure {
    fn from(fault: ModelFault) -> Self {
        match fault {
            ModelFault::File(error) => error.into(),
            ModelFault::Text(fault) => fault.into(),
            fault => Self::explained(fault.error(), fault.to_string()),
        }
    }
}

impl From<FolderFault> for Failure {
    fn from(fault: FolderFault) -> Self {
        let FolderFault { file, error, key, only, .. } = fault;
        // A setting's name says where it stands.
        let place = error.offset().filter(|_| key.is_empty()).map(|offset| offset.to_string());
        let (byte, place) = place.as_deref().map_or(("", ""), |place| (": byte ", place));
        let mut said = file + byte + place;
        for (before, part) in [(": ", error.kind().message()), (": ", &*key), ("; ", only)] {
            if !part.is_empty() {
                said.push_str(before);
                said.push_str(part);
            }
        }
        Self::explained(Error::without_offset(error.kind()), said)
    }
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Self {
        Error::without_offset(kind).into()
    }
}

/// `Result` with a [`Failure`].
pub type Result<T> = core::result::Result<T, Failure>;
