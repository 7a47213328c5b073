//! Files beside the weights of a folder, as far as they describe the model.

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result, name_of};
use crate::folder::json_file::read_json;

/// The settings and the tokenizer of a folder.
#[derive(Debug, Default)]
pub(super) struct Folder {
    /// The members of `config.json`.
    pub(super) config: Map<String, Value>,
    pub(super) tokenizer: Option<TokenizerSummary>,
}

/// A tokenizer as its file describes it. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
pub struct TokenizerSummary {
    pub kind: String,
    /// The number of tokens, if its file says so in words.
    pub tokens: Option<usize>,
    pub file: &'static str,
}

impl Folder {
    /// Reads the small files of `folder`.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let config = read_json(&folder.join("config.json"))?;
        let config = config.and_then(|config| config.as_object().cloned()).unwrap_or_default();
        Ok(Self { config, tokenizer: tokenizer(folder)? })
    }
}

fn tokenizer(folder: &Path) -> Result<Option<TokenizerSummary>> {
    if let Some(json) = read_json(&folder.join("tokenizer.json"))? {
        return Ok(Some(from_json(&json)));
    }
    let vocabulary = folder.join("vocab.txt");
    if vocabulary.exists() {
        let vocabulary = crate::files::whole_file::read(&vocabulary)
            .map_err(|error| Error::reading(name_of(&vocabulary), &error))?;
        let tokens = vocabulary.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let tokens = Some(tokens.count());
        return Ok(Some(TokenizerSummary { kind: "wordpiece".into(), tokens, file: "vocab.txt" }));
    }
    let has_model = folder.join("tokenizer.model").is_file();
    Ok(has_model.then(|| TokenizerSummary {
        kind: "sentencepiece".into(),
        tokens: None,
        file: "tokenizer.model",
    }))
}

fn from_json(json: &Value) -> TokenizerSummary {
    let model = json.get("model");
    let kind = model.and_then(|model| model.get("type")).and_then(Value::as_str);
    let vocabulary = model.and_then(|model| model.get("vocab"));
    let is_known = |token: &str| match vocabulary {
        Some(Value::Object(vocabulary)) => vocabulary.contains_key(token),
        Some(Value::Array(pieces)) => {
            pieces.iter().any(|piece| piece.get(0).and_then(Value::as_str) == Some(token))
        }
        _ => false,
    };
    let known = match vocabulary {
        Some(Value::Object(vocabulary)) => vocabulary.len(),
        Some(Value::Array(pieces)) => pieces.len(),
        _ => 0,
    };
    let added = json.get("added_tokens").and_then(Value::as_array).map_or(0, |added| {
        let contents = added.iter().filter_map(|token| token.get("content")?.as_str());
        contents.filter(|token| !is_known(token)).count()
    });
    let kind = kind.unwrap_or("unknown").to_lowercase();
    TokenizerSummary { kind, tokens: Some(known + added), file: "tokenizer.json" }
}
