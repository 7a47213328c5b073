//! Why there is no encoder in a GGUF file.

use crate::describe::gguf::GgufRefusal;
use crate::error::Error;

/// Why there is no encoder in a GGUF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GgufFault<'a> {
    /// What is wrong with the file.
    Error(Error),
    /// The key or tensor that is at fault.
    Refusal(GgufRefusal<'a>),
}

impl GgufFault<'_> {
    /// The same without words.
    #[must_use]
    pub const fn error(&self) -> Error {
        match self {
            Self::Error(error) => *error,
            Self::Refusal(refusal) => refusal.error(),
        }
    }
}

impl From<Error> for GgufFault<'_> {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl<'a> From<GgufRefusal<'a>> for GgufFault<'a> {
    fn from(refusal: GgufRefusal<'a>) -> Self {
        Self::Refusal(refusal)
    }
}
