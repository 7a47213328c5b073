//! What keeps a model of texts from being opened, and where that stands.

use alloc::string::String;
use core::fmt;

use crate::describe::gguf::GgufFault;
use crate::error::Error;
use crate::limit::copied;
use crate::owned::asked_weights::TensorFault;
use crate::owned::folder::FolderFault;

/// What keeps a model of texts from being opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelFault {
    /// Something is wrong with a file.
    File(Error),
    /// Something is wrong with one of a folder's texts.
    Text(FolderFault),
    /// A tensor is missing, or not what the model needs.
    Tensor(TensorFault),
    /// A key or a tensor of a GGUF file.
    Key {
        /// The error, where it stands.
        error: Error,
        /// Its name.
        key: String,
        /// What would be honoured, or why nothing is.
        reason: &'static str,
    },
}

impl ModelFault {
    /// The same without words.
    #[must_use]
    pub const fn error(&self) -> Error {
        match self {
            Self::File(error) | Self::Key { error, .. } => *error,
            Self::Text(fault) => fault.error,
            Self::Tensor(fault) => fault.error,
        }
    }
}

impl fmt::Display for ModelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Text(fault) => fault.fmt(f),
            Self::Tensor(fault) => fault.fmt(f),
            Self::Key { error, key, reason } => write!(f, "`{key}`: {error}; {reason}"),
        }
    }
}

impl core::error::Error for ModelFault {}

impl From<Error> for ModelFault {
    fn from(error: Error) -> Self {
        Self::File(error)
    }
}

impl From<FolderFault> for ModelFault {
    fn from(fault: FolderFault) -> Self {
        Self::Text(fault)
    }
}

impl From<TensorFault> for ModelFault {
    fn from(fault: TensorFault) -> Self {
        Self::Tensor(fault)
    }
}

impl From<GgufFault<'_>> for ModelFault {
    fn from(fault: GgufFault<'_>) -> Self {
        match fault {
            GgufFault::Error(error) => Self::File(error),
            GgufFault::Refusal(refusal) => Self::Key {
                error: refusal.error(),
                key: copied(refusal.name).unwrap_or_default(),
                reason: refusal.reason,
            },
        }
    }
}
