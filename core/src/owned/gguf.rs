//! BERT encoders in GGUF files, as llama.cpp's converter writes them.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::added_words::{ADDED_TOKENS, AddedWord};
use super::open::added_words;
use super::prompt::default_prompt;
use super::vocabulary::FoundVocabulary;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::model::BertConfig;
use crate::token::{AddedRules, LengthPrefix};

/// GGUF's types of tokens that are found as they are.
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;

/// The vocabulary of an encoder with these settings, as WordPiece spells it.
pub(super) fn gguf_vocabulary<'f>(
    gguf: &Gguf<'f>,
    config: &BertConfig,
) -> Result<FoundVocabulary<'f>> {
    let id = |key| match gguf.value(key) {
        Some(Value::Unsigned(id)) => u32::try_from(id).ok(),
        _ => None,
    };
    let classify = id("tokenizer.ggml.cls_token_id").or(id("tokenizer.ggml.bos_token_id"));
    // GGUF spells the separator's key with one `a` too few.
    let separate = id("tokenizer.ggml.seperator_token_id").or(id("tokenizer.ggml.eos_token_id"));
    let special = [
        id("tokenizer.ggml.padding_token_id"),
        id("tokenizer.ggml.unknown_token_id"),
        classify,
        separate,
        id("tokenizer.ggml.mask_token_id"),
    ];
    let [_, unknown, classify, separate, _] = special;
    let is_said = unknown.and(classify).and(separate).is_some();
    let own = match gguf.value(&format!("nanoembed.{ADDED_TOKENS}")) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    };
    let mut added = added_words(own)?;
    Ok(FoundVocabulary {
        bytes: Cow::Owned(wordpiece_entries(gguf, &special, &mut added)?),
        offset: 0,
        // What GGUF counts fits the file, whose tokens are more than a byte each.
        count: u32::try_from(config.vocabulary).unwrap_or(u32::MAX),
        prefix: LengthPrefix::U16,
        default_prompt: default_prompt(|key| match gguf.value(&format!("nanoembed.{key}")) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(String::from(text))),
            Some(Value::Bool(truth)) => Ok(Some(truth.to_string())),
            Some(_) => Err(Error::without_offset(ErrorKind::BadMetadata)),
        }),
        special: is_said.then_some(special),
        added,
    })
}

/// The tokens of a GGUF file as WordPiece spells them, each behind its length in 16 bits.
///
/// llama.cpp puts `▁` before what begins a word instead of `##` before what goes on with one, and
/// leaves control tokens and what is in brackets as they are.
///
/// Tokens that were added to the vocabulary, of the types 3 and 4, are not there for words: they go
/// to `added`, if it does not have them, and leave an empty entry.
fn wordpiece_entries(
    gguf: &Gguf<'_>,
    special: &[Option<u32>],
    added: &mut Vec<AddedWord>,
) -> Result<Vec<u8>> {
    if gguf.value("tokenizer.ggml.model") != Some(Value::Text("bert")) {
        return Err(Error::without_offset(ErrorKind::MissingVocabulary));
    }
    let mut types = gguf.elements("tokenizer.ggml.token_type").into_iter().flatten();
    let mut entries = Vec::new();
    let known: BTreeSet<u32> = added.iter().map(|word| word.id).collect();
    for (id, token) in (0..).zip(gguf.tokens()) {
        let kind = types.next();
        let is_control = kind == Some(Value::Signed(CONTROL));
        let is_bracketed = token.len() > 2 && token.starts_with(b"[") && token.ends_with(b"]");
        let (before, rest): (&[u8], _) = match token.strip_prefix("▁".as_bytes()) {
            Some(word) => (b"", word),
            None if is_control || is_bracketed => (b"", token),
            None => (b"##", token),
        };
        let is_added = matches!(kind, Some(Value::Signed(CONTROL | USER_DEFINED)));
        let (before, rest) = if known.contains(&id) {
            (&[][..], &[][..])
        } else if is_added && !special.contains(&Some(id)) {
            added.push(added_word(id, rest, !is_control)?);
            (&[][..], &[][..])
        } else {
            (before, rest)
        };
        let length = u16::try_from(before.len().saturating_add(rest.len()));
        let length = length.map_err(|_| Error::without_offset(ErrorKind::BadVocabulary))?;
        entries.extend_from_slice(&length.to_le_bytes());
        entries.extend_from_slice(before);
        entries.extend_from_slice(rest);
    }
    Ok(entries)
}

/// A token that GGUF says was added; what is no special token is found in normalised texts, as
/// `add_tokens` of Hugging Face has it.
fn added_word(id: u32, spelling: &[u8], normalized: bool) -> Result<AddedWord> {
    let spelling = core::str::from_utf8(spelling);
    let spelling = spelling.map_err(|_| Error::without_offset(ErrorKind::BadVocabulary))?;
    Ok(AddedWord { id, spelling: spelling.into(), normalized, rules: AddedRules::default() })
}
