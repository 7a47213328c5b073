//! Messages of a conversation.

/// A message of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message<'a> {
    /// The role of the speaker: `system`, `user`, `assistant`.
    pub role: &'a str,
    /// The text of the message.
    pub content: &'a str,
}

impl<'a> Message<'a> {
    /// A message of a role.
    #[must_use]
    pub const fn new(role: &'a str, content: &'a str) -> Self {
        Self { role, content }
    }

    /// A message of the user.
    #[must_use]
    pub const fn user(content: &'a str) -> Self {
        Self::new("user", content)
    }

    /// Instructions to the model about its task.
    #[must_use]
    pub const fn system(content: &'a str) -> Self {
        Self::new("system", content)
    }

    /// An answer of the model.
    #[must_use]
    pub const fn assistant(content: &'a str) -> Self {
        Self::new("assistant", content)
    }
}
