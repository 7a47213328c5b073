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
        self.error.kind.name().into()
    }

    /// One English sentence.
    #[must_use]
    pub fn message(&self) -> String {
        self.error.message().into()
    }

    /// The byte of the file, 0 where there is none.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "files are shorter than 2⁵³")]
    pub fn offset(&self) -> f64 {
        self.error.offset as f64
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
