//! Keys and tensors of a file that are refused by their names.

use crate::error::{Error, ErrorKind};

/// A key or tensor of a file that asks for something that is not done here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GgufRefusal<'a> {
    /// The key of the metadata, or the name of the tensor.
    pub name: &'a str,
    /// Where it stands.
    pub offset: u64,
    /// What would be honoured, or why nothing is.
    pub reason: &'static str,
    kind: ErrorKind,
}

/// A result that says which key or tensor is at fault.
pub(crate) type Outcome<'a, T> = Result<T, GgufRefusal<'a>>;

impl<'a> GgufRefusal<'a> {
    /// Refuses what stands at `offset`.
    pub(crate) const fn at(name: &'a str, offset: u64, reason: &'static str) -> Self {
        Self { name, offset, reason, kind: ErrorKind::UnsupportedSetting }
    }

    /// The same without words.
    #[must_use]
    pub const fn error(&self) -> Error {
        Error::new(self.offset, self.kind)
    }

    /// The same with another code.
    #[must_use]
    pub(crate) const fn with_kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// Refuses a tensor that the model would not use.
    pub(crate) const fn unused_tensor(name: &'a str, offset: u64) -> Self {
        Self::at(name, offset, "no model that is known here uses such a tensor")
    }

    /// Refuses a file without a key or tensor.
    pub(crate) const fn missing(name: &'a str) -> Self {
        let reason = "it is missing, and there is no usual value";
        Self::at(name, 0, reason).with_kind(ErrorKind::MissingMetadata)
    }
}
