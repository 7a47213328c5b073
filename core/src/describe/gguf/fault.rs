//! The fault of a file without an encoder that is supported.

use super::refusal::GgufRefusal;
use crate::error::Error;

/// The fault of a file without an encoder that is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GgufFault<'a> {
    /// An error in the file.
    Error(Error),
    /// The key or tensor at fault.
    Refusal(GgufRefusal<'a>),
}

impl GgufFault<'_> {
    /// The error without a name.
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
