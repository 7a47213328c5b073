//! SentencePiece: Unigram, as XLM-RoBERTa has it, and byte pairs, as Gemma has them.

use alloc::vec::Vec;

use super::vocabulary::{AddedRules, Vocabulary};
use super::{around, described, ends, id, is_absent, merges, open};
use crate::describe::gguf::GgufFault;
use crate::describe::gguf::{GgufRefusal, Key, Keys, Outcome};
use crate::error::{Error, ErrorKind};
use crate::event::Value;
use crate::limit::{reserved, spelled};
use crate::owned::Pipeline;
use crate::token::sentencepiece::PieceKind;
use crate::token::spec::{
    BpeSpec, Decoder, MergesSpec, Metaspace, ModelKind, Normalizer, Pattern, PreTokenizer,
    Prepends, Replace, Rules, SpelledText, Steps, TokenizerSpec, UnigramSpec, steps,
};

const CHARSMAP: Key = Key::Charsmap;
const PREFIX: Key = Key::AddsSpace;
const EXTRA_SPACES: Key = Key::RemovesSpaces;
const UNKNOWN: Key = Key::UnknownId;

/// Keys of other kinds of tokenizers, and of merges that scores say here.
const OTHERS: [Key; 3] = [Key::TokenizerPre, Key::Scores, Key::Merges];

/// What stands for a space.
const MARK: char = '▁';

/// Spaces are written as a mark, and pieces begin with one if it `splits`.
const fn metaspace(prepends: Prepends, splits: bool) -> Metaspace {
    Metaspace { replacement: MARK, prepends, splits }
}

/// Marks become spaces.
fn decoder<'a>() -> Steps<'a, Decoder<'a>> {
    steps(&[Decoder::Metaspace(metaspace(Prepends::Always, true))])
}

pub(super) fn unigram<'a>(
    keys: &Keys<'a>,
    vocabulary: &mut Vocabulary,
) -> Result<Pipeline, GgufFault<'a>> {
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
    let prepends = if adds_prefix { Prepends::Always } else { Prepends::Never };
    let cut = PreTokenizer::Metaspace(metaspace(prepends, removes));
    let pre_tokenizer = match removes {
        true => steps(&[PreTokenizer::WhitespaceSplit, cut]),
        false => steps(&[cut]),
    };
    let ends = ends(keys, vocabulary, (false, true))?;
    let mask = id(keys, Key::MaskId, vocabulary)?;
    let unknown =
        unknown_id(keys, vocabulary)?.ok_or_else(|| GgufRefusal::missing(UNKNOWN.name()))?;
    let rules = charsmap(keys)?;
    let added = vocabulary.added(AddedRules { normalizes: false, strips_before: mask })?;
    let model = UnigramSpec { unknown: Some(unknown.into()), byte_fallback: false };
    let normalizer = rules.as_deref().map(|rules| Normalizer::Precompiled(Rules::Bytes(rules)));
    let spec = TokenizerSpec {
        normalizer: steps(normalizer.as_slice()),
        pre_tokenizer,
        post_processor: around(vocabulary, ends),
        decoder: Some(decoder()),
        ..described(vocabulary, &added, ModelKind::Unigram(model))
    };
    open(keys, vocabulary, &spec, &[])
}

/// What the merges of byte pairs follow from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MergesBy {
    /// The scores of pieces. Without a key, a space is put before texts.
    Score,
    /// A list. Without a key, texts stay as they are.
    List,
}

pub(super) fn byte_pairs<'a>(
    keys: &Keys<'a>,
    vocabulary: &mut Vocabulary,
    merges_by: MergesBy,
) -> Result<Pipeline, GgufFault<'a>> {
    // Those that were added have spaces where the vocabulary has what stands for them.
    for (token, kind) in vocabulary.tokens.iter_mut().zip(&vocabulary.kinds) {
        if *kind == PieceKind::UserDefined {
            *token = spelled(token.chars().map(|c| if c == ' ' { MARK } else { c }))?;
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
    let merges = match merges_by {
        MergesBy::Score => merges::by_score(vocabulary)?,
        MergesBy::List if keys.value(Key::Merges).is_none() => {
            return Err(GgufRefusal::missing(Key::Merges.name()).into());
        }
        MergesBy::List => merges::listed(&keys.file, &vocabulary.tokens)?,
    };
    vocabulary.scores.clear();
    let vocabulary = &*vocabulary;
    let mark = SpelledText::plain("▁");
    let pattern = Pattern::Text(SpelledText::plain(" "));
    let space = Normalizer::Replace(Replace { pattern, content: mark });
    let normalizer = match keys.truth(PREFIX)?.unwrap_or(merges_by == MergesBy::Score) {
        false => steps(&[space]),
        true => steps(&[Normalizer::Prepend(mark), space]),
    };
    let ends = ends(keys, vocabulary, (true, false))?;
    id(keys, Key::MaskId, vocabulary)?;
    let unknown = unknown_id(keys, vocabulary)?.and_then(|id| vocabulary.named(id));
    let added = vocabulary.added(AddedRules::default())?;
    let model = ModelKind::Bpe(BpeSpec {
        unknown: unknown.map(|token| token.name),
        prefix: SpelledText::default(),
        suffix: SpelledText::default(),
        fuses_unknown: true,
        byte_fallback: true,
        ignores_merges: false,
        merges: MergesSpec::Apart(merges.len() as u64),
    });
    let spec = TokenizerSpec {
        normalizer,
        post_processor: around(vocabulary, ends),
        decoder: Some(decoder()),
        ..described(vocabulary, &added, model)
    };
    open(keys, vocabulary, &spec, &merges)
}

/// The id of the unknown token, by its key or by its kind.
fn unknown_id<'a>(keys: &Keys<'a>, vocabulary: &Vocabulary) -> Outcome<'a, Option<u32>> {
    let by_kind = || vocabulary.kinds.iter().position(|kind| *kind == PieceKind::Unknown);
    Ok(id(keys, UNKNOWN, vocabulary)?.or_else(|| by_kind().map(|id| id as u32)))
}

/// The file's table of characters, which are SentencePiece's compiled rules.
fn charsmap<'a>(keys: &Keys<'a>) -> Result<Option<Vec<u8>>, GgufFault<'a>> {
    if is_absent(keys.value(CHARSMAP)) {
        return Ok(None);
    }
    let bad = || Error::without_offset(ErrorKind::BadVocabulary);
    let count = match keys.value(CHARSMAP) {
        Some(Value::Array { count }) => usize::try_from(count).map_err(|_| bad())?,
        _ => return Err(keys.refuse(CHARSMAP, "a list of bytes is needed").into()),
    };
    // As many as the file has, whose list was read already.
    let mut bytes = reserved(count)?;
    for value in keys.file.elements(CHARSMAP.name()).into_iter().flatten() {
        bytes.push(match value {
            Value::Unsigned(byte) => u8::try_from(byte).map_err(|_| bad())?,
            #[allow(clippy::cast_sign_loss)] // llama.cpp takes signed bytes too
            Value::Signed(byte) => i8::try_from(byte).map_err(|_| bad())? as u8,
            _ => return Err(bad().into()),
        });
    }
    Ok(Some(bytes))
}
