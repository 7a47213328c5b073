//! A tokenizer as GGUF has it: arrays of tokens, their types, scores or merges, and the tokens
//! around texts.
//!
//! The settings of its `tokenizer.json` stand under `nanoembed.tokenizer`: GGUF does not say all of
//! them, such as how a text is normalised.

use nanoembed_core::ErrorKind;
use nanoembed_core::describe::gguf::Key;
use nanoembed_core::model::Tensor;
use nanoembed_core::owned::{Pipeline, PipelineParts, base64};
use nanoembed_core::token::bpe::{Pattern, PreTokenizer};
use nanoembed_core::token::sentencepiece::PieceKind;
use serde_json::Value;

use super::{Family, Prepared};
use crate::convert::writing::metadata::{Metadata, OwnValue};
use crate::error::{Error, Result};

/// What stands for a space in pieces.
const SPACE: &str = "▁";

/// What GGUF has a word for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    WordPiece { lowercase: bool, strips_accents: bool },
    Unigram { charsmap: Vec<u8>, adds_prefix: bool },
    ByteLevel(&'static str),
    Pieces,
}

/// Whether a tokenizer is WordPiece.
pub(super) fn is_word_piece(tokenizer: &Pipeline) -> bool {
    let settings = settings(tokenizer.settings());
    settings["model"]["type"] == "WordPiece"
}

fn settings(text: &str) -> Value {
    // The tokenizer was read from it.
    serde_json::from_str(text).unwrap_or_default()
}

/// Adds the tokenizer of `family`, whose tensors are `tensors`.
pub(super) fn add(metadata: &mut Metadata, family: &Family, tensors: &Prepared<'_>) -> Result<()> {
    let parts =
        family.tokenizer.parts().map_err(|error| Error::in_file("tokenizer.json", error))?;
    let mut settings = settings(parts.settings);
    let leaves_out = leave_out(&mut settings, &family.tokenizer, tensors.rows);
    let is_roberta = matches!(family.model.family, "roberta" | "camembert");
    let kind = kind(&settings, is_roberta).ok_or_else(unsaid)?;
    let table = Table::of(&family.tokenizer, &settings, &kind, tensors.rows)?;
    match &kind {
        Kind::WordPiece { lowercase, strips_accents } => {
            metadata.text(Key::TokenizerModel, "bert");
            metadata.text(Key::TokenizerPre, "jina-v2-en");
            metadata.add(Key::LowerCase, OwnValue::Bool(*lowercase));
            let key = Key::StripAccents;
            metadata.add(key, OwnValue::Bool(*strips_accents));
        }
        Kind::Unigram { charsmap, adds_prefix } => {
            metadata.text(Key::TokenizerModel, "t5");
            metadata.text(Key::TokenizerPre, "default");
            metadata.add(Key::Scores, OwnValue::F32s(table.scores(&parts)));
            metadata.add(Key::AddsSpace, OwnValue::Bool(*adds_prefix));
            metadata.add(Key::RemovesSpaces, OwnValue::Bool(true));
            if !charsmap.is_empty() {
                let key = Key::Charsmap;
                metadata.add(key, OwnValue::Bytes(charsmap.clone()));
            }
        }
        Kind::ByteLevel(pre) => {
            metadata.text(Key::TokenizerModel, "gpt2");
            metadata.text(Key::TokenizerPre, *pre);
            metadata.add(Key::Merges, OwnValue::Texts(merges(&parts)));
        }
        Kind::Pieces => {
            metadata.text(Key::TokenizerModel, "llama");
            metadata.text(Key::TokenizerPre, "default");
            metadata.add(Key::Scores, OwnValue::F32s(table.ranks(&parts)));
            metadata.add(Key::AddsSpace, OwnValue::Bool(false));
        }
    }
    let types = u32::try_from(tensors.types.max(1)).unwrap_or(u32::MAX);
    if family.model.names.tensors.iter().any(|(tensor, _)| *tensor == Tensor::AttentionNorm) {
        metadata.add(Key::TokenTypeCount, OwnValue::U32(types));
    }
    ends(metadata, &family.tokenizer, &settings, &kind)?;
    metadata.add(Key::Tokens, OwnValue::Texts(table.tokens));
    metadata.add(Key::TokenTypes, OwnValue::token_types(&table.kinds));
    let own = if leaves_out { settings.to_string() } else { parts.settings.to_owned() };
    metadata.text(Key::OwnTokenizer, own);
    Ok(())
}

