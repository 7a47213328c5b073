//! Texts to tokens.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::Encoder;
use crate::error::Result;
use crate::error::{Error, ErrorKind};
use crate::limit::{copied, filled};
use crate::model::InOrder;
use crate::model::Weights;
use crate::owned::Prompt;
use crate::owned::TextSession;
use crate::owned::folder::Prefix;
use crate::owned::{Tokenized, TokenizedPair};

const UNSUPPORTED: Error = Error::without_offset(ErrorKind::UnsupportedSetting);

impl<W: Weights + Sync> Encoder<W> {
    /// `prompt`, ready to stand before texts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedSetting`] if the tokens of a prompt are to be left out of pooling,
    /// which is not done for BERT in the layout that readers of BERT alone know, nor for tables; as
    /// [`encode`](Self::encode).
    pub fn prompt(&self, prompt: &str, session: &mut TextSession) -> Result<Prompt> {
        let skipped = match prompt.is_empty() || self.prompts.are_pooled {
            true => 0,
            // Tables have no pooling that a prompt could be left out of.
            false if self.is_table() => return Err(UNSUPPORTED),
            false => self.tokenizer.tokens_of_prompt(prompt, session)?,
        };
        Ok(Prompt { text: copied(prompt)?, skipped })
    }

    /// The embedding of one text after the model's usual prompt, cut if it is longer than the model
    /// was made for: [`dimensions`](Self::dimensions) elements. It allocates what it needs; for many
    /// texts [`embed`](Self::embed) does so once.
    ///
    /// # Errors
    ///
    /// As [`prompt`](Self::prompt), [`encode`](Self::encode), [`session`](Self::session) and
    /// [`embed`](Self::embed).
    pub fn embed_text(&self, text: &str) -> Result<Vec<f32>> {
        let mut tokens = TextSession::default();
        let usual = self.prompts.choose(&Prefix::Usual).unwrap_or_default();
        let prompt = self.prompt(usual, &mut tokens)?;
        let text = prompt.before(text)?;
        let ids = self.encode(&text, self.usual_tokens(), &mut tokens)?.ids;
        let mut vector = filled(self.dimensions(), 0.0)?;
        let mut session = self.session(ids.len().max(1), 1)?;
        self.embed(&mut session, &InOrder, &ids, &[ids.len()], prompt.skipped, &mut vector)?;
        Ok(vector)
    }
}

impl<W: Weights + Sync> Encoder<W> {
    /// The first `limit` tokens of `text`, those around it included: see [`Tokenizer::encode_first`].
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode_first`].
    ///
    /// [`Tokenizer::encode_first`]: crate::owned::Tokenizer::encode_first
    pub fn encode(&self, text: &str, limit: usize, session: &mut TextSession) -> Result<Tokenized> {
        self.tokenizer.encode_first(text, limit, session)
    }

    /// The first `limit` tokens of `text` and whether it has more: see
    /// [`Tokenizer::encode_start`].
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    ///
    /// [`Tokenizer::encode_start`]: crate::owned::Tokenizer::encode_start
    pub fn encode_start(
        &self,
        text: &str,
        limit: usize,
        session: &mut TextSession,
    ) -> Result<(Vec<u32>, bool)> {
        self.tokenizer.encode_start(text, limit, session)
    }

    /// The first `limit` tokens of two texts: of the prompt that the model's template makes of
    /// them, or else of both, of which the longer one is cut first. A prompt that is cut has the
    /// template's end nevertheless. The instruction is the model's default prompt if it has one.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode_pair`].
    ///
    /// [`Tokenizer::encode_pair`]: crate::owned::Tokenizer::encode_pair
    pub fn encode_pair(
        &self,
        first: &str,
        second: &str,
        limit: usize,
        session: &mut TextSession,
    ) -> Result<TokenizedPair> {
        let usual = self.prompts.choose(&Prefix::Usual).unwrap_or_default();
        self.pairs.encode(&self.tokenizer, (first, second), usual, limit, session)
    }

    /// As [`encode_pair`](Self::encode_pair) with this instruction instead; an empty one stands for
    /// that of the template.
    ///
    /// # Errors
    ///
    /// As [`encode_pair`](Self::encode_pair); [`ErrorKind::UnsupportedSetting`] if there is no
    /// place for an instruction.
    pub fn encode_instructed(
        &self,
        instruction: &str,
        pair: (&str, &str),
        limit: usize,
        session: &mut TextSession,
    ) -> Result<TokenizedPair> {
        if !instruction.is_empty() && !self.takes_instruction() {
            return Err(UNSUPPORTED);
        }
        self.pairs.encode(&self.tokenizer, pair, instruction, limit, session)
    }

    /// Returns true if the prompt of a model that compares texts has a place for an instruction.
    #[must_use]
    pub fn takes_instruction(&self) -> bool {
        self.pairs.take_instruction()
    }

    /// Returns true if there is a token of this id.
    #[must_use]
    pub fn has_token(&self, id: u32) -> bool {
        self.tokenizer.has_token(id)
    }

    /// A token as the vocabulary spells it.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        self.tokenizer.token(id).map(Cow::into_owned)
    }
}
