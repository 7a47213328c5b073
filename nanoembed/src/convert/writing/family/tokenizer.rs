//! A tokenizer as GGUF has it: arrays of tokens, their types, scores or merges, and the tokens
//! around texts.
//!
//! The settings of its `tokenizer.json` stand under `nanoembed.tokenizer`: GGUF does not say all of
//! them, such as how a text is normalised.

use std::collections::HashMap;

use nanoembed_core::describe::gguf::{GgufArchitecture, Key};
use nanoembed_core::describe::tokenizer::Json;
use nanoembed_core::model::Tensor;
use nanoembed_core::owned::{Pipeline, PipelineParts, base64};
use nanoembed_core::token::bpe::{self, Pattern};
use nanoembed_core::token::sentencepiece::{PieceKind, byte_of};
use nanoembed_core::token::spec::{
    AddedTokenSpec, AddedTokenSpecs, Metaspace, ModelKind, Normalizer, PreTokenizer, Prepends,
    Rules, SpelledStep, TokenizerSpec,
};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::{Family, Prepared};
use crate::convert::writing::metadata::{Metadata, OwnValue};
use crate::error::{Error, Result};
use crate::hashed;

/// The character that replaces a space in pieces.
const SPACE: &str = "▁";

/// A tokenizer model that GGUF can name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TokenizerKind {
    WordPiece {
        lowercase: bool,
        strips_accents: bool,
    },
    Unigram {
        charsmap: Vec<u8>,
        adds_prefix: bool,
    },
    ByteLevel(&'static str),
    Pieces,
    /// The same with a list of merges.
    MergedPieces,
}

/// True if a tokenizer is WordPiece.
pub(super) fn is_word_piece(tokenizer: &Pipeline) -> bool {
    tokenizer.spec().is_ok_and(|spec| matches!(spec.model.kind, ModelKind::WordPiece(_)))
}

/// Adds the tokenizer of `family`, whose tensors are `tensors`.
pub(super) fn add(metadata: &mut Metadata, family: &Family, tensors: &Prepared<'_>) -> Result<()> {
    let parts = family.tokenizer.parts().map_err(failed)?;
    let spec = family.tokenizer.spec().map_err(|fault| failed(fault.error))?;
    let added = limit::collected(spec.added.iter().flatten()).map_err(failed)?;
    let kept = with_vectors(&added, &family.tokenizer, tensors.rows).map_err(failed)?;
    let leaves_out = kept.len() < added.len();
    let spec = TokenizerSpec { added: AddedTokenSpecs::Listed(&kept), ..spec };
    let is_roberta = matches!(family.model.family, "roberta" | "camembert");
    let kind = match kind(&spec, is_roberta).map_err(failed)?.ok_or_else(unsaid)? {
        TokenizerKind::Pieces if family.architecture == GgufArchitecture::GemmaEmbedding2 => {
            TokenizerKind::MergedPieces
        }
        kind => kind,
    };
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
            metadata.add(Key::Scores, OwnValue::F32s(table.scores(&parts).map_err(failed)?));
            metadata.add(Key::AddsSpace, OwnValue::Bool(*adds_prefix));
            metadata.add(Key::RemovesSpaces, OwnValue::Bool(true));
            if !charsmap.is_empty() {
                let rules = limit::joined_bytes(&[charsmap]).map_err(failed)?;
                metadata.add(Key::Charsmap, OwnValue::Bytes(rules));
            }
        }
        TokenizerKind::ByteLevel(pre) => {
            metadata.text(Key::TokenizerModel, "gpt2");
            metadata.text(Key::TokenizerPre, pre);
            metadata.add(Key::Merges, OwnValue::Texts(merges(&parts).map_err(failed)?));
        }
        TokenizerKind::MergedPieces => {
            metadata.text(Key::TokenizerModel, "gemma4");
            metadata.add(Key::Merges, OwnValue::Texts(merges(&parts).map_err(failed)?));
            metadata.add(Key::AddsSpace, OwnValue::Bool(false));
        }
        TokenizerKind::Pieces => {
            metadata.text(Key::TokenizerModel, "llama");
            metadata.text(Key::TokenizerPre, "default");
            metadata.add(Key::Scores, OwnValue::F32s(table.ranks(&parts).map_err(failed)?));
            metadata.add(Key::AddsSpace, OwnValue::Bool(false));
        }
    }
    let types = u32::try_from(tensors.types.max(1)).unwrap_or(u32::MAX);
    if family.model.names.tensors.iter().any(|(tensor, _)| *tensor == Tensor::AttentionNorm) {
        metadata.add(Key::TokenTypeCount, OwnValue::U32(types));
    }
    ends(metadata, &family.tokenizer, &spec, &kind)?;
    metadata.add(Key::Tokens, OwnValue::Texts(table.tokens));
    let types = OwnValue::token_types(&table.kinds).map_err(failed)?;
    metadata.add(Key::TokenTypes, types);
    if leaves_out {
        let own = limit::formatted(format_args!("{}", Json(&spec))).map_err(failed)?;
        metadata.add(Key::OwnTokenizer, OwnValue::Text(own));
    } else {
        metadata.text(Key::OwnTokenizer, parts.settings);
    }
    Ok(())
}