/// Takes the added tokens out of the settings that the model has no vectors for, such as those of
/// images; answers whether there are any.
fn leave_out(settings: &mut Value, tokenizer: &Pipeline, rows: usize) -> bool {
    let Some(added) = settings["added_tokens"].as_array_mut() else { return false };
    let before = added.len();
    added.retain(|token| {
        let id = token["content"].as_str().and_then(|content| tokenizer.id(content));
        id.and_then(|id| usize::try_from(id).ok()).is_none_or(|id| id < rows)
    });
    added.len() < before
}

fn unsaid() -> Error {
    let message = "GGUF has no words for the steps of the model's tokenizer.json";
    Error::input(ErrorKind::UnsupportedTokenizer, message)
}

/// The steps of a part of a `tokenizer.json`, those of sequences one by one.
fn steps<'v>(part: &'v Value, list: &str) -> Vec<&'v Value> {
    match part[list].as_array() {
        Some(steps) => steps.iter().collect(),
        None if part.is_null() => Vec::new(),
        None => vec![part],
    }
}

/// What GGUF calls the tokenizer with these settings.
fn kind(settings: &Value, is_roberta: bool) -> Option<Kind> {
    let normalizer = steps(&settings["normalizer"], "normalizers");
    let words = steps(&settings["pre_tokenizer"], "pretokenizers");
    match settings["model"]["type"].as_str()? {
        "WordPiece" => word_piece(&normalizer, &words),
        "Unigram" => unigram(&normalizer, &words),
        "BPE" if settings["model"]["byte_fallback"] == true => pieces(&normalizer, &words),
        "BPE" => byte_level(&normalizer, &words, &settings["model"], is_roberta),
        _ => None,
    }
}

fn word_piece(normalizer: &[&Value], words: &[&Value]) -> Option<Kind> {
    let ([step], [words]) = (normalizer, words) else { return None };
    let is_bert = step["type"] == "BertNormalizer" && words["type"] == "BertPreTokenizer";
    let is_usual = step["clean_text"] == true && step["handle_chinese_chars"] == true;
    let lowercase = step["lowercase"].as_bool()?;
    let strips_accents = step["strip_accents"].as_bool().unwrap_or(lowercase);
    (is_bert && is_usual).then_some(Kind::WordPiece { lowercase, strips_accents })
}

/// SentencePiece's normalisation, which takes extra spaces out, however its steps are spelled.
fn unigram(normalizer: &[&Value], words: &[&Value]) -> Option<Kind> {
    let known = ["Precompiled", "Strip", "Replace"];
    let is_known = |step: &&&Value| known.iter().any(|kind| step["type"] == *kind);
    if normalizer.iter().filter(is_known).count() != normalizer.len() {
        return None;
    }
    let charsmap = normalizer.iter().find_map(|step| step["precompiled_charsmap"].as_str());
    let metaspace = match words {
        [one] => one,
        [split, one] if split["type"] == "WhitespaceSplit" => one,
        _ => return None,
    };
    let scheme = metaspace["prepend_scheme"].as_str();
    let adds_prefix = match scheme {
        Some("always") => true,
        Some("never") => false,
        None => metaspace["add_prefix_space"].as_bool().unwrap_or(true),
        Some(_) => return None,
    };
    let is_metaspace = metaspace["type"] == "Metaspace" && metaspace["replacement"] == SPACE;
    let charsmap = charsmap.map_or(Some(Vec::new()), base64::decode)?;
    is_metaspace.then_some(Kind::Unigram { charsmap, adds_prefix })
}

fn byte_level(
    normalizer: &[&Value],
    words: &[&Value],
    model: &Value,
    is_roberta: bool,
) -> Option<Kind> {
    let composes = match normalizer {
        [] => false,
        [step] if step["type"] == "NFC" => true,
        _ => return None,
    };
    let (pattern, bytes) = match words {
        [bytes] => (None, bytes),
        [split, bytes] if split["type"] == "Split" && split["behavior"] == "Isolated" => {
            (Some(split["pattern"]["Regex"].as_str()?), bytes)
        }
        _ => return None,
    };
    let splits = bytes["use_regex"].as_bool().unwrap_or(true);
    if bytes["type"] != "ByteLevel" || bytes["add_prefix_space"] == true {
        return None;
    }
    let ignores_merges = model["ignore_merges"] == true;
    let pattern = match (pattern, splits) {
        (None, true) => Pattern::Gpt2,
        (Some(expression), false) => Pattern::from_expression(expression)?,
        _ => return None,
    };
    let pre = PreTokenizer::encoder_name(pattern, ignores_merges, composes)?;
    // It has a name of its own there, which means the same.
    let pre = if is_roberta && pre == Pattern::Gpt2.name() { "roberta-bpe" } else { pre };
    Some(Kind::ByteLevel(pre))
}

