//! A BERT encoder out of one file, as a [`Transformer`].

use nanoembed_core::model::{Parallel, Plan};
use nanoembed_core::owned::{Embedder, Session};
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::packed::{TokenTexts, Transformer};
use crate::bytes::Bytes;
use crate::tokenizer::Tokens;
use crate::tokenizer::word_pieces::encode;

impl Transformer for Embedder<Bytes> {
    fn dimensions(&self) -> usize {
        self.config().transformer.hidden
    }

    fn positions(&self) -> usize {
        self.config().positions
    }

    fn usual_tokens(&self) -> usize {
        self.config().max_tokens
    }

    fn plan(&self, tokens: usize) -> Plan {
        Self::plan(self, tokens)
    }

    fn session_for(&self, plan: Plan) -> Result<Session, CoreError> {
        Self::session_for(self, plan)
    }

    fn encode(&self, text: &str, limit: usize) -> Result<Tokens, CoreError> {
        encode(&self.tokenizer()?, text, Some(limit))
    }

    fn tokens_of_prompt(&self, _: &str) -> Result<usize, CoreError> {
        Err(CoreError::without_offset(ErrorKind::UnsupportedSetting))
    }

    fn embed(
        &self,
        session: &mut Session,
        parallel: &dyn Parallel,
        TokenTexts { ids, lengths, skipped }: TokenTexts<'_>,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        match skipped {
            0 => Self::embed(self, session, parallel, ids, lengths, out),
            _ => Err(CoreError::without_offset(ErrorKind::UnsupportedSetting)),
        }
    }
}
