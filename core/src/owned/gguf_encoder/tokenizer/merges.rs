//! The merges of byte pairs: as a file lists them, or as the scores of a SentencePiece model mean
//! them.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::vocabulary::Vocabulary;
use crate::describe::gguf::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::limit::{Limit, reserve};
use crate::token::sentencepiece::PieceKind;

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);

/// Ids by token.
fn index(tokens: &[String]) -> BTreeMap<&str, u32> {
    let mut index = BTreeMap::new();
    for (id, token) in (0..).zip(tokens) {
        index.entry(token.as_str()).or_insert(id);
    }
    index
}

/// The pairs of ids that the file lists, a space between the tokens of each.
pub(super) fn listed(file: &Gguf<'_>, tokens: &[String]) -> Result<Vec<(u32, u32)>> {
    let index = index(tokens);
    let mut pairs = Vec::new();
    for merge in file.elements(Key::Merges.name()).into_iter().flatten() {
        let Value::Text(merge) = merge else { return Err(BAD) };
        let (left, right) = merge.split_once(' ').ok_or(BAD)?;
        let pair = index.get(left).zip(index.get(right)).ok_or(BAD)?;
        if pairs.len() == pairs.capacity() {
            let more = pairs.len().max(16);
            reserve(&mut pairs, more)?;
        }
        pairs.push((*pair.0, *pair.1));
    }
    Ok(pairs)
}

/// A merge of a SentencePiece model.
struct Merge {
    score: f64,
    /// Characters of the left and the right token.
    lengths: (usize, usize),
    pair: (u32, u32),
}

/// The pairs of ids that a SentencePiece model of byte pairs merges: all that make a piece, the one
/// with the highest score first, as transformers converts such models.
pub(super) fn of_scores(vocabulary: &Vocabulary) -> Result<Vec<(u32, u32)>> {
    let Vocabulary { tokens, scores, .. } = vocabulary;
    let index = index(tokens);
    let mut merges: Vec<Merge> = Vec::new();
    for (id, token) in tokens.iter().enumerate() {
        let is_piece = matches!(vocabulary.kind(id), PieceKind::Normal | PieceKind::UserDefined);
        let Some(score) = scores.get(id).filter(|_| is_piece) else { continue };
        // There are as many ways to halve a piece as it is long.
        Limit::ADDED_TOKEN_BYTES.check_len(token.len())?;
        let before = merges.len();
        let characters = token.chars().count();
        for (left_characters, (at, _)) in token.char_indices().enumerate().skip(1) {
            let (left, right) = token.split_at(at);
            let Some((left, right)) = index.get(left).zip(index.get(right)) else { continue };
            if merges.len() == merges.capacity() {
                let more = merges.len().max(16);
                reserve(&mut merges, more)?;
            }
            let lengths = (left_characters, characters - left_characters);
            merges.push(Merge { score: *score, lengths, pair: (*left, *right) });
        }
        merges[before..].sort_by_key(|merge| merge.pair);
    }
    merges.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.lengths.cmp(&a.lengths)));
    Ok(merges.into_iter().map(|merge| merge.pair).collect())
}
