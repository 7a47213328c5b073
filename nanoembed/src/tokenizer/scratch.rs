//! Memory for those who tokenise, which threads take turns with.

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::{PipelineSession, TextTokenizer, TokenizedPair};

use super::Tokens;
use crate::pool::Pool;

/// What a tokenizer of a model of texts writes into.
#[derive(Debug, Default)]
pub(crate) struct TextScratch(Pool<PipelineSession>);

impl TextScratch {
    /// The first `limit` tokens of `text`.
    pub(crate) fn encode(
        &self,
        tokenizer: &TextTokenizer,
        text: &str,
        limit: usize,
    ) -> Result<Tokens, CoreError> {
        let found = self.borrow(|session| tokenizer.encode(text, limit, session))?;
        Ok(Tokens { ids: found.ids, truncated: found.truncated })
    }

    /// Two texts, of which the longer one is cut first.
    pub(crate) fn encode_pair(
        &self,
        tokenizer: &TextTokenizer,
        (first, second): (&str, &str),
        limit: usize,
    ) -> Result<TokenizedPair, CoreError> {
        self.borrow(|session| tokenizer.encode_pair(first, second, limit, session))
    }

    /// Tokens of `prompt` with what stands before it, without what would stand behind it.
    pub(crate) fn tokens_of_prompt(
        &self,
        tokenizer: &TextTokenizer,
        prompt: &str,
    ) -> Result<usize, CoreError> {
        self.borrow(|session| tokenizer.tokens_of_prompt(prompt, session))
    }

    fn borrow<R>(
        &self,
        act: impl FnOnce(&mut PipelineSession) -> Result<R, CoreError>,
    ) -> Result<R, CoreError> {
        self.0.borrow(|| Ok(PipelineSession::default()), act)
    }
}
