//! Tokenizers of any model, with what the model says of how many tokens it uses.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::{TextSession, TextTokenizer, TokenSession, Tokenizer};
use crate::error::Result;
use crate::token::SpecialTokens;

/// A tokenizer of any kind: an encoder's, or that of a model that continues texts.
///
/// ```
/// use nanoembed_core::owned::{AnyTokenSession, AnyTokenizer, Encoder};
///
/// # let path = "../ffi/tests/data/small_bert.weights";
/// let tokenizer = AnyTokenizer::from_text(Encoder::open(std::fs::read(path)?)?.into_tokenizer());
/// let mut session = AnyTokenSession::default();
/// let (ids, is_cut) = tokenizer.encode("it is in", Some(4), &mut session)?;
/// assert_eq!(tokenizer.token(ids[1]).as_deref(), Some("it"));
/// assert!(is_cut);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AnyTokenizer(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Causal(Box<Tokenizer<'static>>),
    Text(Box<TextTokenizer>),
}

/// Scratch memory of one thread for a tokenizer of any kind, which grows with the longest text.
#[derive(Debug, Default)]
pub struct AnyTokenSession {
    causal: TokenSession,
    text: TextSession,
}

impl AnyTokenizer {
    /// That of a model that continues texts. Added tokens that a text spells become tokens.
    #[must_use]
    pub fn from_causal(tokenizer: Tokenizer<'static>) -> Self {
        Self(Kind::Causal(Box::new(tokenizer)))
    }

    /// That of an encoder.
    #[must_use]
    pub fn from_text(tokenizer: TextTokenizer) -> Self {
        Self(Kind::Text(Box::new(tokenizer)))
    }

    /// The first `limit` tokens of `text`, or all, those around it included, and whether it has
    /// more.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`] and [`TextTokenizer::encode`].
    pub fn encode(
        &self,
        text: &str,
        limit: Option<usize>,
        session: &mut AnyTokenSession,
    ) -> Result<(Vec<u32>, bool)> {
        let most = limit.unwrap_or(usize::MAX);
        match &self.0 {
            Kind::Causal(tokenizer) => {
                let special = SpecialTokens::AsTokens;
                let mut ids = tokenizer.encode(text, special, &mut session.causal)?;
                let is_cut = tokenizer.truncate(&mut ids, most);
                Ok((ids, is_cut))
            }
            Kind::Text(tokenizer) if limit.is_some() => {
                tokenizer.encode_start(text, most, &mut session.text)
            }
            Kind::Text(tokenizer) => {
                Ok((tokenizer.encode(text, most, &mut session.text)?.ids, false))
            }
        }
    }

    /// A token as the vocabulary spells it.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        match &self.0 {
            Kind::Causal(tokenizer) => tokenizer.token(id).map(Into::into),
            Kind::Text(tokenizer) => tokenizer.token(id),
        }
    }

    /// How many tokens of a text the model was made for; `None` if there is no such number.
    #[must_use]
    pub fn usual_tokens(&self) -> Option<usize> {
        match &self.0 {
            Kind::Causal(_) => None,
            Kind::Text(tokenizer) => tokenizer.max_tokens(),
        }
    }

    /// The most tokens of a text that the model can use; `None` if there is no such number.
    #[must_use]
    pub fn positions(&self) -> Option<usize> {
        match &self.0 {
            Kind::Causal(_) => None,
            Kind::Text(tokenizer) => tokenizer.positions(),
        }
    }
}
