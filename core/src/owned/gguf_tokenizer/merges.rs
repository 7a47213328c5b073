//! The merges of byte pairs: as a file lists them, or as the scores of a SentencePiece model mean
//! them.

use alloc::string::String;
use alloc::vec::Vec;

use super::vocabulary::Vocabulary;
use crate::describe::gguf::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::limit::{Limit, collected, push};
use crate::token::sentencepiece::PieceKind;

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);

/// Ids by token; of equal ones the first.
struct Index<'t>(Vec<(&'t str, u32)>);

impl<'t> Index<'t> {
    fn new(tokens: &'t [String]) -> Result<Self> {
        let mut index = collected((0..).zip(tokens).map(|(id, token)| (token.as_str(), id)))?;
        index.sort_unstable();
        index.dedup_by_key(|(token, _)| *token);
        Ok(Self(index))
    }

    fn get(&self, token: &str) -> Option<u32> {
        let place = self.0.binary_search_by_key(&token, |(token, _)| token).ok()?;
        self.0.get(place).map(|(_, id)| *id)
    }
}

/// The pairs of ids that the file lists, a space between the tokens of each.
pub(super) fn listed(file: &Gguf<'_>, tokens: &[String]) -> Result<Vec<(u32, u32)>> {
    let index = Index::new(tokens)?;
    let mut pairs = Vec::new();
    for merge in file.elements(Key::Merges.name()).into_iter().flatten() {
        let Value::Text(merge) = merge else { return Err(BAD) };
        let (left, right) = merge.split_once(' ').ok_or(BAD)?;
        let pair = index.get(left).zip(index.get(right)).ok_or(BAD)?;
        push(&mut pairs, pair)?;
    }
    Ok(pairs)
}

/// A merge of a SentencePiece model.
struct Merge {
    score: f64,
    /// Characters of the left and the right token.
    lengths: (usize, usize),
    /// What they make.
    id: usize,
    pair: (u32, u32),
}

/// The pairs of ids that a SentencePiece model of byte pairs merges: all that make a piece, the one
/// with the highest score first, as transformers converts such models.
pub(super) fn by_score(vocabulary: &Vocabulary) -> Result<Vec<(u32, u32)>> {
    let Vocabulary { tokens, scores, .. } = vocabulary;
    let index = Index::new(tokens)?;
    let mut merges: Vec<Merge> = Vec::new();
    for (id, token) in tokens.iter().enumerate() {
        let is_piece = matches!(vocabulary.kind(id), PieceKind::Normal | PieceKind::UserDefined);
        let Some(score) = scores.get(id).filter(|_| is_piece) else { continue };
        // There are as many ways to halve a piece as it is long.
        Limit::ADDED_TOKEN_BYTES.check_len(token.len())?;
        let characters = token.chars().count();
        for (left_characters, (at, _)) in token.char_indices().enumerate().skip(1) {
            let (left, right) = token.split_at(at);
            let Some((left, right)) = index.get(left).zip(index.get(right)) else { continue };
            let lengths = (left_characters, characters - left_characters);
            push(&mut merges, Merge { score: *score, lengths, id, pair: (left, right) })?;
        }
    }
    merges.sort_unstable_by(|a, b| {
        let by_score = b.score.total_cmp(&a.score).then(b.lengths.cmp(&a.lengths));
        by_score.then(a.id.cmp(&b.id)).then(a.pair.cmp(&b.pair))
    });
    collected(merges.iter().map(|merge| merge.pair))
}
