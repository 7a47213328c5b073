//! The tokenizer of a decoder's folder: by `tokenizer.model` (SentencePiece) and the tokens that
//! files beside it add, or by `tokenizer.json`.
//!
//! The folder is refused where transformers would do otherwise.

use std::path::Path;

use nanoembed_core::limit;
use nanoembed_core::owned::Tokenizer;
use nanoembed_core::owned::folder::TokenizerConfig;
use nanoembed_core::token::AddedRules;
use serde_json::Value;

use super::ends::FolderEnds;
use super::spec::Described;
use super::tokenizer::{AddedTokens, Around, from_hugging_face};
use crate::error::{Error, Result, name_of};
use crate::folder::json_file::read_json;
use crate::folder::texts::FolderTexts;
use crate::folder::tokenizer_json::{SAVE_AGAIN, described};
use crate::numbered::Numbered;

/// Reads it; the model has vectors for so many tokens.
pub(super) fn read(folder: &Path, ends: FolderEnds, rows: usize) -> Result<Tokenizer<'static>> {
    let texts = FolderTexts::new(folder);
    let config = texts.read(|texts| TokenizerConfig::read(texts, ""))?;
    let by_json = folder.join("tokenizer.json");
    if !folder.join("tokenizer.model").exists()
        && let Some(text) = texts.get("tokenizer.json")?
    {
        let pipeline = described(&texts, &text)?;
        let tokenizer = Described::new(&by_json, &pipeline)?.tokenizer(&ends)?;
        let checked = texts.read(|texts| config.check_whole(texts, &pipeline));
        checked.map_err(|failure| failure.with_hint(SAVE_AGAIN))?;
        return Ok(tokenizer);
    }
    let tokenizer = by_model(folder, ends)?;
    let pieces = tokenizer.pieces();
    let is_added = |token: &str| {
        tokenizer.added().iter().any(|id| tokenizer.token(*id).is_some_and(|it| it == token))
    };
    let is_piece = |token: &str| (0..).map_while(|id| tokenizer.token(id)).any(|it| it == token);
    // Others get the next ids, which the model may have vectors for.
    let is_full = tokenizer.count() as usize >= rows;
    let is_found = |token: &str| is_added(token) || is_piece(token) || is_full;
    let has_prefix = pieces.is_some_and(|pieces| pieces.spec().add_dummy_prefix);
    texts.read(|texts| config.check_pieces(texts, has_prefix, &is_found))?;
    Ok(tokenizer)
}

/// The tokenizer by `tokenizer.model`.
fn by_model(folder: &Path, ends: FolderEnds) -> Result<Tokenizer<'static>> {
    let path = folder.join("tokenizer.model");
    let model = crate::files::whole_file::read(&path).map_err(|error| {
        Error::reading(path.display(), &error).with_hint(
            "a decoder's folder has its tokenizer in `tokenizer.model` or `tokenizer.json`: put one there, as the model was published with it",
        )
    })?;
    let (tokens, rules) = added(folder)?;
    // As the tokenizer of Llama does.
    let (adds_begin, adds_end) = (ends.adds_begin != Some(false), ends.adds_end == Some(true));
    let added = AddedTokens {
        tokens,
        rules,
        begin: Around { spelled: ends.begin_token, usual: ends.begin, is_put: adds_begin },
        append: Around { spelled: ends.end_token, usual: ends.end.first(), is_put: adds_end },
        end: ends.end,
    };
    from_hugging_face(model, added).map_err(|error| Error::in_file(name_of(&path), error))
}

/// The tokens that files beside a model add, and by what rules some of them are found: those of
/// `tokenizer_config.json`, or those of the older `added_tokens.json`.
fn added(folder: &Path) -> Result<(Numbered<String>, Numbered<AddedRules>)> {
    let failed = |error| Error::in_file(name_of(folder), error);
    let settings = read_json(&folder.join("tokenizer_config.json"))?.unwrap_or_default();
    let (mut tokens, mut rules) = (Vec::new(), Vec::new());
    let Some(added) = settings.get("added_tokens_decoder").and_then(Value::as_object) else {
        let older = read_json(&folder.join("added_tokens.json"))?.unwrap_or_default();
        for (content, id) in older.as_object().into_iter().flatten() {
            if let Some(id) = id.as_u64().and_then(|id| u32::try_from(id).ok()) {
                let content = limit::copied(content).map_err(failed)?;
                limit::push(&mut tokens, (id, content)).map_err(failed)?;
            }
        }
        return Ok((Numbered::new(tokens).map_err(failed)?, Numbered::default()));
    };
    for (id, token) in added {
        let content = token.get("content").and_then(Value::as_str);
        let (Ok(id), Some(content)) = (id.parse::<u32>(), content) else { continue };
        let is = |rule: &str| token.get(rule) == Some(&Value::Bool(true));
        let own = AddedRules {
            strips_before: is("lstrip"),
            strips_after: is("rstrip"),
            single_word: is("single_word"),
        };
        let content = limit::copied(content).map_err(failed)?;
        limit::push(&mut tokens, (id, content)).map_err(failed)?;
        limit::push(&mut rules, (id, own)).map_err(failed)?;
    }
    Ok((Numbered::new(tokens).map_err(failed)?, Numbered::new(rules).map_err(failed)?))
}
