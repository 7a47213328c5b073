//! `tokenizer_config.json`, `special_tokens_map.json` and `added_tokens.json`.

use std::path::Path;

use nanoembed_core::ErrorKind;
use serde_json::{Value, json};

use super::added_tokens::{AddedToken, AddedTokens};
use crate::checkpoint::vocabulary::SPECIAL;
use crate::error::{Error, Result, name_of};
use crate::folder::json_file::read_json;
use crate::folder::settings_rule::{Members, irrelevant};
use crate::folder::texts::Allowed;

/// Classes of transformers that tokenize as BERT's does, without the suffix `Fast` of some.
const BERT_CLASSES: [&str; 6] = [
    "BertTokenizer",
    "ConvBertTokenizer",
    "DistilBertTokenizer",
    "ElectraTokenizer",
    "MobileBertTokenizer",
    "SqueezeBertTokenizer",
];

/// Classes that do what `tokenizer.json` says and nothing else.
const GENERAL_CLASSES: [&str; 2] = ["PreTrainedTokenizer", "TokenizersBackend"];

/// The settings that these files give together.
pub(super) struct TokenizerConfig {
    /// True if the class is BERT's, whose normaliser is set by this file whatever `tokenizer.json`
    /// says.
    pub(super) is_bert: bool,
    pub(super) lower_case: Option<bool>,
    pub(super) strip_accents: Option<bool>,
    pub(super) split_ideographs: Option<bool>,
    pub(super) max_tokens: Option<u64>,
    /// The tokens with a role, in the order of [`SPECIAL`].
    pub(super) roles: [Option<String>; 5],
    /// Tokens that are found as they are if the vocabulary has them.
    pub(super) further: Vec<String>,
    pub(super) added: AddedTokens,
}

impl TokenizerConfig {
    /// Reads the files of `folder`; those that are not there say nothing.
    pub(super) fn read(folder: &Path, allowed: &Allowed) -> Result<Self> {
        let path = folder.join("tokenizer_config.json");
        let value = read_json(&path)?.unwrap_or_else(|| json!({}));
        let config = Members::new(&value, name_of(&path))?;
        let is_bert = check_class(&config, folder)?;
        refuse_other_tokenizers(&config)?;
        let mut roles = [const { None }; 5];
        let mut further = Vec::new();
        named_tokens(&config, &mut roles, &mut further)?;
        let mut added = AddedTokens::default();
        let is_expected = config.get("added_tokens_decoder").is_some();
        if let Some(decoder) = config.nested("added_tokens_decoder")? {
            for id in decoder.names() {
                let number = id.parse().map_err(|_| decoder.bad(id, "is no id of a token"))?;
                let Some(token) = decoder.nested(id)? else { continue };
                added.add(number, AddedToken::read(&token)?).map_err(|it| it.at(name_of(&path)))?;
                token.finish(irrelevant::NONE)?;
            }
        }
        // Older files count where this one does not list what is added.
        if !is_expected {
            let map_path = folder.join("special_tokens_map.json");
            if let Some(value) = read_json(&map_path)? {
                let map = Members::new(&value, name_of(&map_path))?;
                // What both files say is as the first does.
                named_tokens(&map, &mut roles, &mut further)?;
                map.finish(irrelevant::NONE)?;
            }
            added_tokens_file(folder, &roles, &further, &mut added)?;
        }
        let limit = |name| config.get(name).and_then(Value::as_u64);
        let this = Self {
            is_bert,
            lower_case: config.truth("do_lower_case")?,
            strip_accents: config.truth("strip_accents")?,
            split_ideographs: config.truth("tokenize_chinese_chars")?,
            max_tokens: limit("model_max_length").or(limit("max_len")),
            roles,
            further,
            added,
        };
        config.get("max_len");
        config.finish_allowing(irrelevant::TOKENIZER_CONFIG, allowed)?;
        Ok(this)
    }
}

