//! Refusals of files for what they are, inside the [`io::Error`] of an attempt to open or read them.

use std::{fmt, io};

use nanoembed_core::limit::Exceeded;

/// The reason that a file is not opened or read, within an [`io::Error`].
#[derive(Clone, Copy, Debug)]
pub enum Refused {
    /// A device, a pipe, a socket.
    NotRegular,
    /// Bytes, or the promise of some, in a file whose length is told as 0.
    NoLength,
    /// Longer than a limit.
    TooLong(Exceeded),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRegular => f.write_str("this is no regular file"),
            Self::NoLength => f.write_str("the system does not tell the length of this file"),
            Self::TooLong(exceeded) => exceeded.fmt(f),
        }
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        Self::new(io::ErrorKind::InvalidInput, refused)
    }
}

impl Refused {
    /// The refusal within `error`; `None` if reading failed for another reason.
    pub fn from_error(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}
