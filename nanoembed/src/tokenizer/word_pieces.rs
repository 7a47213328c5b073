//! Texts to word pieces, with as much of a text as is wanted.

use nanoembed_core::Error as CoreError;
use nanoembed_core::token::{Entries, HashVocabulary, WordPiece};

use super::Tokens;

/// A tokenizer over a file's vocabulary.
pub(super) type WordPieces<'f> = WordPiece<HashVocabulary<'f, Entries<'f>>>;

/// The first `limit` tokens of `text`; all with `None`.
pub(crate) fn encode(
    tokenizer: &WordPieces<'_>,
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