/// Refuses classes that tokenize otherwise; answers whether it is BERT's.
fn check_class(config: &Members<'_>, folder: &Path) -> Result<bool> {
    let path = folder.join("config.json");
    let model = read_json(&path)?.unwrap_or_default();
    let (class, file) = match config.text("tokenizer_class")? {
        Some(class) => (class, "tokenizer_config.json"),
        None => match model.get("tokenizer_class").and_then(Value::as_str) {
            Some(class) => (class, "config.json"),
            None => return Ok(true),
        },
    };
    let base = class.strip_suffix("Fast").unwrap_or(class);
    if GENERAL_CLASSES.contains(&base) {
        return Ok(false);
    }
    if BERT_CLASSES.contains(&base) {
        return Ok(true);
    }
    let message = format!(
        "`tokenizer_class` is {class:?}, which tokenizes otherwise than BERT's WordPiece and is not known here"
    );
    Err(Error::input(ErrorKind::UnsupportedSetting, message).at(name_of(&folder.join(file))))
}

/// Settings of other tokenizers that have a file of this name, and of ways of BERT's that are not
/// done here.
fn refuse_other_tokenizers(config: &Members<'_>) -> Result<()> {
    config.neutral("word_tokenizer_type", &[json!("basic")])?;
    config.neutral("subword_tokenizer_type", &[json!("wordpiece")])?;
    for name in ["do_word_tokenize", "do_subword_tokenize", "do_basic_tokenize"] {
        config.neutral(name, &[json!(true)])?;
    }
    for name in ["mecab_kwargs", "sudachi_kwargs", "jumanpp_kwargs", "auto_map"] {
        config.neutral(name, &[])?;
    }
    config.neutral("never_split", &[json!([])])?;
    for name in ["split_special_tokens", "add_bos_token", "add_eos_token", "add_prefix_space"] {
        config.neutral(name, &[json!(false)])?;
    }
    config.neutral("truncation_side", &[json!("right")])?;
    config.neutral("wordpieces_prefix", &[json!("##")])?;
    config.neutral("clean_text", &[json!(true)])?;
    config.neutral("max_input_chars_per_word", &[json!(100)])
}

/// The tokens with a role, and others that are to be found as they are.
fn named_tokens(
    members: &Members<'_>,
    roles: &mut [Option<String>; 5],
    further: &mut Vec<String>,
) -> Result<()> {
    let spelled = |name: &str, value: &Value| {
        // Either the token itself or an object that has it as its content.
        let text = value.get("content").unwrap_or(value).as_str();
        text.map(str::to_owned).ok_or_else(|| members.bad(name, "is not the text of a token"))
    };
    for ((name, _), role) in SPECIAL.iter().zip(roles) {
        if let Some(value) = members.get(name)
            && role.is_none()
        {
            *role = Some(spelled(name, value)?);
        }
    }
    for name in ["bos_token", "eos_token"] {
        if let Some(value) = members.get(name) {
            further.push(spelled(name, value)?);
        }
    }
    for name in ["additional_special_tokens", "extra_special_tokens"] {
        let values: Vec<&Value> = match members.get(name) {
            None => Vec::new(),
            Some(Value::Array(values)) => values.iter().collect(),
            Some(Value::Object(values)) => values.values().collect(),
            Some(_) => return Err(members.bad(name, "is not a list of tokens")),
        };
        for value in values {
            further.push(spelled(name, value)?);
        }
    }
    Ok(())
}

/// The older `added_tokens.json`: ids by spelling.
fn added_tokens_file(
    folder: &Path,
    roles: &[Option<String>; 5],
    further: &[String],
    added: &mut AddedTokens,
) -> Result<()> {
    let path = folder.join("added_tokens.json");
    let Some(value) = read_json(&path)? else { return Ok(()) };
    let members = Members::new(&value, name_of(&path))?;
    for spelling in members.names() {
        let id = members.get(spelling).and_then(Value::as_u64);
        let id = id.and_then(|id| u32::try_from(id).ok());
        let id = id.ok_or_else(|| members.bad(spelling, "has no usable id"))?;
        let usual = SPECIAL.iter().any(|(_, usual)| *usual == spelling);
        let is_special = usual
            || further.iter().any(|token| token == spelling)
            || roles.iter().flatten().any(|role| *role == spelling);
        let token =
            AddedToken::special(spelling).map_err(|error| Error::in_file(name_of(&path), error))?;
        let token = AddedToken { normalized: !is_special, ..token };
        added.add(id, token).map_err(|failure| failure.at(name_of(&path)))?;
    }
    Ok(())
}
