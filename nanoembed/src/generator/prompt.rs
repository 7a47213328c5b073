//! What is to be continued.

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::TokenSession;
use nanoembed_core::token::SpecialTokens::{self, AsText, AsTokens};

use crate::causal::tokenizer::Tokenizer;

/// What is to be continued.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Prompt<'a> {
    /// A text. Special tokens that it spells, such as `<|im_end|>`, are text like any other.
    Text(&'a str),
    /// A text in which special tokens are spelled: a prompt template that is filled in. Never what
    /// others have written, who could end their turn.
    WithSpecialTokens(&'a str),
    /// Messages in the ChatML form that instruction-tuned models know; the model answers.
    Chat(&'a [Message<'a>]),
}

/// What somebody says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message<'a> {
    /// Who says it: `system`, `user`, `assistant`.
    pub role: &'a str,
    /// What is said.
    pub content: &'a str,
}

impl<'a> Message<'a> {
    /// What the user says.
    #[must_use]
    pub const fn user(content: &'a str) -> Self {
        Self { role: "user", content }
    }

    /// What the model has been told about its task.
    #[must_use]
    pub const fn system(content: &'a str) -> Self {
        Self { role: "system", content }
    }

    /// What the model has said.
    #[must_use]
    pub const fn assistant(content: &'a str) -> Self {
        Self { role: "assistant", content }
    }
}

/// The tokens that stand around a message.
const BEGIN: &str = "<|im_start|>";
const END: &str = "<|im_end|>";

impl Prompt<'_> {
    pub(super) fn encode(self, tokenizer: &Tokenizer<'_>) -> Result<Vec<u32>, CoreError> {
        match self {
            Self::Text(text) => encode(tokenizer, text, AsText),
            Self::WithSpecialTokens(text) => encode(tokenizer, text, AsTokens),
            Self::Chat(messages) => chat(tokenizer, messages),
        }
    }
}

fn encode(
    tokenizer: &Tokenizer<'_>,
    text: &str,
    special: SpecialTokens,
) -> Result<Vec<u32>, CoreError> {
    tokenizer.encode(text, special, &mut TokenSession::default())
}

/// The messages, and the beginning of an answer.
fn chat(tokenizer: &Tokenizer<'_>, messages: &[Message<'_>]) -> Result<Vec<u32>, CoreError> {
    let mut parts: Vec<(String, SpecialTokens)> = Vec::new();
    for Message { role, content } in messages {
        parts.push((BEGIN.to_owned(), AsTokens));
        parts.push((format!("{role}\n{content}"), AsText));
        parts.push((END.to_owned(), AsTokens));
        parts.push(("\n".to_owned(), AsText));
    }
    parts.push((BEGIN.to_owned(), AsTokens));
    parts.push(("assistant\n".to_owned(), AsText));
    let mut spells_special = false;
    for (text, _) in parts.iter().filter(|(_, special)| *special == AsText) {
        spells_special |= encode(tokenizer, text, AsText)? != encode(tokenizer, text, AsTokens)?;
    }
    if !spells_special {
        let whole: String = parts.into_iter().map(|(text, _)| text).collect();
        return encode(tokenizer, &whole, AsTokens);
    }
    // What stands around every text stands around the whole once.
    let ends = tokenizer.ends();
    let mut ids: Vec<u32> = ends.begin.into_iter().collect();
    for (text, special) in parts {
        let part = encode(tokenizer, &text, special)?;
        let begin = usize::from(ends.begin.is_some());
        let end = part.len().saturating_sub(usize::from(ends.append.is_some()));
        ids.extend(part.get(begin..end).unwrap_or_default());
    }
    ids.extend(ends.append);
    Ok(ids)
}
