//! A WordPiece vocabulary from `vocab.txt` or `tokenizer.json`.

use std::collections::HashMap;
use std::path::Path;

use nanoembed_core::ErrorKind;
use serde_json::Value;

use super::settings::read_json;
use crate::error::{Failure, Result, name_of};

/// Tokens in the order of their ids, and the ids of the special ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vocabulary {
    pub(crate) tokens: Vec<Vec<u8>>,
    /// In the order of [`SpecialRole::ALL`](nanoembed_core::event::SpecialRole::ALL).
    pub(crate) special: [u32; 5],
}

/// The keys of `special_tokens_map.json` and BERT's own tokens, in the order of the special-token block.
const SPECIAL: [(&str, &str); 5] = [
    ("pad_token", "[PAD]"),
    ("unk_token", "[UNK]"),
    ("cls_token", "[CLS]"),
    ("sep_token", "[SEP]"),
    ("mask_token", "[MASK]"),
];

impl Vocabulary {
    /// Reads the vocabulary of the model in `folder`.
    pub(crate) fn of_folder(folder: &Path) -> Result<Self> {
        let text = folder.join("vocab.txt");
        let json = folder.join("tokenizer.json");
        let (tokens, source) = if text.exists() {
            (from_text(&text)?, text)
        } else if let Some(tokenizer) = read_json(&json)? {
            (from_json(&tokenizer, &json)?, json)
        } else {
            return Err(Failure::reading(text.display(), &std::io::ErrorKind::NotFound.into())
                .hint(
                    "a BERT model's folder has its vocabulary in `vocab.txt` or `tokenizer.json`",
                ));
        };
        let map = read_json(&folder.join("special_tokens_map.json"))?.unwrap_or_default();
        Self::with_special(tokens, &map).map_err(|failure| failure.at(name_of(&source)))
    }

    /// Finds the special tokens as `map` names them, or as BERT does.
    pub(crate) fn with_special(tokens: Vec<Vec<u8>>, map: &Value) -> Result<Self> {
        let ids: HashMap<&[u8], u32> =
            (0..).zip(&tokens).map(|(id, token)| (token.as_slice(), id)).collect();
        let mut special = [0; 5];
        for ((key, usual), id) in SPECIAL.iter().zip(&mut special) {
            // Either the token itself or an object that has it as its content.
            let named = map.get(*key).map(|entry| entry.get("content").unwrap_or(entry));
            let name = named.and_then(Value::as_str).unwrap_or(usual);
            *id = *ids.get(name.as_bytes()).ok_or_else(|| {
                Failure::input(
                    ErrorKind::BadVocabulary,
                    format!("the special token {name:?} is not in the vocabulary"),
                )
            })?;
        }
        Ok(Self { tokens, special })
    }
}

fn from_text(path: &Path) -> Result<Vec<Vec<u8>>> {
    let text = std::fs::read(path).map_err(|error| Failure::reading(path.display(), &error))?;
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    let without_return = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
    Ok(text.split(|&byte| byte == b'\n').map(without_return).collect())
}

fn from_json(tokenizer: &Value, path: &Path) -> Result<Vec<Vec<u8>>> {
    let bad =
        |message: String| Failure::input(ErrorKind::BadVocabulary, message).at(path.display());
    let model = tokenizer.get("model").and_then(|model| model.get("type")).and_then(Value::as_str);
    if model != Some("WordPiece") {
        return Err(bad(format!("a tokenizer of type {model:?}; only WordPiece is known")));
    }
    let added = tokenizer.get("added_tokens").and_then(Value::as_array).into_iter().flatten();
    let added = added.filter_map(|token| Some((token.get("content")?.as_str()?, token.get("id")?)));
    let vocabulary = tokenizer.pointer("/model/vocab").and_then(Value::as_object);
    let vocabulary = vocabulary.into_iter().flatten().map(|(token, id)| (token.as_str(), id));
    let mut tokens: Vec<Option<Vec<u8>>> = Vec::new();
    for (token, id) in vocabulary.chain(added) {
        let id = id.as_u64().and_then(|id| usize::try_from(id).ok()).filter(|&id| id < 1 << 24);
        let id = id.ok_or_else(|| bad(format!("the token {token:?} has no usable id")))?;
        if tokens.len() <= id {
            tokens.resize(id + 1, None);
        }
        if let Some(slot) = tokens.get_mut(id) {
            *slot = Some(token.as_bytes().to_vec());
        }
    }
    let whole: Option<Vec<Vec<u8>>> = tokens.iter().cloned().collect();
    whole.ok_or_else(|| {
        let hole = tokens.iter().position(Option::is_none).unwrap_or_default();
        bad(format!("no token has the id {hole}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tokens(names: &[&str]) -> Vec<Vec<u8>> {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    #[test]
    fn special_tokens_may_have_other_names() {
        let tokens = tokens(&["<p>", "[UNK]", "[CLS]", "[SEP]", "<m>"]);
        let map = json!({"pad_token": "<p>", "mask_token": {"content": "<m>", "lstrip": false}});
        assert_eq!(Vocabulary::with_special(tokens, &map).unwrap().special, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_missing_special_token_is_named() {
        let result = Vocabulary::with_special(tokens(&["[PAD]", "[UNK]"]), &Value::Null);
        assert_eq!(result.unwrap_err().exit_code(), 1);
    }
}
