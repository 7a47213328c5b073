//! Made-up texts to calibrate with, beside real ones: they reach inputs of a model that a thousand
//! sentences do not.
//!
//! Users embed more than sentences: single letters, numbers, one word a hundred times, characters
//! that no vocabulary has. The errors of a model that was calibrated with sentences alone are
//! largest there. Tokens are drawn with a fixed seed, early ones more often, as vocabularies begin
//! with the frequent ones.

use nanoembed_core::{Error, limit};

use crate::checkpoint::vocabulary::WordPieceVocabulary;

/// Texts of tokens that have nothing to do with each other, and the most tokens of one.
const WORDS: (usize, usize) = (800, 24);
/// Texts that repeat one to four tokens, and how long they get.
const REPEATED: (usize, usize) = (60, 50);
/// Texts that repeat a few tokens until the model's limit.
const LONG: usize = 8;
/// Texts of single characters, and the most of one.
const CHARACTERS: (usize, usize) = (120, 20);
/// Texts of special tokens among others, and the most tokens of one.
const SPECIAL: (usize, usize) = (60, 8);
/// The empty text so many times: many texts are nothing but what no vocabulary has.
const EMPTY: usize = 4;
/// The most tokens of a long one.
const LONGEST: usize = 256;

/// Token ids of made-up texts for a model with `vocabulary` and room for `max_tokens`.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(super) fn probes(
    vocabulary: &WordPieceVocabulary,
    max_tokens: usize,
) -> Result<Vec<Vec<u32>>, Error> {
    let [_, _, begin, end, _] = vocabulary.special;
    let room = max_tokens.min(LONGEST).saturating_sub(2);
    let mut draw = Draw::new(vocabulary)?;
    let mut texts: Vec<Vec<u32>> = Vec::new();
    let mut add = |text: &mut dyn Iterator<Item = u32>| {
        let text = text.take(room);
        let closed = std::iter::once(begin).chain(text).chain(std::iter::once(end));
        limit::push(&mut texts, limit::collected(closed)?)
    };
    for _ in 0..WORDS.0 {
        let count = draw.up_to(WORDS.1);
        let words = draw.words(count)?;
        add(&mut words.into_iter())?;
    }
    for index in 0..REPEATED.0 + LONG {
        let count = draw.up_to(4);
        let words = draw.words(count)?;
        let length = if index < LONG { room } else { draw.up_to(REPEATED.1) };
        add(&mut words.into_iter().cycle().take(length))?;
    }
    for _ in 0..CHARACTERS.0 {
        let count = draw.up_to(CHARACTERS.1);
        let characters: Vec<u32> = limit::exactly((0..count).map(|_| draw.character()))?;
        add(&mut characters.into_iter())?;
    }
    for _ in 0..SPECIAL.0 {
        let count = draw.up_to(SPECIAL.1);
        let tokens: Vec<u32> = limit::exactly((0..count).map(|_| draw.special_or_word()))?;
        add(&mut tokens.into_iter())?;
    }
    (0..EMPTY).try_for_each(|_| add(&mut std::iter::empty()))?;
    Ok(texts)
}

/// Draws tokens.
struct Draw {
    state: u64,
    /// Tokens that are no special ones, single characters, and special ones.
    words: Vec<u32>,
    characters: Vec<u32>,
    special: [u32; 5],
}

impl Draw {
    fn new(vocabulary: &WordPieceVocabulary) -> Result<Self, Error> {
        let is_reserved = |token: &[u8]| token.starts_with(b"[") && token.ends_with(b"]");
        let is_character =
            |token: &[u8]| std::str::from_utf8(token).is_ok_and(|text| text.chars().count() == 1);
        let tokens = || (0_u32..).zip(vocabulary.tokens.iter().map(Vec::as_slice));
        let words = tokens().filter(|(_, token)| token.len() == 1 || !is_reserved(token));
        let characters = tokens().filter(|(_, token)| is_character(token));
        Ok(Self {
            state: 7,
            words: limit::collected(words.map(|(id, _)| id))?,
            characters: limit::collected(characters.map(|(id, _)| id))?,
            special: vocabulary.special,
        })
    }

    /// Uniform in 0 … 1, from a linear congruential generator (Knuth's MMIX).
    #[expect(clippy::cast_precision_loss, reason = "32 bits of the state")]
    fn uniform(&mut self) -> f64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 32) as f64 / (1_u64 << 32) as f64
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small, and not negative"
    )]
    fn below(&mut self, count: usize, power: i32) -> usize {
        (self.uniform().powi(power) * count as f64) as usize
    }

    /// 1 … `most`.
    fn up_to(&mut self, most: usize) -> usize {
        1 + self.below(most, 1)
    }

    fn words(&mut self, count: usize) -> Result<Vec<u32>, Error> {
        limit::exactly((0..count).map(|_| self.word()))
    }

    /// A token; those of the vocabulary's beginning more often.
    fn word(&mut self) -> u32 {
        let place = self.below(self.words.len(), 2);
        self.words.get(place).copied().unwrap_or(self.special[1])
    }

    fn character(&mut self) -> u32 {
        let place = self.below(self.characters.len(), 1);
        self.characters.get(place).copied().unwrap_or(self.special[1])
    }

    /// Mostly the unknown token.
    fn special_or_word(&mut self) -> u32 {
        match self.below(10, 1) {
            0..5 => self.special[1],
            5..8 => self.special[self.below(5, 1)],
            _ => self.word(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_the_same_each_time_and_fit_the_model() {
        let tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "[", "word", "##s"];
        let vocabulary = WordPieceVocabulary {
            tokens: tokens.iter().map(|token| token.as_bytes().to_vec()).collect(),
            special: [0, 1, 2, 3, 4],
            added: Vec::new(),
        };
        let all = probes(&vocabulary, 16).unwrap();
        assert_eq!(all, probes(&vocabulary, 16).unwrap());
        assert!(all.iter().all(|text| (2..=16).contains(&text.len())));
        assert!(all.iter().all(|text| text.first() == Some(&2) && text.last() == Some(&3)));
        let seen: std::collections::HashSet<u32> = all.into_iter().flatten().collect();
        assert_eq!(seen.len(), tokens.len(), "every token is drawn at some time");
    }
}
