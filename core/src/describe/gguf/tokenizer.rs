//! A decoder's tokenizer in GGUF's metadata: its pre-tokenizer, and its special tokens.

use super::key::Key;
use super::keys::Keys;
use super::refusal::GgufRefusal;
use super::value::{token_type, unsigned};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::token::bpe::PreTokenizer;
use crate::token::sentencepiece::PieceKind;
use crate::token::{EndTokens, TextEnds};

/// The keys of tokens that end a text, the end-of-sequence token first. Of the fill-in-the-middle
/// tokens, three end texts in llama.cpp.
const END_KEYS: [Key; 6] = [
    Key::EndId,
    Key::EndOfTurnId,
    Key::EndOfMessageId,
    Key::FimPadId,
    Key::FimRepositoryId,
    Key::FimSeparatorId,
];

/// Control tokens that end a text in llama.cpp regardless of the keys: many files of chat models
/// have the end-of-turn token only in the vocabulary.
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

/// The default ids in SentencePiece models.
const USUAL_BEGIN: u32 = 1;
const USUAL_END: u32 = 2;

/// The pre-tokenizer of a file with byte-level BPE.
///
/// # Errors
///
/// [`ErrorKind::MissingVocabulary`] without a tokenizer; as
/// [`gguf_llama_config`](super::gguf_llama_config) for an unknown one;
/// [`ErrorKind::UnsupportedTokenizer`] if the tokenizer is SentencePiece.
pub fn gguf_pre_tokenizer(file: &Gguf<'_>) -> Result<PreTokenizer> {
    if file.token_entries().is_none() {
        return Err(Error::without_offset(ErrorKind::MissingVocabulary));
    }
    let mut settings = Keys::decoder(file)?;
    check(&mut settings)?;
    pre_tokenizer(&settings).ok_or(Error::without_offset(ErrorKind::UnsupportedTokenizer))
}

fn check(settings: &mut Keys<'_>) -> Result<()> {
    settings.read_decoder().map_err(|refusal| refusal.error())?;
    check_tokenizer(settings).map_err(|refusal| refusal.error())
}

fn pre_tokenizer(settings: &Keys<'_>) -> Option<PreTokenizer> {
    match settings.value(Key::TokenizerPre)? {
        Value::Text(name) if !is_pieces(settings) => PreTokenizer::from_name(name),
        _ => None,
    }
}

fn is_pieces(settings: &Keys<'_>) -> bool {
    settings.value(Key::TokenizerModel) == Some(Value::Text("llama"))
}

/// Rejects unknown tokenizers.
pub(super) fn check_tokenizer<'a>(
    settings: &Keys<'a>,
) -> core::result::Result<(), GgufRefusal<'a>> {
    let refuse = |key, reason| Err(settings.refuse(key, reason));
    match settings.value(Key::TokenizerModel) {
        Some(Value::Text("llama")) => Ok(()),
        Some(Value::Text("gpt2")) if pre_tokenizer(settings).is_some() => Ok(()),
        Some(Value::Text("gpt2")) => refuse(
            Key::TokenizerPre,
            "this way to cut texts into words is not known; known are those of GPT-2, SmolLM, Llama 3 and Qwen 2",
        ),
        Some(_) => refuse(
            Key::TokenizerModel,
            "this kind of tokenizer is not known; known are `gpt2` (byte-level BPE) and `llama` (SentencePiece)",
        ),
        // A model without a tokenizer can be run on ids.
        None => Ok(()),
    }
}

/// The special tokens around texts, for a file with byte-level BPE or SentencePiece.
///
/// If `tokenizer.ggml.add_bos_token` is missing, the pre-tokenizer determines whether texts begin
/// with a token; those of SentencePiece do.
///
/// # Errors
///
/// As [`gguf_llama_config`](super::gguf_llama_config) for unsupported keys;
/// [`ErrorKind::MissingMetadata`] if a special token has no id; [`ErrorKind::BadVocabulary`] if
/// more tokens end texts than in any model.
#[inline(never)] // so that it has its stack to itself
pub fn gguf_text_ends(file: &Gguf<'_>) -> Result<TextEnds> {
    let mut settings = Keys::decoder(file)?;
    check(&mut settings)?;
    let pieces = is_pieces(&settings);
    let id = |key: Key, usual: u32| {
        let found = settings.value(key).and_then(unsigned);
        let missing = || GgufRefusal::missing(key.name()).error();
        found.or_else(|| pieces.then_some(usual)).ok_or_else(missing)
    };
    let is_set = |key: Key, usual: bool| match settings.value(key) {
        Some(Value::Bool(value)) => value,
        _ => usual,
    };
    let adds = pieces || pre_tokenizer(&settings).is_some_and(|pre| pre.adds_begin);
    let mut ends = TextEnds::default();
    if pieces {
        ends.end.push(id(END_KEYS[0], USUAL_END)?)?;
    }
    end_tokens(file, &settings, &mut ends.end)?;
    if is_set(Key::AddsBegin, adds) {
        ends.begin = Some(id(Key::BeginId, USUAL_BEGIN)?);
    }
    if is_set(Key::AddsEnd, false) {
        ends.append = Some(id(END_KEYS[0], USUAL_END)?);
    }
    Ok(ends)
}

/// Adds the tokens that end a text, by their keys or names.
fn end_tokens(file: &Gguf<'_>, settings: &Keys<'_>, end: &mut EndTokens) -> Result<()> {
    for key in END_KEYS {
        settings.value(key).and_then(unsigned).map_or(Ok(()), |id| end.push(id))?;
    }
    let Some(types) = file.elements(Key::TokenTypes.name()) else { return Ok(()) };
    for ((id, token), kind) in (0..).zip(file.tokens()).zip(types) {
        if token_type(kind) == Some(PieceKind::Control) && END_NAMES.contains(&token) {
            end.push(id)?;
        }
    }
    Ok(())
}
