//! Texts become tokens.

use alloc::string::String;
use alloc::vec::Vec;

use super::{AnyEncoder, Kind};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::copied;
use crate::model::Weights;
use crate::owned::{PipelineSession, Prompt, TextModel, Tokenized, TokenizedPair};

impl<B: AsRef<[u8]> + Sync, W: Weights + Sync> AnyEncoder<B, W> {
    /// `prompt`, ready to stand before texts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedSetting`] if the tokens of a prompt are to be left out of pooling,
    /// which is not done for BERT in the layout that readers of BERT alone know; as
    /// [`encode`](Self::encode).
    pub fn prompt(&self, prompt: &str, session: &mut PipelineSession) -> Result<Prompt> {
        let skipped = match &self.kind {
            _ if prompt.is_empty() || self.prompts.are_pooled => 0,
            // Tables have no pooling that a prompt could be left out of.
            Kind::Bert(_) | Kind::Text(TextModel::Static(_)) => {
                return Err(Error::without_offset(ErrorKind::UnsupportedSetting));
            }
            Kind::Text(model) => model.tokenizer().tokens_of_prompt(prompt, session)?,
        };
        Ok(Prompt { text: copied(prompt)?, skipped })
    }

    /// The first `limit` tokens of `text`, those around it included.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the limit leaves no room for the tokens around a text;
    /// [`ErrorKind::BadVocabulary`] if the file has changed; as [`Pipeline::encode`].
    ///
    /// [`Pipeline::encode`]: crate::owned::Pipeline::encode
    pub fn encode(
        &self,
        text: &str,
        limit: usize,
        session: &mut PipelineSession,
    ) -> Result<Tokenized> {
        match &self.kind {
            Kind::Bert(model) => model.tokenize_alone(text, Some(limit)),
            Kind::Text(model) => model.tokenizer().encode(text, limit, session),
        }
    }

    /// The first `limit` tokens of `text` and whether it has more, which is cheaper for a long text
    /// than to [count](Self::encode) all.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn encode_start(
        &self,
        text: &str,
        limit: usize,
        session: &mut PipelineSession,
    ) -> Result<(Vec<u32>, bool)> {
        match &self.kind {
            Kind::Bert(model) => model.tokenize_start(text, limit),
            Kind::Text(model) => {
                let found = model.tokenizer().encode(text, limit, session)?;
                Ok((found.ids, found.truncated))
            }
        }
    }

    /// Two texts, of which the longer one is cut first.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode); [`ErrorKind::OtherModel`] for BERT in the layout that readers of
    /// BERT alone know, which compares nothing.
    pub fn encode_pair(
        &self,
        first: &str,
        second: &str,
        limit: usize,
        session: &mut PipelineSession,
    ) -> Result<TokenizedPair> {
        match &self.kind {
            Kind::Bert(_) => Err(Error::without_offset(ErrorKind::OtherModel)),
            Kind::Text(model) => model.tokenizer().encode_pair(first, second, limit, session),
        }
    }

    /// A token as the vocabulary spells it.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        match &self.kind {
            Kind::Bert(model) => model.token(id),
            Kind::Text(model) => model.tokenizer().token(id),
        }
    }
}
