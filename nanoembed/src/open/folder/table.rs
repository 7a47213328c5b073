//! A table of a vector for each token, ready to run, with memory for those who tokenise.

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::{PipelineSession, StaticModel};

use crate::causal::weights::ModelWeights;
use crate::pool::Pool;
use crate::tokenizer::Tokens;

/// A static model that borrows from the model's files.
pub(crate) struct TextTable<'f> {
    model: StaticModel<ModelWeights<'f>>,
    scratch: Pool<PipelineSession>,
}

impl<'f> TextTable<'f> {
    pub(crate) fn of(model: StaticModel<ModelWeights<'f>>) -> Self {
        Self { model, scratch: Pool::default() }
    }

    pub(crate) const fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    /// How many tokens of a text are used; `None` for all.
    pub(crate) fn max_tokens(&self) -> Option<usize> {
        self.model.tokenizer().max_tokens()
    }

    /// The first `limit` tokens of `text`, without unknown ones where the model leaves them out.
    pub(crate) fn encode(&self, text: &str, limit: usize) -> Result<Tokens, CoreError> {
        let mut session = self.scratch.take().unwrap_or_default();
        let found = self.model.tokenizer().encode(text, limit, &mut session);
        self.scratch.give(session);
        found.map(|found| Tokens { ids: found.ids, truncated: found.truncated })
    }

    /// The embedding of tokens into `out`.
    pub(crate) fn embed(&self, ids: &[u32], out: &mut [f32]) -> Result<(), CoreError> {
        self.model.embed(ids, out)
    }
}
