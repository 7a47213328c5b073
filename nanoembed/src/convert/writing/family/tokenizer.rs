//! A tokenizer as GGUF has it: arrays of tokens, their types, scores or merges, and the tokens
//! around texts.
//!
//! The settings of its `tokenizer.json` stand under `nanoembed.tokenizer`: GGUF does not say all of
//! them, such as how a text is normalised.

use nanoembed_core::ErrorKind;
use nanoembed_core::describe::gguf::Key;
use nanoembed_core::describe::tokenizer::Json;
use nanoembed_core::model::Tensor;
use nanoembed_core::owned::{Pipeline, PipelineParts, base64};
use nanoembed_core::token::bpe::{self, Pattern};
use nanoembed_core::token::sentencepiece::{PieceKind, byte_of};
use nanoembed_core::token::spec::{
    AddedTokenSpec, AddedTokenSpecs, Metaspace, ModelKind, Normalizer, PreTokenizer, Prepends,
    Rules, SpelledStep, TokenizerSpec,
};

use super::{Family, Prepared};
use crate::convert::writing::metadata::{Metadata, OwnValue};
use crate::error::{Error, Result};

/// The character that replaces a space in pieces.
const SPACE: &str = "▁";

/// A tokenizer model that GGUF can name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TokenizerKind {
    WordPiece { lowercase: bool, strips_accents: bool },
    Unigram { charsmap: Vec<u8>, adds_prefix: bool },
    ByteLevel(&'static str),
    Pieces,
}

/// True if a tokenizer is WordPiece.
pub(super) fn is_word_piece(tokenizer: &Pipeline) -> bool {
    tokenizer.spec().is_ok_and(|spec| matches!(spec.model.kind, ModelKind::WordPiece(_)))
}

