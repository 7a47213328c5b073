//! Texts to token ids, with as much of a text as is wanted.

use nanoembed_core::Error as CoreError;
use nanoembed_core::token::{Entries, HashVocabulary, WordPiece};

/// A tokenizer over a file's vocabulary.
pub type Tokenizer<'f> = WordPiece<HashVocabulary<'f, Entries<'f>>>;

/// The token ids of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// With the special tokens around the text.
    pub ids: Vec<u32>,
    /// Whether the text has more tokens than there was room for.
    pub truncated: bool,
}

/// The first `limit` tokens of `text`; all with `None`.
pub fn encode(
    tokenizer: &Tokenizer<'_>,
    text: &str,
    limit: Option<usize>,
) -> Result<Tokens, CoreError> {
    if let Some(limit) = limit {
        let mut ids = vec![0; limit];
        let encoded = tokenizer.encode_start(text, &mut ids)?;
        ids.truncate(encoded.tokens);
        return Ok(Tokens { ids, truncated: encoded.truncated });
    }
    let mut ids = vec![0; text.len().saturating_add(2)];
    loop {
        let encoded = tokenizer.encode(text, &mut ids)?;
        if !encoded.truncated {
            ids.truncate(encoded.tokens);
            return Ok(Tokens { ids, truncated: false });
        }
        // Rare: normalisation made several tokens of one byte's worth of text.
        ids.resize(encoded.total, 0);
    }
}
