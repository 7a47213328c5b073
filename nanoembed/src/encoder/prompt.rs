//! What stands before texts, ready to be used.

use std::borrow::Cow;

/// A prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Prompt {
    text: String,
    /// First tokens of a text behind it that are left out of the text's vector.
    pub(super) skipped: usize,
}

impl Prompt {
    pub(super) const fn new(text: String, skipped: usize) -> Self {
        Self { text, skipped }
    }

    /// `text` behind the prompt.
    pub(super) fn before<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &*self.text {
            "" => Cow::Borrowed(text),
            prompt => Cow::Owned(format!("{prompt}{text}")),
        }
    }
}
