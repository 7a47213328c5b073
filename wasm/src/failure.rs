//! Errors on their way to JavaScript, which makes a `NanoembedError` of them.

use alloc::string::String;

use nanoembed_core::{Error, ErrorKind};
use wasm_bindgen::prelude::*;

/// What went wrong, and where in the file.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    error: Error,
}

/// What causes are called and what they say, in the order of [`ErrorKind::ALL`]: a table is smaller
/// than a choice.
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
        self.texts().1.into()
    }

    /// The byte of the file, 0 where there is none.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "files are shorter than 2⁵³")]
    pub fn offset(&self) -> f64 {
        self.error.offset().unwrap_or(0) as f64
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error }
    }
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Self {
        Error::without_offset(kind).into()
    }
}

/// `Result` with a [`Failure`].
pub type Result<T> = core::result::Result<T, Failure>;
