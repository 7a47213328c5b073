//! `tokenizer.json`: the sections that say how a text becomes WordPieces. What is otherwise than in
//! BERT is refused by name.

use std::collections::BTreeMap;
use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::token::MAX_WORD_CHARACTERS;
use serde_json::{Value, json};

use super::added::{AddedToken, AddedTokens};
use crate::error::{Error, Result, name_of};
use crate::open::settings_rule::{Members, irrelevant, unsupported};

/// What the file's normaliser does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Normalizer {
    pub(super) lower_case: bool,
    /// `None` does as lower-casing does.
    pub(super) strip_accents: Option<bool>,
    pub(super) split_ideographs: bool,
}

/// What the file says.
pub(super) struct TokenizerJson {
    pub(super) normalizer: Normalizer,
    pub(super) unknown: String,
    /// What stands before and behind every text.
    pub(super) ends: [String; 2],
    pub(super) tokens: BTreeMap<u32, Vec<u8>>,
    pub(super) added: AddedTokens,
}

impl TokenizerJson {
    /// Reads `value`, which is the content of `path`.
    pub(super) fn read(value: &Value, path: &Path) -> Result<Self> {
        let file = Members::new(value, name_of(path))?;
        file.neutral("version", &[json!("1.0")])?;
        let (unknown, tokens) = model(&file)?;
        let normalizer = normalizer(&file)?;
        pre_tokenizer(&file)?;
        let ends = post_processor(&file, &tokens)?;
        truncation(&file)?;
        let mut added = AddedTokens::default();
        for token in file.each("added_tokens")? {
            let id = token.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
            let id = id.ok_or_else(|| token.bad("id", "is not that of a token"))?;
            added.add(id, AddedToken::read(&token)?).map_err(|it| it.at(name_of(path)))?;
            token.finish(irrelevant::NONE)?;
        }
        file.finish(irrelevant::TOKENIZER_JSON)?;
        Ok(Self { normalizer, unknown, ends, tokens, added })
    }
}

fn type_of(section: &Members<'_>) -> Result<String> {
    Ok(section.text("type")?.unwrap_or_default().to_owned())
}

/// Refuses a tokenizer that is not WordPiece.
pub(super) fn check_kind(value: &Value, path: &Path) -> Result<()> {
    wordpiece_model(&Members::new(value, name_of(path))?).map(drop)
}

fn wordpiece_model<'m>(file: &'m Members<'_>) -> Result<Members<'m>> {
    let model = file.nested("model")?.ok_or_else(|| file.bad("model", "is missing"))?;
    match type_of(&model)?.as_str() {
        "WordPiece" => Ok(model),
        _ => Err(model.unsupported("type", "an encoder's tokenizer has to be WordPiece here")),
    }
}

/// The unknown token and the tokens by their ids.
fn model(file: &Members<'_>) -> Result<(String, BTreeMap<u32, Vec<u8>>)> {
    let model = wordpiece_model(file)?;
    model.neutral("continuing_subword_prefix", &[json!("##")])?;
    model.neutral("max_input_chars_per_word", &[json!(MAX_WORD_CHARACTERS)])?;
    let unknown = model.text("unk_token")?.unwrap_or("[UNK]").to_owned();
    let bad = |message: String| model.bad("vocab", message);
    let vocabulary = model.get("vocab").and_then(Value::as_object);
    let vocabulary = vocabulary.ok_or_else(|| bad("is missing".into()))?;
    let mut tokens = BTreeMap::new();
    for (token, id) in vocabulary {
        let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
        let id = id.ok_or_else(|| bad(format!("has no usable id for {token:?}")))?;
        if tokens.insert(id, token.as_bytes().to_vec()).is_some() {
            return Err(bad(format!("has the id {id} twice")));
        }
    }
    model.finish(irrelevant::NONE)?;
    Ok((unknown, tokens))
}

fn normalizer(file: &Members<'_>) -> Result<Normalizer> {
    let only = "only BertNormalizer is done here";
    let section = file.nested("normalizer")?;
    let section = section.ok_or_else(|| unsupported("normalizer", "null", only).at(file.file()))?;
    if type_of(&section)? != "BertNormalizer" {
        return Err(section.unsupported("type", only));
    }
    section.neutral("clean_text", &[json!(true)])?;
    let normalizer = Normalizer {
        lower_case: section.truth("lowercase")?.unwrap_or(true),
        strip_accents: section.truth("strip_accents")?,
        split_ideographs: section.truth("handle_chinese_chars")?.unwrap_or(true),
    };
    section.finish(irrelevant::NONE)?;
    Ok(normalizer)
}

