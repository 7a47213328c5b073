//! The tokenizer of a model of texts, with the limits of its model.

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::{Pipeline, TextTokenizer};

use super::Tokens;
use super::scratch::TextScratch;
use crate::encoder::text::limit;
use crate::error::Result;

/// A tokenizer, without the weights of its model.
pub(super) struct TextTokens {
    tokenizer: TextTokenizer,
    scratch: TextScratch,
}

impl TextTokens {
    pub(super) fn of(tokenizer: TextTokenizer) -> Self {
        Self { tokenizer, scratch: TextScratch::default() }
    }

    pub(super) const fn tokenizer(&self) -> &Pipeline {
        self.tokenizer.pipeline()
    }

    pub(super) fn encode(&self, text: &str, limit: usize) -> Result<Tokens, CoreError> {
        self.scratch.encode(&self.tokenizer, text, limit)
    }

    /// How many tokens of a text the model uses if `asked` are wanted.
    pub(super) fn limit(&self, asked: Option<usize>) -> Result<Option<usize>> {
        match (self.positions(), self.tokenizer.max_tokens()) {
            (Some(positions), usual) => {
                limit(asked, usual.unwrap_or(positions), positions).map(Some)
            }
            (None, usual) => Ok(asked.or(usual)),
        }
    }

    /// The most tokens of a text that the model can use.
    pub(super) const fn positions(&self) -> Option<usize> {
        self.tokenizer.positions()
    }
}
