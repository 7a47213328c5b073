//! Memory for those who tokenise, which threads take turns with.

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::{PipelineSession, TextTokenizer};

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

    /// Does something with memory that nobody is using.
    pub(crate) fn borrow<R>(
        &self,
        act: impl FnOnce(&mut PipelineSession) -> Result<R, CoreError>,
    ) -> Result<R, CoreError> {
        self.0.borrow(|| Ok(PipelineSession::default()), act)
    }
}
