//! The token ids of a prompt with texts that stay texts.

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::TextSession;
use nanoembed_core::token::SpecialTokens::{self, AsText, AsTokens};

use crate::causal::tokenizer::Tokenizer;

/// A part of a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A text in which tokens are spelled.
    Tokens(String),
    /// A text like any other.
    Text(String),
}

impl Part {
    fn text(&self) -> (&str, SpecialTokens) {
        match self {
            Self::Tokens(text) => (text, AsTokens),
            Self::Text(text) => (text, AsText),
        }
    }
}

/// The ids of a prompt, without the tokens that the tokenizer puts around every text. The parts are
/// one text to the tokenizer unless one spells a token that stays text.
pub(super) fn encode_parts(
    tokenizer: &Tokenizer<'_>,
    parts: &[Part],
) -> Result<Vec<u32>, CoreError> {
    let encode = |text: &str, special| {
        let mut ids = tokenizer.encode(text, special, &mut TextSession::default())?;
        let ends = tokenizer.ends();
        ids.truncate(ids.len().saturating_sub(usize::from(ends.append.is_some())));
        ids.drain(..usize::from(ends.begin.is_some()).min(ids.len()));
        Ok(ids)
    };
    let mut spells_tokens = false;
    for part in parts {
        if let Part::Text(text) = part {
            spells_tokens |= encode(text, AsText)? != encode(text, AsTokens)?;
        }
    }
    if !spells_tokens {
        let whole: String = parts.iter().map(|part| part.text().0).collect();
        return encode(&whole, AsTokens);
    }
    let mut ids = Vec::new();
    for part in parts {
        let (text, special) = part.text();
        ids.extend(encode(text, special)?);
    }
    Ok(ids)
}
