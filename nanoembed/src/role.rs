//! The role of a text.

use nanoembed_core::owned::folder::{Prefix, Task};

/// The role of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Nothing that the model would know of.
    #[default]
    Text,
    /// A question.
    Query,
    /// A text that answers questions.
    Document,
}

impl Role {
    /// The role of texts for which this prompt is chosen.
    #[must_use]
    pub const fn from_prompt(prompt: &Prefix) -> Self {
        match prompt {
            Prefix::Query => Self::Query,
            Prefix::Document => Self::Document,
            _ => Self::Text,
        }
    }

    /// The task by which a model with a Router chooses a route.
    pub(crate) const fn task(self) -> Task {
        match self {
            Self::Text => Task::Any,
            Self::Query => Task::Query,
            Self::Document => Task::Document,
        }
    }

    /// The prompt for such texts.
    pub(crate) const fn prompt(self) -> Prefix {
        match self {
            Self::Text => Prefix::Usual,
            Self::Query => Prefix::Query,
            Self::Document => Prefix::Document,
        }
    }
}