/// SentencePiece's byte pairs without a space before texts, as Gemma has them.
fn pieces(normalizer: &[&Value], words: &[&Value]) -> Option<Kind> {
    let [step] = normalizer else { return None };
    let is_space =
        step["type"] == "Replace" && step["pattern"]["String"] == " " && step["content"] == SPACE;
    // There is no space left to split at.
    let never_splits = |step: &&Value| step["type"] == "Split" && step["pattern"]["String"] == " ";
    (is_space && words.iter().all(never_splits)).then_some(Kind::Pieces)
}

/// The tokens of all ids.
struct Table {
    tokens: Vec<Vec<u8>>,
    kinds: Vec<PieceKind>,
}

impl Table {
    /// The tokens of `tokenizer`, and what fills the table of vectors up to `rows`.
    fn of(tokenizer: &Pipeline, settings: &Value, kind: &Kind, rows: usize) -> Result<Self> {
        let added = settings["added_tokens"].as_array().into_iter().flatten();
        let mut is_special = std::collections::HashMap::new();
        for token in added {
            let id = token["content"].as_str().and_then(|content| tokenizer.id(content));
            if let Some(id) = id {
                is_special.insert(id, token["special"] == true);
            }
        }
        let count = u32::try_from(rows).unwrap_or(u32::MAX);
        let parts = tokenizer.parts().map_err(|error| Error::in_file("tokenizer.json", error))?;
        let own = parts.tokens.len();
        if own > rows {
            let message =
                format!("the tokenizer has {own} tokens, but there are only {rows} word vectors");
            return Err(Error::input(ErrorKind::BadVocabulary, message));
        }
        let mut table = Self { tokens: Vec::new(), kinds: Vec::new() };
        for id in 0..count {
            let Some(token) = tokenizer.token(id) else {
                table.tokens.push(format!("[PAD{id}]").into_bytes());
                table.kinds.push(PieceKind::Unused);
                continue;
            };
            let token = String::from_utf8_lossy(token).into_owned();
            let is_unknown = tokenizer.unknown() == Some(id);
            let (token, of_kind) = match (is_special.get(&id), kind) {
                (_, Kind::Unigram { .. } | Kind::Pieces) if is_unknown => {
                    (token, PieceKind::Unknown)
                }
                (Some(true), _) => (token, PieceKind::Control),
                (Some(false), Kind::Pieces) => (token.replace(SPACE, " "), PieceKind::UserDefined),
                (Some(false), Kind::WordPiece { .. }) => (phantom(&token), PieceKind::UserDefined),
                (Some(false), _) => (token, PieceKind::UserDefined),
                (None, Kind::WordPiece { .. }) => (phantom(&token), PieceKind::Normal),
                (None, Kind::Pieces) if is_byte(&token) => (token, PieceKind::Byte),
                (None, _) => (token, PieceKind::Normal),
            };
            table.tokens.push(token.into_bytes());
            table.kinds.push(of_kind);
        }
        Ok(table)
    }

    /// The scores of Unigram's pieces.
    fn scores(&self, parts: &PipelineParts<'_>) -> Vec<f32> {
        #[expect(clippy::cast_possible_truncation, reason = "GGUF holds these as f32")]
        let score = |id: usize| {
            let score = parts.scores.as_ref().and_then(|scores| scores.get(id));
            score.map_or(0.0, |score| *score as f32)
        };
        (0..self.tokens.len()).map(score).collect()
    }