fn failed(error: CoreError) -> Error {
    Error::in_file("tokenizer.json", error)
}

/// The added tokens that the model has vectors for: not those of images, for example.
fn with_vectors<'a>(
    added: &[AddedTokenSpec<'a>],
    tokenizer: &Pipeline,
    rows: usize,
) -> Result<Vec<AddedTokenSpec<'a>>, CoreError> {
    let mut kept = Vec::new();
    for token in added {
        let id = id_of(token, tokenizer)?.and_then(|id| usize::try_from(id).ok());
        if id.is_none_or(|id| id < rows) {
            limit::push(&mut kept, *token)?;
        }
    }
    Ok(kept)
}

fn id_of(token: &AddedTokenSpec<'_>, tokenizer: &Pipeline) -> Result<Option<u32>, CoreError> {
    let spelling = limit::formatted(format_args!("{}", token.content))?;
    Ok(tokenizer.id(&spelling))
}

fn unsaid() -> Error {
    let message = "GGUF has no words for the steps of the model's tokenizer.json";
    Error::input(ErrorKind::UnsupportedTokenizer, message)
}

/// The GGUF kind of a tokenizer.
fn kind(spec: &TokenizerSpec<'_>, is_roberta: bool) -> Result<Option<TokenizerKind>, CoreError> {
    Ok(match &spec.model.kind {
        ModelKind::WordPiece(_) => word_piece(spec),
        ModelKind::Unigram(_) => return unigram(spec),
        ModelKind::Words(_) => None,
        ModelKind::Bpe(bpe) if bpe.byte_fallback => pieces(spec),
        ModelKind::Bpe(bpe) => byte_level(spec, bpe.ignores_merges, is_roberta),
    })
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
fn unigram(spec: &TokenizerSpec<'_>) -> Result<Option<TokenizerKind>, CoreError> {
    let mut charsmap = None;
    for step in &spec.normalizer {
        match step.does {
            Normalizer::Precompiled(rules) if charsmap.is_none() => {
                let Some(bytes) = rule_bytes(rules)? else { return Ok(None) };
                charsmap = Some(bytes);
            }
            Normalizer::Precompiled(_) | Normalizer::Strip { .. } | Normalizer::Replace(_) => {}
            _ => return Ok(None),
        }
    }
    let charsmap = charsmap.unwrap_or_default();
    Ok(adds_prefix(spec).map(|adds_prefix| TokenizerKind::Unigram { charsmap, adds_prefix }))
}

fn rule_bytes(rules: Rules<'_>) -> Result<Option<Vec<u8>>, CoreError> {
    match rules {
        Rules::Base64(text) => base64::decode(&limit::formatted(format_args!("{text}"))?),
        Rules::Bytes(bytes) => limit::joined_bytes(&[bytes]).map(Some),
    }
}

/// Returns true if a space is put before texts; `None` if they are cut otherwise than SentencePiece
/// cuts them.
fn adds_prefix(spec: &TokenizerSpec<'_>) -> Option<bool> {
    let metaspace = match &spec.pre_tokenizer[..] {
        [one] | [SpelledStep { does: PreTokenizer::WhitespaceSplit, .. }, one] => one.does,
        _ => return None,
    };
    let PreTokenizer::Metaspace(Metaspace { replacement: '▁', prepends, .. }) = metaspace else {
        return None;
    };
    match prepends {
        Prepends::Always => Some(true),
        Prepends::Never => Some(false),
        Prepends::First => None,
    }
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
        let mut is_special: HashMap<u32, bool> = HashMap::new();
        for token in added {
            if let Some(id) = id_of(token, tokenizer).map_err(failed)? {
                hashed::insert(&mut is_special, id, token.special).map_err(failed)?;
            }
        }
        let own = tokenizer.parts().map_err(failed)?.tokens.len();
        if own > rows {
            let message =
                format!("the tokenizer has {own} tokens, but there are only {rows} word vectors");
            return Err(Error::input(ErrorKind::BadVocabulary, message));
        }
        let entry = |id| match tokenizer.token(id) {
            Some(token) => {
                let is_unknown = tokenizer.unknown() == Some(id);
                entry(&String::from_utf8_lossy(token), is_special.get(&id), is_unknown, kind)
            }
            None => Ok((limit::formatted(format_args!("[PAD{id}]"))?, PieceKind::Unused)),
        };
        let filled = || {
            let (mut tokens, mut kinds) = (limit::reserved(rows)?, limit::reserved(rows)?);
            for id in 0..u32::try_from(rows).unwrap_or(u32::MAX) {
                let (token, kind) = entry(id)?;
                tokens.push(token.into_bytes());
                kinds.push(kind);
            }
            Ok(Self { tokens, kinds })
        };
        filled().map_err(failed)
    }

    /// The scores of Unigram's pieces.
    fn scores(&self, parts: &PipelineParts<'_>) -> Result<Vec<f32>, CoreError> {
        #[expect(clippy::cast_possible_truncation, reason = "GGUF holds these as f32")]
        let score = |id: usize| {
            let score = parts.scores.as_ref().and_then(|scores| scores.get(id));
            score.map_or(0.0, |score| *score as f32)
        };
        limit::exactly((0..self.tokens.len()).map(score))
    }

    /// Scores that say in which order pieces are merged: that of a piece is the rank of the first
    /// merge that makes it, negated.
    fn ranks(&self, parts: &PipelineParts<'_>) -> Result<Vec<f32>, CoreError> {
        let spelled = |id: u32| {
            let id = usize::try_from(id).ok()?;
            parts.tokens.get(id).copied()
        };
        let ids = parts.tokens.iter().enumerate().map(|(id, token)| (*token, id));
        let ids: HashMap<&str, usize> = hashed::map(ids)?;
        let mut scores = limit::filled(self.tokens.len(), None)?;
        let mut both = String::new();
        for (rank, (left, right)) in parts.merges.iter().enumerate() {
            let Some((left, right)) = spelled(*left).zip(spelled(*right)) else { continue };
            both.clear();
            limit::write(&mut both, left)?;
            limit::write(&mut both, right)?;
            let made = ids.get(both.as_str());
            if let Some(score) = made.and_then(|id| scores.get_mut(*id)) {
                #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2²⁴")]
                score.get_or_insert(-(rank as f32));
            }
        }
        limit::exactly(scores.into_iter().map(Option::unwrap_or_default))
    }
}