fn pre_tokenizer(file: &Members<'_>) -> Result<()> {
    let only = "only BertPreTokenizer is done here";
    let section = file.nested("pre_tokenizer")?;
    let section =
        section.ok_or_else(|| unsupported("pre_tokenizer", "null", only).at(file.file()))?;
    if type_of(&section)? != "BertPreTokenizer" {
        return Err(section.unsupported("type", only));
    }
    section.finish(irrelevant::NONE)
}

/// The tokens that a text of its own has around it.
fn post_processor(file: &Members<'_>, tokens: &BTreeMap<u32, Vec<u8>>) -> Result<[String; 2]> {
    let only = "only one token before and one behind a text is done here";
    let section = file.nested("post_processor")?;
    let section =
        section.ok_or_else(|| unsupported("post_processor", "null", only).at(file.file()))?;
    // The id counts for tokenizers, the token for transformers.
    let is_of = |id: Option<&Value>, token: &str| {
        let id = id.and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
        id.is_some_and(|id| tokens.get(&id).is_none_or(|known| known == token.as_bytes()))
    };
    match type_of(&section)?.as_str() {
        "TemplateProcessing" => {
            let spelled = |part: &Value, pointer: &str| {
                part.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
            };
            let is_of_first_kind = |part: &Value| {
                let body = part.as_object().and_then(|part| part.values().next());
                body.and_then(|body| body.get("type_id")).and_then(Value::as_u64) == Some(0)
            };
            let ends = match section.items("single")? {
                parts @ [begin, text, end] if parts.iter().all(is_of_first_kind) => {
                    let token = |part| spelled(part, "/SpecialToken/id");
                    let is_text = spelled(text, "/Sequence/id").as_deref() == Some("A");
                    token(begin).zip(token(end)).filter(|_| is_text)
                }
                _ => None,
            };
            let (begin, end) = ends.ok_or_else(|| section.unsupported("single", only))?;
            for name in [&begin, &end] {
                let token = section.get("special_tokens").and_then(|all| all.get(name));
                let one = |of| token.and_then(|token| token.get(of));
                let ids = one("ids").and_then(Value::as_array).map(Vec::as_slice);
                let has_its_id = matches!(ids, Some([id]) if is_of(Some(id), name));
                if one("tokens") != Some(&json!([name])) || !has_its_id {
                    return Err(section.unsupported("special_tokens", only));
                }
            }
            // Pairs of texts are not embedded.
            section.get("pair");
            section.finish(irrelevant::NONE)?;
            Ok([begin, end])
        }
        "BertProcessing" => {
            let token = |name: &str| {
                let items = section.items(name)?;
                let token = items.first().and_then(Value::as_str);
                let token = token.filter(|token| is_of(items.get(1), token)).map(str::to_owned);
                token.ok_or_else(|| section.bad(name, "is not a token and its id"))
            };
            let ends = [token("cls")?, token("sep")?];
            section.finish(irrelevant::NONE)?;
            Ok(ends)
        }
        _ => Err(section.unsupported("type", only)),
    }
}

/// How long texts are is a habit of who exported the file; from which side they are cut is not.
fn truncation(file: &Members<'_>) -> Result<()> {
    if let Some(section) = file.nested("truncation")? {
        section.neutral("direction", &[json!("Right")])?;
        section.finish(irrelevant::TRUNCATION)?;
    }
    Ok(())
}

/// Refuses a vocabulary with holes: an id without a token has a row in the model and no name.
pub(super) fn without_holes(tokens: BTreeMap<u32, Vec<u8>>, path: &Path) -> Result<Vec<Vec<u8>>> {
    let expected = 0..u32::try_from(tokens.len()).unwrap_or(u32::MAX);
    match expected.zip(tokens.keys()).find(|(expected, id)| expected != *id) {
        Some((hole, _)) => {
            let message = format!("no token has the id {hole}");
            Err(Error::input(ErrorKind::BadVocabulary, message).at(name_of(path)))
        }
        None => Ok(tokens.into_values().collect()),
    }
}
