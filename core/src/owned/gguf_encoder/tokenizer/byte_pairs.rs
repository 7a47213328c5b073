//! Byte-level BPE, cut into words as [`PreTokenizer`] knows by the name under `tokenizer.ggml.pre`.

use alloc::format;
use alloc::string::String;

use super::vocabulary::{AddedRules, Vocabulary};
use super::{Parts, ends, id, merges, named};
use crate::describe::gguf::{Key, Keys};
use crate::owned::gguf_encoder::GgufFault;
use crate::owned::tokenizer_json::{Settings, quoted};
use crate::token::bpe::{Pattern, PreTokenizer};

const PRE: Key = Key::TokenizerPre;

pub(super) fn read<'a>(
    keys: &Keys<'a>,
    vocabulary: &mut Vocabulary,
) -> Result<Parts, GgufFault<'a>> {
    vocabulary.drop_unused();
    vocabulary.scores.clear();
    let found = keys.text(PRE)?.and_then(PreTokenizer::from_encoder_name);
    let Some(PreTokenizer { pattern, composes, ignores_merges, adds_begin }) = found else {
        let known = "known are `gpt-2`, `roberta-bpe`, `jina-v1-en`, `jina-v2-code`, `jina-v2-es`, `jina-v2-de`, `modern-bert`, `llama-bpe`, `llama3`, `llama-v3`, `jina-v5-nano` and `qwen2`";
        return Err(keys.refuse(PRE, known).into());
    };
    keys.known(&[
        Key::Merges,
        Key::Scores,
        Key::UnknownId,
        Key::RemovesSpaces,
        // Case and accents of such models are said by WordPiece's keys alone.
        Key::LowerCase,
        Key::StripAccents,
    ]);
    for key in [Key::AddsSpace, Key::LowerCase, Key::StripAccents] {
        if keys.truth(key)? == Some(true) {
            return Err(keys.refuse(key, "only false is honoured").into());
        }
    }
    let vocabulary = &*vocabulary;
    let merges = merges::listed(&keys.file, &vocabulary.tokens)?;
    let mask = id(keys, Key::MaskId, vocabulary)?;
    let ends = ends(keys, vocabulary, (adds_begin, false))?;
    let byte_level = |splits: bool| {
        format!(
            r#"{{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":{splits}}}"#
        )
    };
    // GPT-2's expression is part of the step.
    let words = Some(pattern).filter(|it| *it != Pattern::Gpt2).and_then(Pattern::expression);
    let pre_tokenizer = match words {
        None => byte_level(true),
        Some(words) => format!(
            r#"{{"type":"Sequence","pretokenizers":[{{"type":"Split","pattern":{{"Regex":{}}},"behavior":"Isolated","invert":false}},{}]}}"#,
            quoted(words),
            byte_level(false)
        ),
    };
    Ok(Parts {
        settings: Settings {
            added: vocabulary.added(AddedRules { normalizes: true, strips_before: mask }),
            normalizer: String::from(if composes { r#"{"type":"NFC"}"# } else { "null" }),
            pre_tokenizer,
            ends: named(vocabulary, ends),
            model: format!(
                r#""type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":{ignores_merges},"merges":[]"#
            ),
            decoder: r#"{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}"#,
            tokens: vocabulary.tokens.len(),
        }
        .json(),
        merges,
    })
}
