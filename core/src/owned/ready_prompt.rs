//! Prompts, ready to be put before texts.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::error::Result;
use crate::limit::{copied, joined};

/// A prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// The number of first tokens of a text after it that are left out of pooling.
    pub skipped: usize,
}

impl Prompt {
    /// A prompt whose tokens count in pooling.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory).
    pub fn pooled(text: &str) -> Result<Self> {
        Ok(Self { text: copied(text)?, skipped: 0 })
    }

    /// `text` after the prompt.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory).
    pub fn before<'t>(&self, text: &'t str) -> Result<Cow<'t, str>> {
        match &*self.text {
            "" => Ok(Cow::Borrowed(text)),
            prompt => joined(&[prompt, text]).map(Cow::Owned),
        }
    }
}
