//! Rejection of a file's keys and tensors by name.

use crate::error::{Error, ErrorKind};

/// An unsupported key or tensor of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GgufRefusal<'a> {
    /// The key of the metadata, or the name of the tensor.
    pub name: &'a str,
    /// Its offset.
    pub offset: u64,
    /// The supported values, or the reason for the rejection.
    pub reason: &'static str,
    kind: ErrorKind,
}

/// A result whose error names the key or tensor at fault.
pub(crate) type Outcome<'a, T> = Result<T, GgufRefusal<'a>>;

impl<'a> GgufRefusal<'a> {
    /// Rejects the key or tensor at `offset`.
    pub(crate) const fn at(name: &'a str, offset: u64, reason: &'static str) -> Self {
        Self { name, offset, reason, kind: ErrorKind::UnsupportedSetting }
    }

    /// The error without name and reason.
    #[must_use]
    pub const fn error(&self) -> Error {
        Error::new(self.offset, self.kind)
    }

    /// The refusal with another error kind.
    #[must_use]
    pub(crate) const fn with_kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// Rejects a tensor that the model would not use.
    pub(crate) const fn unused_tensor(name: &'a str, offset: u64) -> Self {
        Self::at(name, offset, "no model that is known here uses such a tensor")
    }

    /// Rejects a file without a required key or tensor.
    pub(crate) const fn missing(name: &'a str) -> Self {
        let reason = "it is missing, and there is no usual value";
        Self::at(name, 0, reason).with_kind(ErrorKind::MissingMetadata)
    }
}
