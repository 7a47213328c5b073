//! The tokenizer of a folder: `tokenizer.json` as a whole, or BERT's files as transformers reads
//! them.

use std::borrow::Cow;
use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::folder::{FolderFault, FolderModel, TokenizerConfig};
use nanoembed_core::owned::{AddedWord, Pipeline, PipelineSession};
use serde_json::json;

use super::texts::FolderTexts;
use crate::convert::checkpoint::wordpiece::FolderTokenizer;
use crate::error::{Error, Result, name_of};

const FILE: &str = "tokenizer.json";

/// What helps against files that contradict each other.
pub(crate) const SAVE_AGAIN: &str = "transformers and `tokenizers` give other ids for this folder; save the tokenizer again with `save_pretrained`";

/// Reads the tokenizer of a model, whose own folder `folder` is.
pub(super) fn read(texts: &FolderTexts, folder: &Path, model: &FolderModel) -> Result<Pipeline> {
    let text = texts.get(FILE)?;
    let config = texts.read(|texts| TokenizerConfig::read(texts, ""))?;
    let is_bert = config.is_bert(model.family())
        && text.as_deref().is_some_and(TokenizerConfig::has_word_pieces);
    let pipeline = match text.as_deref().filter(|_| !is_bert) {
        Some(text) => {
            let pipeline = described(texts, text)?;
            texts
                .read(|texts| config.check(texts, &pipeline))
                .map_err(|failure| failure.with_hint(SAVE_AGAIN))?;
            pipeline
        }
        None => of_bert(&FolderTokenizer::read(folder)?, folder)?,
    };
    if model.compares_by_types() {
        texts.read(|_| config.check_pairs(&pipeline))?;
        if let Some(text) = text.as_deref().filter(|_| is_bert) {
            check_template(&described(texts, text)?, &pipeline)?;
        }
    }
    Ok(pipeline)
}

/// The tokenizer that a `tokenizer.json` describes.
pub(crate) fn described(texts: &FolderTexts, text: &str) -> Result<Pipeline> {
    Pipeline::read(text).map_err(|fault| texts.explained(&FolderFault::new(FILE, fault)))
}

/// Refuses another template for two texts than that of BERT's class, which is what runs.
fn check_template(described: &Pipeline, pipeline: &Pipeline) -> Result<()> {
    let pair = |of: &Pipeline| {
        let pair = of.encode_pair("a", "b", usize::MAX, &mut PipelineSession::default());
        pair.map(|pair| (pair.ids, pair.types))
            .map_err(|error| Error::in_file(FILE.to_owned(), error))
    };
    if pair(described)? == pair(pipeline)? {
        return Ok(());
    }
    let message = "`post_processor.pair` does not put [CLS] before two texts and [SEP] behind each, the second one of type 1; only that is honoured";
    Err(Error::input(ErrorKind::UnsupportedSetting, message).at(FILE.to_owned()))
}

/// BERT's tokenizer as a pipeline.
fn of_bert(tokenizer: &FolderTokenizer, folder: &Path) -> Result<Pipeline> {
    let FolderTokenizer { vocabulary, lower_case, strip_accents, split_ideographs, .. } = tokenizer;
    let spelled = |id: &u32| {
        let token = usize::try_from(*id).ok().and_then(|at| vocabulary.tokens.get(at));
        token.map(|token| String::from_utf8_lossy(token).into_owned()).unwrap_or_default()
    };
    let [_, unknown, classify, separate, _] = &vocabulary.special;
    let special =
        |id: &u32, type_id: u32| json!({"SpecialToken": {"id": spelled(id), "type_id": type_id}});
    let text = |name: &str, type_id: u32| json!({"Sequence": {"id": name, "type_id": type_id}});
    let named = |id: &u32| {
        let token = spelled(id);
        (token.clone(), json!({"id": token, "ids": [id], "tokens": [token]}))
    };
    let special_tokens: serde_json::Map<_, _> =
        [classify, separate].map(named).into_iter().collect();
    let mut added: Vec<serde_json::Value> = vocabulary
        .special
        .iter()
        .map(|id| json!({"id": id, "content": spelled(id), "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}))
        .collect();
    added.extend(vocabulary.added.iter().map(|word: &AddedWord| {
        json!({
            "id": word.id,
            "content": word.spelling,
            "single_word": word.rules.single_word,
            "lstrip": word.rules.strips_before,
            "rstrip": word.rules.strips_behind,
            "normalized": word.normalized,
            "special": false,
        })
    }));
    let settings = json!({
        "version": "1.0",
        "added_tokens": added,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": true,
            "handle_chinese_chars": split_ideographs,
            "strip_accents": strip_accents,
            "lowercase": lower_case,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [special(classify, 0), text("A", 0), special(separate, 0)],
            "pair": [
                special(classify, 0), text("A", 0), special(separate, 0),
                text("B", 1), special(separate, 1),
            ],
            "special_tokens": special_tokens,
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {
            "type": "WordPiece",
            "unk_token": spelled(unknown),
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"ids": vocabulary.tokens.len(), "count": vocabulary.tokens.len()},
        },
    });
    let tokens: Vec<Cow<'_, str>> =
        vocabulary.tokens.iter().map(|token| String::from_utf8_lossy(token)).collect();
    let tokens: Vec<&str> = tokens.iter().map(|token| &**token).collect();
    Pipeline::from_parts(&settings.to_string(), &tokens, None, &[])
        .map_err(|fault| Error::in_file(name_of(folder), fault.error))
}
