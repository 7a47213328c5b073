//! Texts to be continued.

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::TextSession;
use nanoembed_core::token::SpecialTokens::{self, AsText, AsTokens};

use crate::causal::tokenizer::Tokenizer;
use crate::error::{Error, Result};
use crate::open::causal::Causal;

/// A text to be continued.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Prompt<'a> {
    /// A text. Special tokens that it spells, such as `<|im_end|>`, are text like any other.
    Text(&'a str),
    /// A text in which special tokens are spelled: a prompt template that is filled in. Never what
    /// others have written, who could end their turn.
    WithSpecialTokens(&'a str),
    /// Messages in the ChatML form, for models that have its tokens `<|im_start|>` and
    /// `<|im_end|>`; the model answers. For other forms the caller fills in a template:
    /// [`WithSpecialTokens`](Self::WithSpecialTokens).
    Chat(&'a [Message<'a>]),
    /// Token ids as they are, those around the text among them: see [`Generator::encode`].
    ///
    /// [`Generator::encode`]: crate::Generator::encode
    Ids(&'a [u32]),
}

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

/// The tokens that stand around a message.
const BEGIN: &str = "<|im_start|>";
const END: &str = "<|im_end|>";

impl Prompt<'_> {
    /// The ids of the prompt for a model.
    pub(super) fn encode(self, causal: &Causal) -> Result<Vec<u32>> {
        let tokenizer = &causal.model().tokenizer;
        let ids = match self {
            Self::Text(text) => encode(tokenizer, text, AsText),
            Self::WithSpecialTokens(text) => encode(tokenizer, text, AsTokens),
            Self::Chat(messages) => {
                check_markers(causal)?;
                chat(tokenizer, messages)
            }
            Self::Ids(ids) => return Ok(ids.to_vec()),
        };
        ids.map_err(|error| causal.failure(error))
    }
}

/// Refuses messages for a model that would read the letters of the tokens around them.
fn check_markers(causal: &Causal) -> Result<()> {
    let tokenizer = &causal.model().tokenizer;
    let ends = tokenizer.ends();
    let around = [ends.begin, ends.append].iter().flatten().count();
    for marker in [BEGIN, END] {
        let ids = encode(tokenizer, marker, AsTokens).map_err(|error| causal.failure(error))?;
        if ids.len() != around.saturating_add(1) {
            let message =
                format!("there is no token {marker}, so messages cannot be put in the ChatML form");
            return Err(Error::usage(message).at(causal.name()).with_hint(
                "the model's own chat format can be given as a text: PROMPT without `--chat`",
            ));
        }
    }
    Ok(())
}

fn encode(
    tokenizer: &Tokenizer<'_>,
    text: &str,
    special: SpecialTokens,
) -> Result<Vec<u32>, CoreError> {
    tokenizer.encode(text, special, &mut TextSession::default())
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
