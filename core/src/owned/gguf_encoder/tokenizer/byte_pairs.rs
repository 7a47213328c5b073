//! Byte-level BPE.
//!
//! | `tokenizer.ggml.pre` | words | NFC first | whole words before merges |
//! |---|---|---|---|
//! | `gpt-2`, `roberta-bpe`, `jina-v1-en`, `jina-v2-code`, `jina-v2-es`, `jina-v2-de` | GPT-2 | no | no |
//! | `modern-bert` | GPT-2 | yes | no |
//! | `llama-bpe`, `llama3`, `llama-v3`, `jina-v5-nano` | Llama 3 | no | yes |
//! | `qwen2` | Qwen 2 | yes | no |

use alloc::format;
use alloc::string::String;

use super::vocabulary::{AddedRules, Vocabulary};
use super::{Parts, ends, id, merges, named};
use crate::owned::gguf_encoder::keys::{GgufFault, Keys};
use crate::owned::tokenizer_json::{Settings, quoted};

const PRE: &str = "tokenizer.ggml.pre";

/// What a name under [`PRE`] means.
struct Pre {
    /// The expression of words; GPT-2's is part of the step that follows.
    words: Option<&'static str>,
    composes: bool,
    ignores_merges: bool,
    /// Whether a token stands before and behind texts unless the file says so.
    ends: (bool, bool),
}

const LLAMA_3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN_2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

fn pre(name: &str) -> Option<Pre> {
    let gpt_2 = Pre { words: None, composes: false, ignores_merges: false, ends: (false, false) };
    match name {
        "gpt-2" | "gpt2" | "roberta-bpe" | "jina-v1-en" | "jina-v2-code" | "jina-v2-es"
        | "jina-v2-de" => Some(gpt_2),
        "modern-bert" => Some(Pre { composes: true, ..gpt_2 }),
        "llama-bpe" | "llama3" | "llama-v3" | "jina-v5-nano" => {
            Some(Pre { words: Some(LLAMA_3), ignores_merges: true, ends: (true, false), ..gpt_2 })
        }
        "qwen2" => Some(Pre { words: Some(QWEN_2), composes: true, ..gpt_2 }),
        _ => None,
    }
}

pub(super) fn read<'a>(
    keys: &Keys<'a>,
    vocabulary: &mut Vocabulary,
) -> Result<Parts, GgufFault<'a>> {
    vocabulary.drop_unused();
    vocabulary.scores.clear();
    let found = keys.text(PRE)?.and_then(pre);
    let Some(Pre { words, composes, ignores_merges, ends: usual }) = found else {
        let known = "known are `gpt-2`, `roberta-bpe`, `jina-v1-en`, `jina-v2-code`, `jina-v2-es`, `jina-v2-de`, `modern-bert`, `llama-bpe`, `llama3`, `llama-v3`, `jina-v5-nano` and `qwen2`";
        return Err(keys.refuse(PRE, known).into());
    };
    keys.known(&[
        "tokenizer.ggml.merges",
        "tokenizer.ggml.scores",
        "tokenizer.ggml.unknown_token_id",
        "tokenizer.ggml.remove_extra_whitespaces",
        // Case and accents of such models are said by WordPiece's keys alone.
        "tokenizer.ggml.normalizer.lowercase",
        "tokenizer.ggml.normalizer.strip_accents",
    ]);
    for key in [
        "tokenizer.ggml.add_space_prefix",
        "tokenizer.ggml.normalizer.lowercase",
        "tokenizer.ggml.normalizer.strip_accents",
    ] {
        if keys.truth(key)? == Some(true) {
            return Err(keys.refuse(key, "only false is honoured").into());
        }
    }
    let vocabulary = &*vocabulary;
    let merges = merges::listed(&keys.file, &vocabulary.tokens)?;
    let mask = id(keys, "tokenizer.ggml.mask_token_id", vocabulary)?;
    let ends = ends(keys, vocabulary, usual)?;
    let byte_level = |splits: bool| {
        format!(
            r#"{{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":{splits}}}"#
        )
    };
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