/// A token as GGUF spells it, and its type. `special` is there for added tokens.
fn entry(
    token: &str,
    special: Option<&bool>,
    is_unknown: bool,
    kind: &TokenizerKind,
) -> Result<(String, PieceKind), CoreError> {
    use TokenizerKind::{MergedPieces, Pieces, Unigram, WordPiece};
    let of_kind = match (special, kind) {
        (_, Unigram { .. } | Pieces | MergedPieces) if is_unknown => PieceKind::Unknown,
        (Some(true), _) => PieceKind::Control,
        (Some(false), _) => PieceKind::UserDefined,
        (None, Pieces | MergedPieces) if byte_of(token.as_bytes()).is_some() => PieceKind::Byte,
        (None, _) => PieceKind::Normal,
    };
    let spelled = match (of_kind, kind) {
        (PieceKind::UserDefined, Pieces) => limit::replaced(token, SPACE, " "),
        (PieceKind::UserDefined | PieceKind::Normal, WordPiece { .. }) => phantom(token),
        _ => limit::copied(token),
    };
    Ok((spelled?, of_kind))
}

/// A token of WordPiece as llama.cpp has it: `▁` before what begins a word, nothing before what
/// goes on with one.
fn phantom(token: &str) -> Result<String, CoreError> {
    match token.strip_prefix("##") {
        Some(rest) => limit::copied(rest),
        None => limit::joined(&[SPACE, token]),
    }
}

/// The merges, a space between the tokens of each.
fn merges(parts: &PipelineParts<'_>) -> Result<Vec<Vec<u8>>, CoreError> {
    let spelled = |id: u32| {
        let token = usize::try_from(id).ok().and_then(|id| parts.tokens.get(id));
        token.copied().unwrap_or_default()
    };
    let merge = |(left, right): &(u32, u32)| {
        limit::joined(&[spelled(*left), " ", spelled(*right)]).map(String::into_bytes)
    };
    limit::gathered(parts.merges.iter().map(merge))
}

/// Adds the tokens around texts, and other special ones.
fn ends(
    metadata: &mut Metadata,
    tokenizer: &Pipeline,
    spec: &TokenizerSpec<'_>,
    kind: &TokenizerKind,
) -> Result<()> {
    let ends = spec.post_processor.ends().ok_or_else(|| {
        let message = "GGUF has words for one token before and one after texts, and the model's tokenizer.json has others";
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
