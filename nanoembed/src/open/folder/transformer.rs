//! An encoder, ready to run, with memory for those who tokenise.

use nanoembed_core::Error as CoreError;
use nanoembed_core::model::{Batch, Parallel, Plan};
use nanoembed_core::owned::{
    PipelineSession, Session, TextEncoder, TokenizedPair, TransformerModel,
};

use crate::causal::weights::ModelWeights;
use crate::pool::Pool;
use crate::tokenizer::Tokens;

/// An encoder that borrows from the model's files.
pub(crate) struct TextTransformer<'f> {
    model: TransformerModel<ModelWeights<'f>>,
    scratch: Pool<PipelineSession>,
}

impl<'f> TextTransformer<'f> {
    pub(crate) fn of(model: TransformerModel<ModelWeights<'f>>) -> Self {
        Self { model, scratch: Pool::default() }
    }

    pub(crate) const fn encoder(&self) -> &TextEncoder {
        self.model.encoder()
    }

    /// How many tokens of a text the model was made for.
    pub(crate) const fn max_tokens(&self) -> usize {
        self.model.max_tokens()
    }

    pub(crate) fn plan(&self, tokens: usize) -> Plan {
        self.model.plan(tokens)
    }

    pub(crate) fn session_for(&self, plan: Plan) -> Result<Session, CoreError> {
        self.model.session_for(plan)
    }

    /// The first `limit` tokens of `text`.
    pub(crate) fn encode(&self, text: &str, limit: usize) -> Result<Tokens, CoreError> {
        let found =
            self.borrowing(|session| self.model.tokenizer().encode(text, limit, session))?;
        Ok(Tokens { ids: found.ids, truncated: found.truncated })
    }

    /// Two texts, of which the longer one is cut first.
    pub(crate) fn encode_pair(
        &self,
        first: &str,
        second: &str,
        limit: usize,
    ) -> Result<TokenizedPair, CoreError> {
        self.borrowing(|session| self.model.tokenizer().encode_pair(first, second, limit, session))
    }

    /// Tokens of `prompt` with what stands before it, without what would stand behind it.
    pub(crate) fn tokens_of_prompt(&self, prompt: &str) -> Result<usize, CoreError> {
        self.borrowing(|session| self.model.tokenizer().tokens_of_prompt(prompt, session))
    }

    /// The embeddings of tokenised texts.
    pub(crate) fn embed(
        &self,
        session: &mut Session,
        parallel: &dyn Parallel,
        texts: &Batch<'_>,
        skipped: usize,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        self.model.embed(session, parallel, texts, skipped, out)
    }

    /// The logits of tokenised pairs.
    pub(crate) fn classify(
        &self,
        session: &mut Session,
        parallel: &dyn Parallel,
        texts: &Batch<'_>,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        self.model.classify(session, parallel, texts, out)
    }

    fn borrowing<R>(&self, act: impl FnOnce(&mut PipelineSession) -> R) -> R {
        let mut session = self.scratch.take().unwrap_or_default();
        let done = act(&mut session);
        self.scratch.give(session);
        done
    }
}
