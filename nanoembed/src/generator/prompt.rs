//! Texts to be continued.

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::TextSession;
use nanoembed_core::token::SpecialTokens::{self, AsText, AsTokens};

use super::chat;
use super::message::Message;
use crate::causal::tokenizer::Tokenizer;
use crate::error::Result;
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
    /// Messages, which the model answers, in the form of its own chat template; without one, in that
    /// of ChatML, for models that have its tokens `<|im_start|>` and `<|im_end|>`. Tokens that a
    /// message spells are text like any other.
    Chat(&'a [Message<'a>]),
    /// Token ids as they are, those around the text among them: see [`Generator::encode`].
    ///
    /// [`Generator::encode`]: crate::Generator::encode
    Ids(&'a [u32]),
}

impl Prompt<'_> {
    /// The ids of the prompt for a model.
    pub(super) fn encode(self, causal: &Causal) -> Result<Vec<u32>> {
        let tokenizer = &causal.model().tokenizer;
        let ids = match self {
            Self::Text(text) => encode(tokenizer, text, AsText),
            Self::WithSpecialTokens(text) => encode(tokenizer, text, AsTokens),
            Self::Chat(messages) => return chat::encode(causal, messages),
            Self::Ids(ids) => return Ok(ids.to_vec()),
        };
        ids.map_err(|error| causal.failure(error))
    }
}

fn encode(
    tokenizer: &Tokenizer<'_>,
    text: &str,
    special: SpecialTokens,
) -> Result<Vec<u32>, CoreError> {
    tokenizer.encode(text, special, &mut TextSession::default())
}
