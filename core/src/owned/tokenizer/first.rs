//! The first tokens of one text or of two.

use alloc::vec::Vec;

use super::{Kinds, Spelling, Tokenizer};
use crate::error::{Error, ErrorKind, Result};
use crate::owned::{TextSession, Tokenized, TokenizedPair};
use crate::token::SpecialTokens;

impl<K: Kinds> Tokenizer<'_, K> {
    /// The first `limit` tokens of `text`, those around it included, without unknown ones where an
    /// encoder leaves them out. Added tokens that the text spells become tokens.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the limit leaves no room for the tokens around a text of an
    /// encoder; [`ErrorKind::OverLimit`] if normalisation makes far more of the text than it was;
    /// [`ErrorKind::NoMemory`].
    pub fn encode_first(
        &self,
        text: &str,
        limit: usize,
        session: &mut TextSession,
    ) -> Result<Tokenized> {
        let special = SpecialTokens::AsTokens;
        match &self.spelling {
            Spelling::WordPiece(pieces) => pieces.encode_first(text, limit),
            Spelling::Pipeline(pipeline) => {
                let (pipeline, cuts) = &**pipeline;
                cuts.first(pipeline, text, (limit, special), session)
            }
            Spelling::BytePairs(pairs) => {
                let _ = K::get(pairs);
                self.encode_all_first(text, limit, session)
            }
            Spelling::SentencePiece(pieces) => {
                let _ = K::get(pieces);
                self.encode_all_first(text, limit, session)
            }
        }
    }

    fn encode_all_first(
        &self,
        text: &str,
        limit: usize,
        session: &mut TextSession,
    ) -> Result<Tokenized> {
        let mut ids = self.encode(text, SpecialTokens::AsTokens, session)?;
        let total = ids.len();
        let truncated = self.truncate(&mut ids, limit);
        Ok(Tokenized { ids, total, truncated })
    }

    /// The first `limit` tokens of `text` and whether it has more, which is cheaper for a long text
    /// than to [count](Self::encode_first) all.
    ///
    /// # Errors
    ///
    /// As [`encode_first`](Self::encode_first).
    pub fn encode_start(
        &self,
        text: &str,
        limit: usize,
        session: &mut TextSession,
    ) -> Result<(Vec<u32>, bool)> {
        if let Spelling::WordPiece(pieces) = &self.spelling {
            return pieces.encode_start(text, limit);
        }
        let Tokenized { ids, truncated, .. } = self.encode_first(text, limit, session)?;
        Ok((ids, truncated))
    }

    /// Two texts, of which the longer one is cut first.
    ///
    /// # Errors
    ///
    /// As [`encode_first`](Self::encode_first); [`ErrorKind::OtherModel`] for models without a
    /// `tokenizer.json`, which compare nothing.
    pub fn encode_pair(
        &self,
        first: &str,
        second: &str,
        limit: usize,
        session: &mut TextSession,
    ) -> Result<TokenizedPair> {
        match &self.spelling {
            Spelling::Pipeline(pipeline) => {
                pipeline.0.encode_pair(first, second, limit, session.pipeline()?)
            }
            _ => Err(Error::without_offset(ErrorKind::OtherModel)),
        }
    }

    /// The tokens of `text` without those around it. Added tokens that the text spells become
    /// tokens.
    ///
    /// # Errors
    ///
    /// As [`encode_pair`](Self::encode_pair).
    pub fn encode_alone(&self, text: &str, session: &mut TextSession) -> Result<Vec<u32>> {
        match &self.spelling {
            Spelling::Pipeline(pipeline) => {
                let mut ids = Vec::new();
                let special = SpecialTokens::AsTokens;
                pipeline.0.encode_alone(text, special, session.pipeline()?, &mut ids)?;
                Ok(ids)
            }
            _ => Err(Error::without_offset(ErrorKind::OtherModel)),
        }
    }

    /// The number of tokens of `prompt` and of what comes before it, without those that follow a
    /// text.
    ///
    /// # Errors
    ///
    /// As [`encode_first`](Self::encode_first); [`ErrorKind::UnsupportedSetting`] for models without
    /// a `tokenizer.json`, whose prompts count in pooling.
    pub fn tokens_of_prompt(&self, prompt: &str, session: &mut TextSession) -> Result<usize> {
        if !matches!(self.spelling, Spelling::Pipeline(..)) {
            return Err(Error::without_offset(ErrorKind::UnsupportedSetting));
        }
        let with = self.encode(prompt, SpecialTokens::AsTokens, session)?;
        let nothing = self.encode("", SpecialTokens::AsTokens, session)?;
        let has_end =
            nothing.len() > 1 || nothing.last().is_some_and(|end| with.last() == Some(end));
        Ok(with.len() - usize::from(has_end && nothing.last() == with.last()))
    }
}
