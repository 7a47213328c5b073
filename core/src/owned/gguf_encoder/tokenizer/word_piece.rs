//! WordPiece, as BERT normalises texts.

use super::vocabulary::{AddedRules, Vocabulary};
use super::{Parts, id};
use crate::describe::gguf::GgufRefusal;
use crate::limit::{copied, joined};
use crate::owned::gguf_encoder::keys::{GgufFault, Keys};
use crate::owned::tokenizer_json::{WordPieces, word_pieces};
use crate::token::sentencepiece::PieceKind;

/// Before what begins a word.
const WORD: char = '▁';

pub(super) fn read<'a>(
    keys: &Keys<'a>,
    vocabulary: &mut Vocabulary,
) -> Result<Parts, GgufFault<'a>> {
    vocabulary.drop_unused();
    vocabulary.scores.clear();
    keys.known(&[
        "tokenizer.ggml.pre",
        "tokenizer.ggml.scores",
        "tokenizer.ggml.merges",
        "tokenizer.ggml.padding_token_id",
        "tokenizer.ggml.mask_token_id",
        "tokenizer.ggml.add_space_prefix",
        "tokenizer.ggml.remove_extra_whitespaces",
    ]);
    for (id, token) in vocabulary.tokens.iter_mut().enumerate() {
        let kind = vocabulary.kinds.get(id).copied().unwrap_or(PieceKind::Normal);
        if token.is_empty() || matches!(kind, PieceKind::Control | PieceKind::Unknown) {
            continue;
        }
        *token = match token.strip_prefix(WORD) {
            Some(word) => copied(word)?,
            None => joined(&["##", token])?,
        };
    }
    let vocabulary = &*vocabulary;
    let [begin, cls] = [
        id(keys, "tokenizer.ggml.bos_token_id", vocabulary)?,
        id(keys, "tokenizer.ggml.cls_token_id", vocabulary)?,
    ];
    // GGUF spells the separator's key with one `a` too few.
    let [end, separator] = [
        id(keys, "tokenizer.ggml.eos_token_id", vocabulary)?,
        id(keys, "tokenizer.ggml.seperator_token_id", vocabulary)?,
    ];
    for key in ["tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token"] {
        if keys.truth(key)? == Some(false) {
            return Err(keys.refuse(key, "only true is honoured").into());
        }
    }
    let unknown = id(keys, "tokenizer.ggml.unknown_token_id", vocabulary)?;
    let needed = |id: Option<u32>, key| {
        id.and_then(|id| vocabulary.named(id)).ok_or_else(|| GgufRefusal::missing(key))
    };
    let begin = needed(cls.or(begin), "tokenizer.ggml.cls_token_id")?;
    let end = needed(separator.or(end), "tokenizer.ggml.seperator_token_id")?;
    let (_, unknown) = needed(unknown, "tokenizer.ggml.unknown_token_id")?;
    let lowercase = keys.truth("tokenizer.ggml.normalizer.lowercase")?.unwrap_or(true);
    let strips_accents = keys.truth("tokenizer.ggml.normalizer.strip_accents")?;
    Ok(Parts {
        settings: word_pieces(WordPieces {
            added: vocabulary.added(AddedRules::default()),
            splits_chinese: true,
            strips_accents,
            lowercase,
            begin,
            end,
            unknown,
            tokens: vocabulary.tokens.len(),
        }),
        merges: alloc::vec::Vec::new(),
    })
}
