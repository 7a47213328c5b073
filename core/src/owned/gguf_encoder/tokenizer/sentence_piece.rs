//! SentencePiece: Unigram, as XLM-RoBERTa has it, and byte pairs, as Gemma has them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::vocabulary::{AddedRules, Vocabulary};
use super::{Parts, ends, id, is_absent, merges, named};
use crate::describe::gguf::{GgufRefusal, Key, Keys};
use crate::error::{Error, ErrorKind};
use crate::event::Value;
use crate::limit::reserved;
use crate::owned::base64;
use crate::owned::gguf_encoder::GgufFault;
use crate::owned::tokenizer_json::{Settings, quoted};
use crate::token::sentencepiece::PieceKind;

const CHARSMAP: Key = Key::Charsmap;
const PREFIX: Key = Key::AddsSpace;
const EXTRA_SPACES: Key = Key::RemovesSpaces;
const UNKNOWN: Key = Key::UnknownId;

/// Keys of other kinds of tokenizers, and of merges that scores say here.
const OTHERS: [Key; 3] = [Key::TokenizerPre, Key::Scores, Key::Merges];

const DECODER: &str =
    r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}"#;

pub(super) fn unigram<'a>(
    keys: &Keys<'a>,
    vocabulary: &mut Vocabulary,
) -> Result<Parts, GgufFault<'a>> {
    vocabulary.drop_unused();
    if vocabulary.scores.is_empty() {
        return Err(GgufRefusal::missing(Key::Scores.name()).into());
    }
    // The least score counts, and is that of a piece.
    for (id, score) in vocabulary.scores.iter_mut().enumerate() {
        if vocabulary.kinds.get(id) == Some(&PieceKind::Unused) {
            *score = 0.0;
        }
    }
    keys.known(&OTHERS);
    let vocabulary = &*vocabulary;
    let adds_prefix = keys.truth(PREFIX)?.unwrap_or(true);
    let removes = keys.truth(EXTRA_SPACES)?.unwrap_or(false);
    let scheme = if adds_prefix { "always" } else { "never" };
    let metaspace = |splits: bool| {
        format!(
            r#"{{"type":"Metaspace","replacement":"▁","prepend_scheme":"{scheme}","split":{splits}}}"#
        )
    };
    let pre_tokenizer = match removes {
        true => format!(
            r#"{{"type":"Sequence","pretokenizers":[{{"type":"WhitespaceSplit"}},{}]}}"#,
            metaspace(true)
        ),
        false => metaspace(false),
    };
    let ends = ends(keys, vocabulary, (false, true))?;
    let mask = id(keys, Key::MaskId, vocabulary)?;
    let by_kind = || vocabulary.kinds.iter().position(|kind| *kind == PieceKind::Unknown);
    let unknown = id(keys, UNKNOWN, vocabulary)?.or(by_kind().map(|id| id as u32));
    let unknown = unknown.ok_or_else(|| GgufRefusal::missing(UNKNOWN.name()))?;
    Ok(Parts {
        settings: Settings {
            added: vocabulary.added(AddedRules { normalizes: false, strips_before: mask }),
            normalizer: charsmap(keys)?,
            pre_tokenizer,
            ends: named(vocabulary, ends),
            model: format!(r#""type":"Unigram","unk_id":{unknown},"byte_fallback":false"#),
            decoder: DECODER,
            tokens: vocabulary.tokens.len(),
        }
        .json(),
        merges: Vec::new(),
    })
}

pub(super) fn byte_pairs<'a>(
    keys: &Keys<'a>,
    vocabulary: &mut Vocabulary,
) -> Result<Parts, GgufFault<'a>> {
    vocabulary.drop_unused();
    // Those that were added have spaces where the vocabulary has what stands for them.
    for (token, kind) in vocabulary.tokens.iter_mut().zip(&vocabulary.kinds) {
        if *kind == PieceKind::UserDefined {
            *token = token.replace(' ', "▁");
        }
    }
    keys.known(&OTHERS);
    if !is_absent(keys.value(CHARSMAP)) {
        let reason = "beside byte pairs it is not honoured";
        return Err(keys.refuse(CHARSMAP, reason).into());
    }
    if keys.truth(EXTRA_SPACES)? == Some(true) {
        return Err(keys.refuse(EXTRA_SPACES, "only false is honoured").into());
    }
    let merges = merges::of_scores(vocabulary)?;
    vocabulary.scores.clear();
    let vocabulary = &*vocabulary;
    let space = r#"{"type":"Replace","pattern":{"String":" "},"content":"▁"}"#;
    let normalizer = match keys.truth(PREFIX)?.unwrap_or(true) {
        false => String::from(space),
        true => format!(
            r#"{{"type":"Sequence","normalizers":[{{"type":"Prepend","prepend":"▁"}},{space}]}}"#
        ),
    };
    let ends = ends(keys, vocabulary, (true, false))?;
    id(keys, Key::MaskId, vocabulary)?;
    let by_kind = || vocabulary.kinds.iter().position(|kind| *kind == PieceKind::Unknown);
    let unknown = id(keys, UNKNOWN, vocabulary)?.or(by_kind().map(|id| id as u32));
    let unknown = unknown.and_then(|id| vocabulary.named(id));
    let unknown = unknown.map_or_else(|| String::from("null"), |(_, token)| quoted(token));
    Ok(Parts {
        settings: Settings {
            added: vocabulary.added(AddedRules::default()),
            normalizer,
            pre_tokenizer: String::from("null"),
            ends: named(vocabulary, ends),
            model: format!(
                r#""type":"BPE","dropout":null,"unk_token":{unknown},"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,"ignore_merges":false,"merges":[]"#
            ),
            decoder: DECODER,
            tokens: vocabulary.tokens.len(),
        }
        .json(),
        merges,
    })
}

/// The step of the file's table of characters.
fn charsmap<'a>(keys: &Keys<'a>) -> Result<String, GgufFault<'a>> {
    if is_absent(keys.value(CHARSMAP)) {
        return Ok(String::from("null"));
    }
    let bad = || Error::without_offset(ErrorKind::BadVocabulary);
    let mut bytes: Vec<u8> = Vec::new();
    let count = match keys.value(CHARSMAP) {
        Some(Value::Array { count }) => usize::try_from(count).map_err(|_| bad())?,
        _ => return Err(keys.refuse(CHARSMAP, "a list of bytes is needed").into()),
    };
    // As many as the file has, whose list was read already.
    bytes.append(&mut reserved(count)?);
    for value in keys.file.elements(CHARSMAP.name()).into_iter().flatten() {
        bytes.push(match value {
            Value::Unsigned(byte) => u8::try_from(byte).map_err(|_| bad())?,
            #[allow(clippy::cast_sign_loss)] // llama.cpp takes signed bytes too
            Value::Signed(byte) => i8::try_from(byte).map_err(|_| bad())? as u8,
            _ => return Err(bad().into()),
        });
    }
    let spelled = base64::encode(&bytes)?;
    Ok(format!(r#"{{"type":"Precompiled","precompiled_charsmap":"{spelled}"}}"#))
}
