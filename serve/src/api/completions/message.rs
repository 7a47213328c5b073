//! The messages of a conversation.

use serde::Deserialize;

/// A message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Message {
    role: Role,
    content: Content,
    /// Answers have this, and come back as messages.
    #[serde(rename = "refusal")]
    _refusal: Option<()>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    #[serde(alias = "developer")]
    System,
    User,
    Assistant,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "the content of a message is a text, or parts of the type `text`")]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Part {
    Text { text: String },
}

impl Message {
    /// The name of the role, and the text: parts are lines.
    pub(super) fn into_role_and_text(self) -> (&'static str, String) {
        let role = match self.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let text = match self.content {
            Content::Text(text) => text,
            Content::Parts(parts) => {
                let texts = parts.into_iter().map(|Part::Text { text }| text);
                texts.collect::<Vec<String>>().join("\n")
            }
        };
        (role, text)
    }
}
