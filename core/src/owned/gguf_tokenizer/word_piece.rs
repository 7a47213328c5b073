//! WordPiece, as BERT normalises texts.

use super::vocabulary::{AddedRules, Vocabulary};
use super::{id, open};
use crate::describe::gguf::GgufFault;
use crate::describe::gguf::{GgufRefusal, Key, Keys};
use crate::limit::{copied, joined};
use crate::owned::Pipeline;
use crate::token::sentencepiece::PieceKind;
use crate::token::spec::{AddedTokenSpecs, BertSpec};

/// Before what begins a word.
const WORD: char = '▁';

pub(super) fn read<'a>(
    keys: &Keys<'a>,
    vocabulary: &mut Vocabulary,
) -> Result<Pipeline, GgufFault<'a>> {
    vocabulary.scores.clear();
    keys.known(&[
        Key::TokenizerPre,
        Key::Scores,
        Key::Merges,
        Key::PaddingId,
        Key::MaskId,
        Key::AddsSpace,
        Key::RemovesSpaces,
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
    let [begin, cls] =
        [id(keys, Key::BeginId, vocabulary)?, id(keys, Key::ClassifyId, vocabulary)?];
    // GGUF spells the separator's key with one `a` too few.
    let [end, separator] =
        [id(keys, Key::EndId, vocabulary)?, id(keys, Key::SeparatorId, vocabulary)?];
    for key in [Key::AddsBegin, Key::AddsEnd] {
        if keys.truth(key)? == Some(false) {
            return Err(keys.refuse(key, "only true is honoured").into());
        }
    }
    let unknown = id(keys, Key::UnknownId, vocabulary)?;
    let needed = |id: Option<u32>, key: Key| {
        id.and_then(|id| vocabulary.named(id)).ok_or_else(|| GgufRefusal::missing(key.name()))
    };
    let begin = needed(cls.or(begin), Key::ClassifyId)?;
    let end = needed(separator.or(end), Key::SeparatorId)?;
    let unknown = needed(unknown, Key::UnknownId)?;
    let lowercase = keys.truth(Key::LowerCase)?.unwrap_or(true);
    let strips_accents = keys.truth(Key::StripAccents)?;
    let added = vocabulary.added(AddedRules::default())?;
    let spec = BertSpec {
        added: AddedTokenSpecs::Listed(&added),
        splits_ideographs: true,
        strips_accents,
        lowercases: lowercase,
        begin,
        end,
        unknown: unknown.name,
        tokens: vocabulary.tokens.len(),
    };
    open(keys, vocabulary, &spec.into(), &[])
}
