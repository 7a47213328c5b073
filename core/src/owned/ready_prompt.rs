//! What stands before texts, ready to be used.

use alloc::borrow::Cow;
use alloc::string::String;

/// A prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// First tokens of a text behind it that are left out of pooling.
    pub skipped: usize,
}

impl Prompt {
    /// A prompt whose tokens count in pooling.
    #[must_use]
    pub fn pooled(text: &str) -> Self {
        Self { text: text.into(), skipped: 0 }
    }

    /// `text` behind the prompt.
    #[must_use]
    pub fn before<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &*self.text {
            "" => Cow::Borrowed(text),
            prompt => {
                // Joining slices takes more code.
                let mut whole = String::with_capacity(prompt.len().saturating_add(text.len()));
                whole.push_str(prompt);
                whole.push_str(text);
                Cow::Owned(whole)
            }
        }
    }
}
