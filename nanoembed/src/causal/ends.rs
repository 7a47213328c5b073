//! Special tokens around texts, as a Hugging Face folder names them.
//!
//! | file | says |
//! |---|---|
//! | `generation_config.json` | which tokens end a text, before `config.json` |
//! | `config.json` | the same, and which token begins one |
//! | `tokenizer_config.json` | whether they are put around every text; where there is a `tokenizer.json`, its template says so |

use std::path::Path;

use nanoembed_core::model::DecoderFamily;
use nanoembed_core::token::EndTokens;
use nanoembed_core::{ErrorKind, limit};
use serde_json::{Value, json};

use crate::error::{Error, Result, name_of};
use crate::folder::json_file::read_json;
use crate::folder::settings_rule::{Members, irrelevant};
use crate::folder::texts::Allowed;

/// The tokens around the texts of a folder's model.
#[derive(Clone, Debug, Default)]
pub(super) struct FolderEnds {
    /// The model's beginning-of-text token.
    pub(super) begin: Option<u32>,
    /// The tokens that end a text.
    pub(super) end: EndTokens,
    /// True if the tokenizer of a SentencePiece model puts a token before every text; `None` if
    /// nothing says so.
    pub(super) adds_begin: Option<bool>,
    /// True if it puts a token after every text; `None` if nothing says so.
    pub(super) adds_end: Option<bool>,
    /// The spelling of the tokens that it puts around texts.
    pub(super) begin_token: Option<String>,
    pub(super) end_token: Option<String>,
}

impl FolderEnds {
    /// Those of `folder`, whose `config.json` is `config`, read from `path`.
    pub(super) fn from_folder(
        folder: &Path,
        path: &Path,
        (config, family): (&Value, DecoderFamily),
        allowed: &Allowed,
    ) -> Result<Self> {
        let generation_path = folder.join("generation_config.json");
        let generation = read_json(&generation_path)?.unwrap_or_else(|| json!({}));
        let members = Members::new(&generation, name_of(&generation_path))?;
        // That of `config.json` is the one that tokenizers put before texts.
        ["bos_token_id", "eos_token_id"].iter().for_each(|name| {
            members.get(name);
        });
        members.finish_allowing(irrelevant::GENERATION_CONFIG, allowed)?;
        let tokenizer = read_json(&folder.join("tokenizer_config.json"))?.unwrap_or_default();
        let truth = |key: &str| tokenizer.get(key).and_then(Value::as_bool);
        // A token is spelled, or an object that spells it.
        let token = |key: &str| {
            let value = tokenizer.get(key);
            let spelled = value.and_then(|it| it.as_str().or_else(|| it.get("content")?.as_str()));
            spelled
                .map(limit::copied)
                .transpose()
                .map_err(|error| Error::in_file(name_of(folder), error))
        };
        let [usual_begin, usual_end] = family.usual_ends();
        let usual_begin = usual(config, "bos_token_id", usual_begin);
        let begin = ids(path, config.get("bos_token_id"))?.or(usual_begin).unwrap_or_default();
        let mut end = ids(&generation_path, generation.get("eos_token_id"))?;
        if end.is_none() {
            end =
                ids(path, config.get("eos_token_id"))?.or(usual(config, "eos_token_id", usual_end));
        }
        Ok(Self {
            begin: begin.first(),
            end: end.unwrap_or_default(),
            adds_begin: truth("add_bos_token"),
            adds_end: truth("add_eos_token"),
            begin_token: token("bos_token")?,
            end_token: token("eos_token")?,
        })
    }
}

/// The default of a member that `config.json` lacks: files need not repeat it.
fn usual(config: &Value, key: &str, id: Option<u32>) -> Option<EndTokens> {
    let mut tokens = EndTokens::NONE;
    tokens.push(id.filter(|_| config.get(key).is_none())?).ok()?;
    Some(tokens)
}

/// An id, or a list of them; `None` if there is nothing.
fn ids(path: &Path, value: Option<&Value>) -> Result<Option<EndTokens>> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let bad = |what: &str| {
        let message = format!("{value} {what}");
        Error::input(ErrorKind::BadMetadata, message).at(path.display())
    };
    let mut tokens = EndTokens::NONE;
    for id in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
        let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
        let id = id.ok_or_else(|| bad("is no id of a token, nor a list of such"))?;
        tokens.push(id).map_err(|_| bad("lists more tokens than any model has for this"))?;
    }
    Ok(Some(tokens))
}
