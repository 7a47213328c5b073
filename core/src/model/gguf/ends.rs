//! The tokens around texts in the words of GGUF.

use super::unsigned;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::token::bpe::PreTokenizer;
use crate::token::{EndTokens, TextEnds};

/// The keys of tokens that end a text, the usual one first.
const END_KEYS: [&str; 3] =
    ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"];

/// Control tokens that end a text in llama.cpp whatever the keys say: many files of chat models have the end of a turn
/// nowhere but among the tokens.
const END_NAMES: [&[u8]; 12] = [
    b"<|eot_id|>",
    b"<|im_end|>",
    b"<|end|>",
    b"<end_of_turn>",
    b"<|endoftext|>",
    b"<|eom_id|>",
    b"<EOT>",
    b"_<EOT>",
    b"[EOT]",
    b"<|end_of_text|>",
    b"<end_of_utterance>",
    b"</s>",
];

/// The type of control tokens.
const CONTROL: u32 = 3;

/// How a file with byte-level BPE cuts texts; `None` if `tokenizer.ggml.pre` is missing or not known here.
#[must_use]
pub fn gguf_pre_tokenizer(file: &Gguf<'_>) -> Option<PreTokenizer> {
    match file.value("tokenizer.ggml.pre")? {
        Value::Text(name) => PreTokenizer::of_name(name),
        _ => None,
    }
}

/// The tokens around the texts of a file with byte-level BPE or SentencePiece.
///
/// Where `tokenizer.ggml.add_bos_token` is missing, the pre-tokenizer says whether texts begin with a token; those of
/// SentencePiece do.
///
/// # Errors
///
/// [`ErrorKind::MissingMetadata`] if there is no id for a token that is put around texts; [`ErrorKind::BadVocabulary`] if
/// more tokens end texts than in any model.
pub fn gguf_text_ends(file: &Gguf<'_>) -> Result<TextEnds> {
    let missing = Error::without_offset(ErrorKind::MissingMetadata);
    let pieces = file.value("tokenizer.ggml.model") == Some(Value::Text("llama"));
    let id = |key: &str, usual: u32| {
        file.value(key).and_then(unsigned).or_else(|| pieces.then_some(usual))
    };
    let is_set = |key: &str, usual: bool| match file.value(key) {
        Some(Value::Bool(value)) => value,
        _ => usual,
    };
    let usual = pieces || gguf_pre_tokenizer(file).is_some_and(|pre| pre.adds_begin);
    let mut ends = TextEnds { end: end_tokens(file)?, ..TextEnds::default() };
    if let Some(end) = id(END_KEYS[0], 2) {
        let mut first = EndTokens::NONE;
        first.push(end)?;
        ends.end.ids().iter().try_for_each(|id| first.push(*id))?;
        ends.end = first;
    }
    if is_set("tokenizer.ggml.add_bos_token", usual) {
        ends.begin = Some(id("tokenizer.ggml.bos_token_id", 1).ok_or(missing)?);
    }
    if is_set("tokenizer.ggml.add_eos_token", false) {
        ends.append = Some(id(END_KEYS[0], 2).ok_or(missing)?);
    }
    Ok(ends)
}

/// The tokens that keys or their names say end a text.
fn end_tokens(file: &Gguf<'_>) -> Result<EndTokens> {
    let mut end = EndTokens::NONE;
    for key in END_KEYS {
        file.value(key).and_then(unsigned).map_or(Ok(()), |id| end.push(id))?;
    }
    let Some(types) = file.elements("tokenizer.ggml.token_type") else { return Ok(end) };
    for ((id, token), kind) in (0..).zip(file.tokens()).zip(types) {
        if unsigned(kind) == Some(CONTROL) && END_NAMES.contains(&token) {
            end.push(id)?;
        }
    }
    Ok(end)
}
