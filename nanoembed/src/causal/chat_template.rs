//! The chat template of a model: a text in the language of Jinja that turns messages into a prompt.
//!
//! | source | template | `bos_token`, `eos_token` |
//! |---|---|---|
//! | folder | `chat_template.jinja`, or else `chat_template` in `tokenizer_config.json`: a text, or a list in which one is called `default` | `tokenizer_config.json` |
//! | GGUF | `tokenizer.chat_template` | the tokens of `tokenizer.ggml.bos_token_id` and `tokenizer.ggml.eos_token_id` |

use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Value as GgufValue;
use nanoembed_core::format::gguf::Gguf;
use serde_json::Value;

use super::tokenizer::Tokenizer;
use crate::error::{Error, Result};
use crate::folder::json_file::read_json;
use crate::folder::texts::FolderTexts;

/// The file with a template alone.
const FILE: &str = "chat_template.jinja";

/// The file with the settings of a tokenizer.
const SETTINGS: &str = "tokenizer_config.json";

/// The member with a template.
const MEMBER: &str = "chat_template";

/// The key of GGUF files.
const KEY: &str = "tokenizer.chat_template";

/// A template that has not been parsed yet.
pub(crate) struct ChatTemplate {
    pub(crate) text: String,
    /// The file that has it; `None` for that of the model.
    pub(crate) file: Option<String>,
    /// The key that has it; `None` if it is the whole file.
    pub(crate) key: Option<&'static str>,
    pub(crate) begin_token: Option<String>,
    pub(crate) end_token: Option<String>,
}

impl ChatTemplate {
    /// The template of a folder, if it has one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadMetadata`] if it is no text.
    pub(super) fn from_folder(folder: &Path) -> Result<Option<Self>> {
        let settings = read_json(&folder.join(SETTINGS))?.unwrap_or_default();
        // A token is spelled, or an object that spells it.
        let token = |key: &str| {
            let value = settings.get(key)?;
            Some(value.as_str().or_else(|| value.get("content")?.as_str())?.to_owned())
        };
        let (begin_token, end_token) = (token("bos_token"), token("eos_token"));
        let path = |name: &str| folder.join(name).display().to_string();
        let (text, name, key) = match FolderTexts::new(folder).get(FILE)? {
            Some(text) => (text, FILE, None),
            None => match member(&settings).map_err(|error| error.at(path(SETTINGS)))? {
                Some(text) => (text.to_owned(), SETTINGS, Some(MEMBER)),
                None => return Ok(None),
            },
        };
        Ok(Some(Self { text, file: Some(path(name)), key, begin_token, end_token }))
    }

    /// The template of a GGUF file, if it has one.
    pub(super) fn from_gguf(gguf: &Gguf<'_>, tokenizer: &Tokenizer<'_>) -> Option<Self> {
        let Some(GgufValue::Text(text)) = gguf.value(KEY) else { return None };
        let token = |key: &str| match gguf.value(key)? {
            GgufValue::Unsigned(id) => Some(tokenizer.token(u32::try_from(id).ok()?)?.into_owned()),
            _ => None,
        };
        Some(Self {
            text: text.to_owned(),
            file: None,
            key: Some(KEY),
            begin_token: token("tokenizer.ggml.bos_token_id"),
            end_token: token("tokenizer.ggml.eos_token_id"),
        })
    }
}

/// The template among the settings of a tokenizer.
fn member(settings: &Value) -> Result<Option<&str>> {
    let refuse = |message: &str| Err(Error::input(ErrorKind::BadMetadata, message));
    match settings.get(MEMBER) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Array(named)) => {
            let is_default =
                |it: &&Value| it.get("name").and_then(Value::as_str) == Some("default");
            match named.iter().find(is_default).and_then(|it| it.get("template")?.as_str()) {
                Some(text) => Ok(Some(text)),
                None => refuse("`chat_template` lists no template called `default`"),
            }
        }
        Some(_) => refuse("`chat_template` is neither a text nor a list of templates"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_is_a_text_or_the_default_of_a_list() {
        let found = |value: Value| {
            member(&json!({ "chat_template": value })).map(|text| text.map(str::to_owned))
        };
        let named = |name: &str, text: &str| json!({ "name": name, "template": text });
        assert_eq!(member(&json!({})).unwrap(), None);
        assert_eq!(found(Value::Null).unwrap(), None);
        assert_eq!(found("a".into()).unwrap().as_deref(), Some("a"));
        let list = json!([named("tool_use", "b"), named("default", "c")]);
        assert_eq!(found(list).unwrap().as_deref(), Some("c"));
        for odd in [json!(1), json!([]), json!([named("rag", "b")])] {
            assert_eq!(found(odd).unwrap_err().kind().name(), "bad_metadata");
        }
    }
}
