//! The tokenizer of a model of texts, with the limits of its model.

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::{Pipeline, PipelineSession, TextTokenizer};

use super::Tokens;
use crate::encoder::packed::limit;
use crate::error::Result;
use crate::pool::Pool;

/// A tokenizer, without the weights of its model.
pub(super) struct TextTokens {
    tokenizer: TextTokenizer,
    scratch: Pool<PipelineSession>,
}

impl TextTokens {
    pub(super) fn of(tokenizer: TextTokenizer) -> Self {
        Self { tokenizer, scratch: Pool::default() }
    }

    pub(super) const fn tokenizer(&self) -> &Pipeline {
        self.tokenizer.pipeline()
    }

    pub(super) fn encode(&self, text: &str, limit: usize) -> Result<Tokens, CoreError> {
        let mut session = self.scratch.take().unwrap_or_default();
        let found = self.tokenizer.encode(text, limit, &mut session);
        self.scratch.give(session);
        found.map(|found| Tokens { ids: found.ids, truncated: found.truncated })
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
