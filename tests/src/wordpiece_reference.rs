//! A simple WordPiece over a map, as its specification describes it: the reference for the core's.

use std::collections::HashMap;

use nanoembed_core::event::SpecialRole;
use nanoembed_core::token::special::MAX_SPECIAL_BYTES;
use nanoembed_core::token::words::TextWords;
use nanoembed_core::token::{MAX_WORD_CHARACTERS, Normalization, SpecialIds};

/// A tokenizer over strings in memory.
#[derive(Clone, Debug)]
pub struct Reference {
    ids: HashMap<Vec<u8>, u32>,
    special: SpecialIds,
    /// Spellings of the special tokens, in the order of their roles.
    spellings: Vec<(String, u32)>,
    normalization: Normalization,
}

impl Reference {
    /// A tokenizer over `tokens`, whose ids are their ordinals; the last of equal strings counts.
    #[must_use]
    pub fn new(tokens: &[Vec<u8>], special: SpecialIds, normalization: Normalization) -> Self {
        let ids = tokens.iter().cloned().zip(0..).collect();
        let spellings = SpecialRole::ALL
            .into_iter()
            .filter_map(|role| special.get(role))
            .filter_map(|id| {
                let spelling = String::from_utf8(tokens[id as usize].clone()).ok()?;
                let is_recognised = !spelling.is_empty() && spelling.len() <= MAX_SPECIAL_BYTES;
                is_recognised.then_some((spelling, id))
            })
            .collect();
        Self { ids, special, spellings, normalization }
    }

    /// The ids of `text` with the special tokens around them.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = vec![self.special.classify];
        let mut rest = text;
        while let Some((at, spelling, id)) = self.next_special(rest) {
            self.encode_piece(&rest[..at], &mut ids);
            ids.push(id);
            rest = &rest[at + spelling.len()..];
        }
        self.encode_piece(rest, &mut ids);
        ids.push(self.special.separate);
        ids
    }

    /// The leftmost special token; the longest of those, and then the one with the last role.
    fn next_special(&self, text: &str) -> Option<(usize, &str, u32)> {
        let found = self.spellings.iter().filter_map(|(spelling, id)| {
            text.find(spelling.as_str()).map(|at| (at, spelling.as_str(), *id))
        });
        found.reduce(|best, other| {
            let key =
                |&(at, spelling, _): &(usize, &str, u32)| (std::cmp::Reverse(at), spelling.len());
            if key(&other) >= key(&best) { other } else { best }
        })
    }

    fn encode_piece(&self, text: &str, ids: &mut Vec<u32>) {
        let mut words = TextWords::new(text, self.normalization);
        while let Some(word) = words.next_word() {
            let is_short = word.characters <= MAX_WORD_CHARACTERS;
            match self.spell(word.start).filter(|_| is_short) {
                Some(pieces) => ids.extend(pieces),
                None => ids.push(self.special.unknown),
            }
        }
    }

    fn spell(&self, word: &str) -> Option<Vec<u32>> {
        let mut pieces = Vec::new();
        let mut start = 0;
        while start < word.len() {
            let prefix = if start == 0 { "" } else { "##" };
            let ends = (start + 1..=word.len()).rev().filter(|&end| word.is_char_boundary(end));
            let (id, end) = ends
                .filter_map(|end| {
                    let piece = format!("{prefix}{}", &word[start..end]);
                    self.ids.get(piece.as_bytes()).map(|&id| (id, end))
                })
                .next()?;
            pieces.push(id);
            start = end;
        }
        Some(pieces)
    }
}