/// Adds the tokenizer of `family`, whose tensors are `tensors`.
pub(super) fn add(metadata: &mut Metadata, family: &Family, tensors: &Prepared<'_>) -> Result<()> {
    let failed = |error| Error::in_file("tokenizer.json", error);
    let parts = family.tokenizer.parts().map_err(failed)?;
    let spec = family.tokenizer.spec().map_err(|fault| failed(fault.error))?;
    let added: Vec<AddedTokenSpec<'_>> = spec.added.iter().flatten().collect();
    let kept = with_vectors(&added, &family.tokenizer, tensors.rows);
    let leaves_out = kept.len() < added.len();
    let spec = TokenizerSpec { added: AddedTokenSpecs::Listed(&kept), ..spec };
    let is_roberta = matches!(family.model.family, "roberta" | "camembert");
    let kind = kind(&spec, is_roberta).ok_or_else(unsaid)?;
    let table = Table::new(&family.tokenizer, &kept, &kind, tensors.rows)?;
    match &kind {
        TokenizerKind::WordPiece { lowercase, strips_accents } => {
            metadata.text(Key::TokenizerModel, "bert");
            metadata.text(Key::TokenizerPre, "jina-v2-en");
            metadata.add(Key::LowerCase, OwnValue::Bool(*lowercase));
            let key = Key::StripAccents;
            metadata.add(key, OwnValue::Bool(*strips_accents));
        }
        TokenizerKind::Unigram { charsmap, adds_prefix } => {
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
        TokenizerKind::ByteLevel(pre) => {
            metadata.text(Key::TokenizerModel, "gpt2");
            metadata.text(Key::TokenizerPre, *pre);
            metadata.add(Key::Merges, OwnValue::Texts(merges(&parts)));
        }
        TokenizerKind::Pieces => {
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
    ends(metadata, &family.tokenizer, &spec, &kind)?;
    metadata.add(Key::Tokens, OwnValue::Texts(table.tokens));
    metadata.add(Key::TokenTypes, OwnValue::token_types(&table.kinds));
    let own = if leaves_out { Json(&spec).to_string() } else { parts.settings.to_owned() };
    metadata.text(Key::OwnTokenizer, own);
    Ok(())
}

/// The added tokens that the model has vectors for: not those of images, for example.
fn with_vectors<'a>(
    added: &[AddedTokenSpec<'a>],
    tokenizer: &Pipeline,
    rows: usize,
) -> Vec<AddedTokenSpec<'a>> {
    let has_vector = |token: &&AddedTokenSpec<'_>| {
        let id = tokenizer.id(&token.content.to_string());
        id.and_then(|id| usize::try_from(id).ok()).is_none_or(|id| id < rows)
    };
    added.iter().filter(has_vector).copied().collect()
}

fn unsaid() -> Error {
    let message = "GGUF has no words for the steps of the model's tokenizer.json";
    Error::input(ErrorKind::UnsupportedTokenizer, message)
}

/// The GGUF kind of a tokenizer.
fn kind(spec: &TokenizerSpec<'_>, is_roberta: bool) -> Option<TokenizerKind> {
    match &spec.model.kind {
        ModelKind::WordPiece(_) => word_piece(spec),
        ModelKind::Unigram(_) => unigram(spec),
        ModelKind::Words(_) => None,
        ModelKind::Bpe(bpe) if bpe.byte_fallback => pieces(spec),
        ModelKind::Bpe(bpe) => byte_level(spec, bpe.ignores_merges, is_roberta),
    }
}

fn word_piece(spec: &TokenizerSpec<'_>) -> Option<TokenizerKind> {
    let [SpelledStep { does: PreTokenizer::Bert, .. }] = &spec.pre_tokenizer[..] else {
        return None;
    };
    match spec.normalizer[..] {
        [
            SpelledStep {
                does:
                    Normalizer::Bert {
                        cleans_text: true,
                        splits_ideographs: true,
                        strips_accents,
                        lowercases: lowercase,
                    },
                ..
            },
        ] => {
            let strips_accents = strips_accents.unwrap_or(lowercase);
            Some(TokenizerKind::WordPiece { lowercase, strips_accents })
        }
        _ => None,
    }
}

/// SentencePiece's normalisation, which takes extra spaces out, however its steps are spelled.
fn unigram(spec: &TokenizerSpec<'_>) -> Option<TokenizerKind> {
    let mut charsmap = None;
    for step in &spec.normalizer {
        match step.does {
            Normalizer::Precompiled(rules) if charsmap.is_none() => {
                charsmap = Some(match rules {
                    Rules::Base64(text) => base64::decode(&text.to_string())?,
                    Rules::Bytes(bytes) => bytes.to_vec(),
                });
            }
            Normalizer::Precompiled(_) | Normalizer::Strip { .. } | Normalizer::Replace(_) => {}
            _ => return None,
        }
    }
    let metaspace = match &spec.pre_tokenizer[..] {
        [one] | [SpelledStep { does: PreTokenizer::WhitespaceSplit, .. }, one] => one.does,
        _ => return None,
    };
    let PreTokenizer::Metaspace(Metaspace { replacement: '▁', prepends, .. }) = metaspace else {
        return None;
    };
    let adds_prefix = match prepends {
        Prepends::Always => true,
        Prepends::Never => false,
        Prepends::First => return None,
    };
    Some(TokenizerKind::Unigram { charsmap: charsmap.unwrap_or_default(), adds_prefix })
}

fn byte_level(
    spec: &TokenizerSpec<'_>,
    ignores_merges: bool,
    is_roberta: bool,
) -> Option<TokenizerKind> {
    let (composes, pattern) = (spec.composes("").ok()?, spec.byte_level_words("").ok()?);
    let pre = bpe::PreTokenizer::encoder_name(pattern, ignores_merges, composes)?;
    // It has a name of its own there, which means the same.
    let pre = if is_roberta && pre == Pattern::Gpt2.name() { "roberta-bpe" } else { pre };
    Some(TokenizerKind::ByteLevel(pre))
}

/// SentencePiece's byte pairs without a space before texts, as Gemma has them.
fn pieces(spec: &TokenizerSpec<'_>) -> Option<TokenizerKind> {
    let is_known = spec.space_mark("").is_ok_and(|mark| SPACE.starts_with(mark));
    // There is no space left to split at.
    let never_splits = || spec.check_cuts_at_spaces("").is_ok();
    (is_known && never_splits()).then_some(TokenizerKind::Pieces)
}

/// The tokens of all ids.
struct Table {
    tokens: Vec<Vec<u8>>,
    kinds: Vec<PieceKind>,
}

impl Table {
    /// The tokens of `tokenizer`, and what fills the table of vectors up to `rows`.
    fn new(
        tokenizer: &Pipeline,
        added: &[AddedTokenSpec<'_>],
        kind: &TokenizerKind,
        rows: usize,
    ) -> Result<Self> {
        let mut is_special = std::collections::HashMap::new();
        for token in added {
            if let Some(id) = tokenizer.id(&token.content.to_string()) {
                is_special.insert(id, token.special);
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
                (_, TokenizerKind::Unigram { .. } | TokenizerKind::Pieces) if is_unknown => {
                    (token, PieceKind::Unknown)
                }
                (Some(true), _) => (token, PieceKind::Control),
                (Some(false), TokenizerKind::Pieces) => {
                    (token.replace(SPACE, " "), PieceKind::UserDefined)
                }
                (Some(false), TokenizerKind::WordPiece { .. }) => {
                    (phantom(&token), PieceKind::UserDefined)
                }
                (Some(false), _) => (token, PieceKind::UserDefined),
                (None, TokenizerKind::WordPiece { .. }) => (phantom(&token), PieceKind::Normal),
                (None, TokenizerKind::Pieces) if byte_of(token.as_bytes()).is_some() => {
                    (token, PieceKind::Byte)
                }
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
    spec: &TokenizerSpec<'_>,
    kind: &TokenizerKind,
) -> Result<()> {
    let ends = spec.post_processor.ends().ok_or_else(|| {
        let message = "GGUF has words for one token before and one behind texts, and the model's tokenizer.json has others";
        Error::input(ErrorKind::UnsupportedTokenizer, message)
    })?;
    let [begin, end] = ends.map(|token| token.map(|token| token.id));
    metadata.id(Key::BeginId, begin);
    metadata.id(Key::EndId, end);
    metadata.add(Key::AddsBegin, OwnValue::Bool(begin.is_some()));
    metadata.add(Key::AddsEnd, OwnValue::Bool(end.is_some()));
    if matches!(kind, TokenizerKind::WordPiece { .. }) {
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
