//! Policies for words that real files get wrong: duplicates and broken UTF-8.

use std::borrow::Cow;

use nanoembed_core::format::finalfusion::BrokenUtf8;
use nanoembed_core::words::Duplicates;
use nanoembed_core::{Error, limit};

use crate::choice::choices;

choices! {
    /// The policy for words that stand in a vocabulary twice.
    #[non_exhaustive]
    pub enum OnDuplicate {
        /// Stop there
        Error = "error",
        /// Keep the first
        First = "first",
    }
    default Error
}

choices! {
    /// The policy for words that are not UTF-8.
    #[non_exhaustive]
    pub enum OnBrokenUtf8 {
        /// Stop there
        Error = "error",
        /// Replace invalid UTF-8 by U+FFFD
        Lossy = "lossy",
        /// Keep the bytes, which other readers refuse
        Bytes = "bytes",
    }
    default Error
}

/// The policies for words that files get wrong. By default they are errors.
///
/// ```
/// use nanoembed::words::{OnDuplicate, Policy};
///
/// let policy = Policy::default().duplicates(OnDuplicate::First);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub(crate) duplicates: OnDuplicate,
    pub(crate) utf8: OnBrokenUtf8,
}

impl Policy {
    /// Sets the policy for words that stand in a vocabulary twice.
    #[must_use]
    pub const fn duplicates(mut self, policy: OnDuplicate) -> Self {
        self.duplicates = policy;
        self
    }

    /// Sets the policy for words that are not UTF-8.
    #[must_use]
    pub const fn utf8(mut self, policy: OnBrokenUtf8) -> Self {
        self.utf8 = policy;
        self
    }

    /// The core's policy for duplicates in a `.fifu` file.
    pub(crate) const fn core_duplicates(self) -> Duplicates {
        match self.duplicates {
            OnDuplicate::Error => Duplicates::Error,
            OnDuplicate::First => Duplicates::First,
        }
    }

    /// The core's policy for broken UTF-8 in a `.fifu` file.
    pub(crate) const fn core_utf8(self) -> BrokenUtf8 {
        match self.utf8 {
            OnBrokenUtf8::Error => BrokenUtf8::Error,
            OnBrokenUtf8::Lossy | OnBrokenUtf8::Bytes => BrokenUtf8::Bytes,
        }
    }
}

impl OnBrokenUtf8 {
    /// The word as it goes on.
    pub(crate) fn accept(self, word: &[u8]) -> Result<Cow<'_, [u8]>, NotAccepted> {
        match (str::from_utf8(word), self) {
            (Ok(_), _) | (Err(_), Self::Bytes) => Ok(word.into()),
            (Err(_), Self::Lossy) => {
                Ok(lossy(word).map_err(NotAccepted::Failed)?.into_bytes().into())
            }
            (Err(error), Self::Error) => Err(NotAccepted::Broken { valid: error.valid_up_to() }),
        }
    }
}

/// The reason that a word does not go on.
pub(crate) enum NotAccepted {
    /// It is not UTF-8 after so many bytes.
    Broken { valid: usize },
    /// There is no memory for it.
    Failed(Error),
}

/// The text of a word, with U+FFFD for what is not UTF-8.
pub(crate) fn lossy(word: &[u8]) -> Result<String, Error> {
    let mut text = String::new();
    for chunk in word.utf8_chunks() {
        limit::write(&mut text, chunk.valid())?;
        if !chunk.invalid().is_empty() {
            limit::write(&mut text, "\u{fffd}")?;
        }
    }
    Ok(text)
}
