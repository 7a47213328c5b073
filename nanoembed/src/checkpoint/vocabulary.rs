//! A WordPiece vocabulary, wherever it comes from.

use std::path::Path;

use nanoembed_core::owned::{ADDED_TOKENS, AddedWord, parse_added_words, write_added_words};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use serde_json::Value;

use crate::error::{Error, Result, name_of};
use crate::hashed;

/// The keys of tokens with a role and BERT's own tokens, in the order of the special-token block.
pub(super) const SPECIAL: [(&str, &str); 5] = [
    ("pad_token", "[PAD]"),
    ("unk_token", "[UNK]"),
    ("cls_token", "[CLS]"),
    ("sep_token", "[SEP]"),
    ("mask_token", "[MASK]"),
];
/// Tokens in the order of their ids, and the ids of the special ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordPieceVocabulary {
    pub tokens: Vec<Vec<u8>>,
    /// In the order of [`SpecialRole::ALL`](nanoembed_core::event::SpecialRole::ALL).
    pub special: [u32; 5],
    /// Tokens beyond these, found in texts before words are.
    pub added: Vec<AddedWord>,
}

impl WordPieceVocabulary {
    /// Reads a `vocab.txt`: a token a line, the special ones called as BERT calls them.
    pub fn from_text(path: &Path) -> Result<Self> {
        Self::with_special(from_text(path)?, &Value::Null)
            .map_err(|failure| failure.at(name_of(path)))
    }

    /// Finds the special tokens as `map` names them, or as BERT does.
    pub fn with_special(tokens: Vec<Vec<u8>>, map: &Value) -> Result<Self> {
        let ids = hashed::map(tokens.iter().map(Vec::as_slice).zip(0_u32..));
        let ids = ids.map_err(|error| Error::input(error.kind(), error.message()))?;
        let mut special = [0; 5];
        for ((key, usual), id) in SPECIAL.iter().zip(&mut special) {
            // Either the token itself or an object that has it as its content.
            let named = map.get(*key).map(|entry| entry.get("content").unwrap_or(entry));
            let name = named.and_then(Value::as_str).unwrap_or(usual);
            *id = *ids.get(name.as_bytes()).ok_or_else(|| {
                Error::input(
                    ErrorKind::BadVocabulary,
                    format!("the special token {name:?} is not in the vocabulary"),
                )
            })?;
        }
        Ok(Self { tokens, special, added: Vec::new() })
    }

    /// The added tokens as the metadata of files has them, under [`ADDED_TOKENS`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn added_metadata(&self) -> Result<Option<(String, String)>, CoreError> {
        let added = write_added_words(&self.added)?;
        Ok((!added.is_empty()).then(|| (ADDED_TOKENS.to_owned(), added)))
    }

    /// The same with the added tokens that a file's metadata has.
    pub fn with_added(self, value: Option<&str>) -> Result<Self> {
        let refuse = |error: CoreError| match error.kind() {
            ErrorKind::NoMemory => Error::input(error.kind(), error.message()),
            kind => Error::input(kind, format!("`{ADDED_TOKENS}` is damaged")),
        };
        let added = value.map(parse_added_words).transpose().map_err(refuse)?;
        Ok(Self { added: added.unwrap_or_default(), ..self })
    }
}

/// The tokens of a `vocab.txt`, one a line.
pub(super) fn from_text(path: &Path) -> Result<Vec<Vec<u8>>> {
    let text = crate::files::whole_file::read(path)
        .map_err(|error| Error::reading(path.display(), &error))?;
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    let lines = text.split(|&byte| byte == b'\n');
    tokens(lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)))
        .map_err(|error| Error::in_file(name_of(path), error))
}

/// Copies tokens.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`].
pub(crate) fn tokens<'t>(
    tokens: impl Iterator<Item = &'t [u8]>,
) -> Result<Vec<Vec<u8>>, CoreError> {
    limit::gathered(tokens.map(|token| limit::joined_bytes(&[token])))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(names: &[&str]) -> Vec<Vec<u8>> {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    #[test]
    fn special_tokens_may_have_other_names() {
        let tokens = named(&["<p>", "[UNK]", "[CLS]", "[SEP]", "<m>"]);
        let map = json!({"pad_token": "<p>", "mask_token": {"content": "<m>", "lstrip": false}});
        assert_eq!(
            WordPieceVocabulary::with_special(tokens, &map).unwrap().special,
            [0, 1, 2, 3, 4]
        );
    }

    #[test]
    fn a_missing_special_token_is_named() {
        let result = WordPieceVocabulary::with_special(named(&["[PAD]", "[UNK]"]), &Value::Null);
        assert!(result.unwrap_err().is_about_input());
    }
}