    /// Scores that say in which order pieces are merged: that of a piece is the rank of the first
    /// merge that makes it, negated.
    fn ranks(&self, parts: &PipelineParts<'_>) -> Vec<f32> {
        let spelled = |id: u32| {
            let id = usize::try_from(id).ok()?;
            parts.tokens.get(id).copied()
        };
        let ids: std::collections::HashMap<&str, usize> =
            parts.tokens.iter().enumerate().map(|(id, token)| (*token, id)).collect();
        let mut scores = vec![None; self.tokens.len()];
        for (rank, (left, right)) in parts.merges.iter().enumerate() {
            let Some((left, right)) = spelled(*left).zip(spelled(*right)) else { continue };
            let made = ids.get([left, right].concat().as_str());
            if let Some(score) = made.and_then(|id| scores.get_mut(*id)) {
                #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2²⁴")]
                score.get_or_insert(-(rank as f32));
            }
        }
        scores.into_iter().map(Option::unwrap_or_default).collect()
    }
}

/// A token of WordPiece as llama.cpp has it: `▁` before what begins a word, nothing before what
/// goes on with one.
fn phantom(token: &str) -> String {
    match token.strip_prefix("##") {
        Some(rest) => rest.to_owned(),
        None => format!("{SPACE}{token}"),
    }
}

fn is_byte(token: &str) -> bool {
    let digits = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    digits.is_some_and(|digits| digits.len() == 2 && u8::from_str_radix(digits, 16).is_ok())
}

/// The merges, a space between the tokens of each.
fn merges(parts: &PipelineParts<'_>) -> Vec<Vec<u8>> {
    let spelled = |id: u32| {
        let token = usize::try_from(id).ok().and_then(|id| parts.tokens.get(id));
        token.copied().unwrap_or_default()
    };
    let merge =
        |(left, right): &(u32, u32)| format!("{} {}", spelled(*left), spelled(*right)).into_bytes();
    parts.merges.iter().map(merge).collect()
}

/// Adds the tokens around texts, and other special ones.
fn ends(
    metadata: &mut Metadata,
    tokenizer: &Pipeline,
    settings: &Value,
    kind: &Kind,
) -> Result<()> {
    let (begin, end) = around(tokenizer, settings).ok_or_else(|| {
        let message = "GGUF has words for one token before and one behind texts, and the model's tokenizer.json has others";
        Error::input(ErrorKind::UnsupportedTokenizer, message)
    })?;
    metadata.id(Key::BeginId, begin);
    metadata.id(Key::EndId, end);
    metadata.add(Key::AddsBegin, OwnValue::Bool(begin.is_some()));
    metadata.add(Key::AddsEnd, OwnValue::Bool(end.is_some()));
    if matches!(kind, Kind::WordPiece { .. }) {
        metadata.id(Key::ClassifyId, begin);
        // GGUF spells the key with one `a` too few.
        metadata.id(Key::SeparatorId, end);
    }
    let named = |names: &[&str]| names.iter().find_map(|name| tokenizer.id(name));
    let unknown = tokenizer.unknown().or_else(|| named(&["[UNK]", "<unk>"]));
    metadata.id(Key::UnknownId, unknown);
    metadata.id(Key::PaddingId, named(&["[PAD]", "<pad>"]));
    metadata.id(Key::MaskId, named(&["[MASK]", "<mask>", "<|mask|>"]));
    Ok(())
}

type Ends = (Option<u32>, Option<u32>);

/// The tokens before and behind a text, if there is at most one each.
fn around(tokenizer: &Pipeline, settings: &Value) -> Option<Ends> {
    for step in steps(&settings["post_processor"], "processors") {
        match step["type"].as_str()? {
            "RobertaProcessing" | "BertProcessing" => {
                let id = |name: &str| tokenizer.id(step[name][0].as_str()?);
                return Some((Some(id("cls")?), Some(id("sep")?)));
            }
            "TemplateProcessing" => {
                let items = step["single"].as_array()?;
                let text = items.iter().position(|item| item["Sequence"]["id"] == "A")?;
                let (before, rest) = items.split_at_checked(text)?;
                return Some((one(tokenizer, before)?, one(tokenizer, rest.get(1..)?)?));
            }
            _ => {}
        }
    }
    Some((None, None))
}

/// The token of a list of at most one item.
fn one(tokenizer: &Pipeline, items: &[Value]) -> Option<Option<u32>> {
    match items {
        [] => Some(None),
        [item] => tokenizer.id(item["SpecialToken"]["id"].as_str()?).map(Some),
        _ => None,
    }
}
