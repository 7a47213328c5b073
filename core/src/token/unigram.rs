//! Unigram: the likeliest segmentation of a piece of text, as `Unigram::encode_optimized` of Hugging
//! Face `tokenizers` has it.
//!
//! A piece may be as long as a text, the memory lent is a window. When it is full, the ways that are
//! still open are followed back to where they part: what lies before is settled and makes room. The
//! ways through what people write part after some words; those through a letter that is repeated
//! without end need not, and such a piece is refused if it does not fit.
//!
//! Tokens that become bytes (`byte_fallback`) are not done here.

use super::lattice::{self, NOWHERE, Prefixes, Scored, Sum as _};
use super::sentencepiece::character_bytes;
use super::vocabulary::{Entries, HashVocabulary, Vocabulary as _};
use super::window::move_to_front;
use crate::error::{Error, ErrorKind, Result};
use crate::text::character::utf8;

/// The best way to a place in a window.
pub type Step = lattice::LatticeStep<f64>;

/// Set in the start of a [`Step`] while a place is one of those that open ways lead through.
const MARK: u32 = 1 << 31;

/// A character, at most.
const CHARACTER: usize = 4;

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// A model.
#[derive(Clone, Debug)]
pub struct Unigram<'a> {
    vocabulary: HashVocabulary<'a, Entries<'a>>,
    /// The scores of all tokens, 64-bit floats.
    scores: &'a [[u8; 8]],
    unknown: Option<u32>,
    /// The score of a character without a token.
    unknown_score: f64,
}

/// A window onto a piece: `steps` are one more than the bytes of `text`.
#[derive(Debug)]
pub struct Scratch<'s> {
    /// The bytes of the piece.
    pub text: &'s mut [u8],
    /// The ways to the places between them.
    pub steps: &'s mut [Step],
}

impl<'a> Unigram<'a> {
    /// The token for a character without one.
    pub(crate) const fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    /// A model of the tokens in `vocabulary`, with a score for each.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if there are not as many scores as tokens, if the unknown token
    /// is not one of them, or if scores would make unknown characters likelier than tokens.
    pub fn new(
        vocabulary: HashVocabulary<'a, Entries<'a>>,
        scores: &'a [[u8; 8]],
        unknown: Option<u32>,
    ) -> Result<Self> {
        let is_token = |id: u32| (id as usize) < scores.len();
        if vocabulary.count() as usize != scores.len() || !unknown.is_none_or(is_token) {
            return Err(BAD);
        }
        let all = scores.iter().map(|score| f64::from_le_bytes(*score));
        let least = all.fold(f64::INFINITY, |least, it| if it < least { it } else { least });
        let unknown_score = least.less_penalty();
        let model = Self { vocabulary, scores, unknown, unknown_score };
        // Several unknown characters are never likelier than the token that they spell together,
        // so that it need not be looked for when they become one.
        let is_sound = !scores.is_empty()
            && unknown_score < 0.0
            && unknown.is_none_or(|unknown| model.score(unknown) <= 0.0);
        if is_sound { Ok(model) } else { Err(BAD) }
    }

    /// Bytes that a window has at least if the longest token has so many: with them, it goes on
    /// wherever ways part.
    #[must_use]
    pub const fn window_for(longest: usize) -> usize {
        longest.saturating_add(CHARACTER).saturating_mul(2)
    }

    fn score(&self, id: u32) -> f64 {
        self.scores.get(id as usize).map_or(0.0, |score| f64::from_le_bytes(*score))
    }
}

/// A piece on its way through the window.
#[derive(Debug)]
pub(crate) struct Segmenter<'u, 's> {
    unigram: &'u Unigram<'u>,
    text: &'s mut [u8],
    steps: &'s mut [Step],
    /// Bytes of the piece in the window.
    filled: usize,
    /// Where the next character begins whose tokens have not been tried.
    next: usize,
    /// True if the last token is unknown: its unknown neighbours are part of it.
    is_unknown: bool,
}

impl<'u, 's> Segmenter<'u, 's> {
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if the window is smaller than it has to be.
    pub(crate) fn new(unigram: &'u Unigram<'u>, scratch: Scratch<'s>) -> Result<Self> {
        let Scratch { text, steps } = scratch;
        let is_enough = text.len() >= Unigram::window_for(unigram.vocabulary.longest_token())
            && steps.len() > text.len()
            && text.len() < MARK as usize;
        let first = steps.first_mut().filter(|_| is_enough).ok_or(TOO_SMALL)?;
        *first = Step::unreached();
        Ok(Self { unigram, text, steps, filled: 0, next: 0, is_unknown: false })
    }

    /// Adds a character to the piece, and calls `give` with the tokens that are settled.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`] if the window is full of ways that do not part;
    /// [`ErrorKind::BadVocabulary`] if the model has no token for what is unknown; what reading the
    /// vocabulary answers.
    pub(crate) fn push(&mut self, c: char, give: &mut dyn FnMut(u32)) -> Result<()> {
        if self.text.len().saturating_sub(self.filled) < CHARACTER {
            self.settle(give)?;
        }
        let room = self.text.get_mut(self.filled..).unwrap_or_default();
        let room = room.first_chunk_mut().ok_or(TOO_SMALL)?;
        let bytes = utf8(c, room).len();
        let places = self.steps.get_mut(self.filled.saturating_add(1)..).unwrap_or_default();
        for place in places.iter_mut().take(bytes) {
            *place = Step::unreached();
        }
        self.filled = self.filled.saturating_add(bytes);
        // What may begin there has been seen whole.
        let longest = self.unigram.vocabulary.longest_token();
        while self.next.saturating_add(longest).saturating_add(CHARACTER) <= self.filled {
            self.leave()?;
        }
        Ok(())
    }

    /// Ends the piece, and calls `give` with what is left of its tokens.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub(crate) fn end(&mut self, give: &mut dyn FnMut(u32)) -> Result<()> {
        while self.next < self.filled {
            self.leave()?;
        }
        self.give(self.filled, give);
        flush(self.unigram.unknown, &mut self.is_unknown, give);
        (self.filled, self.next) = (0, 0);
        if let Some(first) = self.steps.first_mut() {
            *first = Step::unreached();
        }
        Ok(())
    }

    /// Tries all tokens that begin with the next character.
    fn leave(&mut self) -> Result<()> {
        let (start, unigram) = (self.next, self.unigram);
        let rest = self.text.get(start..self.filled).unwrap_or_default();
        let bytes = rest.first().map_or(1, |first| character_bytes(*first));
        let unknown = unigram.unknown.unwrap_or(0);
        let unknown = Scored { id: unknown, bytes, score: unigram.unknown_score };
        if lattice::leave(self.steps, start, Rest { unigram, text: rest }, unknown)? {
            unigram.unknown.ok_or(BAD)?;
        }
        self.next = start.saturating_add(bytes);
        Ok(())
    }

    /// Gives the tokens that all open ways share, and moves what is after them to the front.
    fn settle(&mut self, give: &mut dyn FnMut(u32)) -> Result<()> {
        // With less, a text would be moved again and again.
        let worthwhile = self.text.len() / 8;
        let Some(parting) = self.parting().filter(|at| *at > worthwhile) else {
            return Err(Error::without_offset(ErrorKind::OverLimit));
        };
        self.give(parting, give);
        let moved = u32::try_from(parting).unwrap_or(0);
        for at in parting..=self.filled {
            let Some(step) = self.steps.get(at).copied() else { break };
            let other = match step.other {
                NOWHERE => NOWHERE,
                start => start.saturating_sub(moved),
            };
            if let Some(place) = self.steps.get_mut(at.saturating_sub(parting)) {
                *place = Step { other, ..step };
            }
        }
        if let Some(first) = self.steps.first_mut() {
            first.other = NOWHERE;
        }
        move_to_front(self.text, parting, self.filled);
        self.filled = self.filled.saturating_sub(parting);
        self.next = self.next.saturating_sub(parting);
        Ok(())
    }

    /// The last place that all open ways lead through: those to places that are reached and whose
    /// tokens have not been tried.
    fn parting(&mut self) -> Option<usize> {
        let mut open = 0_usize;
        let all = self.steps.get_mut(..=self.filled)?;
        for (at, step) in all.iter_mut().enumerate().skip(self.next) {
            if step.other != NOWHERE || at == self.next {
                step.other |= MARK;
                open = open.saturating_add(1);
            }
        }
        // From the last one on, each leads to where its token starts, until one is left.
        let mut at = self.filled;
        let mut parting = None;
        while parting.is_none() {
            let step = all.get_mut(at)?;
            if step.other & MARK != 0 && step.other != NOWHERE {
                step.other &= !MARK;
                if open == 1 {
                    parting = Some(at);
                    continue;
                }
                open = open.saturating_sub(1);
                let start = step.other as usize;
                let before = all.get_mut(start)?;
                if before.other & MARK == 0 || before.other == NOWHERE {
                    open = open.saturating_add(1);
                    before.other |= MARK;
                }
            }
            at = at.checked_sub(1)?;
        }
        parting
    }

    /// Gives the tokens of the best way to `end`.
    fn give(&mut self, end: usize, give: &mut dyn FnMut(u32)) {
        let unknown = self.unigram.unknown;
        for (_, id) in lattice::best(self.steps, end) {
            if Some(id) == unknown {
                self.is_unknown = true;
            } else {
                flush(unknown, &mut self.is_unknown, give);
                give(id);
            }
        }
    }
}

/// The rest of a window, which begins with tokens.
struct Rest<'u, 't> {
    unigram: &'u Unigram<'u>,
    text: &'t [u8],
}

impl Prefixes<f64> for Rest<'_, '_> {
    fn each(self, mut take: impl FnMut(Scored<f64>)) -> Result<()> {
        self.unigram.vocabulary.prefixes(self.text, |token| {
            let score = self.unigram.score(token.id);
            take(Scored { id: token.id, bytes: token.bytes, score });
        })
    }
}

/// Gives the unknown token if neighbours have become one.
fn flush(unknown: Option<u32>, is_unknown: &mut bool, give: &mut dyn FnMut(u32)) {
    if core::mem::take(is_unknown)
        && let Some(unknown) = unknown
    {
        give(unknown);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;
    use std::vec::Vec;
    use std::{format, vec};

    use super::*;
    use crate::token::LengthPrefix;

    /// The ids of pieces in a window of so many bytes.
    fn encode(tokens: &[(&str, f64)], window: usize, piece: &str) -> Result<Vec<u32>> {
        let (mut bytes, mut scores) = (Vec::new(), Vec::new());
        for (token, score) in tokens {
            bytes.extend(u16::try_from(token.len()).unwrap().to_le_bytes());
            bytes.extend(token.bytes());
            scores.push(score.to_le_bytes());
        }
        let count = u32::try_from(tokens.len()).unwrap();
        let mut samples = vec![0; Entries::samples_needed(count)];
        let entries = Entries::sample(&bytes, 0, count, LengthPrefix::U16, &mut samples)?;
        let mut slots = vec![0; HashVocabulary::<Entries<'_>>::slots_needed(count)];
        let vocabulary = HashVocabulary::build(entries, &mut slots)?;
        let unigram = Unigram::new(vocabulary, &scores, Some(0))?;
        let (mut text, mut steps) = (vec![0; window], vec![Step::default(); window + 1]);
        let scratch = Scratch { text: &mut text, steps: &mut steps };
        let mut segmenter = Segmenter::new(&unigram, scratch)?;
        let mut ids = Vec::new();
        // Twice: nothing of a piece is left behind its end.
        for _ in 0..2 {
            ids.clear();
            let give = &mut |id| ids.push(id);
            piece.chars().try_for_each(|c| segmenter.push(c, give))?;
            segmenter.end(give)?;
        }
        Ok(ids)
    }

    /// The same by trying all tokens at all places of the whole piece.
    fn tried(tokens: &[(&str, f64)], piece: &str) -> Vec<u32> {
        let least = tokens.iter().map(|it| it.1).fold(f64::INFINITY, f64::min);
        let mut best = vec![None::<(f64, u32, usize)>; piece.len() + 1];
        best[0] = Some((0.0, 0, 0));
        for (start, c) in piece.char_indices() {
            let sum = best[start].unwrap().0;
            let mut found: Vec<(usize, f64, u32)> = (0..)
                .zip(tokens)
                .filter(|(_, (token, _))| piece[start..].starts_with(token))
                .map(|(id, (token, score))| (token.len(), *score, id))
                .collect();
            found.sort_by_key(|it| it.0);
            if !found.iter().any(|it| it.0 == c.len_utf8()) {
                found.push((c.len_utf8(), least - 10.0, 0));
            }
            for (length, score, id) in found {
                let place = &mut best[start + length];
                if place.is_none_or(|(other, ..)| score + sum > other) {
                    *place = Some((score + sum, id, start));
                }
            }
        }
        let (mut ids, mut at) = (Vec::new(), piece.len());
        while at > 0 {
            let (_, id, start) = best[at].unwrap();
            ids.push(id);
            at = start;
        }
        ids.reverse();
        ids.dedup_by(|a, b| (*a, *b) == (0, 0));
        ids
    }

    const TOKENS: [(&str, f64); 12] = [
        ("<unk>", 0.0),
        ("a", -3.0),
        ("b", -3.5),
        ("ab", -4.25),
        ("abc", -6.1),
        ("bca", -5.0),
        ("é", -7.0),
        ("aé", -8.5),
        ("日本", -9.0),
        ("日", -8.0),
        ("本a", -8.75),
        ("cab", -5.75),
    ];

    #[test]
    fn a_window_gives_what_the_whole_piece_does() {
        let window = Unigram::window_for(6);
        let mut state = 7_u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        let letters = ['a', 'b', 'c', 'é', '日', '本', 'x', '\u{1F600}'];
        let mut refused = 0;
        for _ in 0..3000 {
            let length = random(120);
            let piece: String = (0..length).map(|_| letters[random(8) as usize]).collect();
            match encode(&TOKENS, window, &piece) {
                Ok(ids) => assert_eq!(ids, tried(&TOKENS, &piece), "{piece}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::OverLimit, "{piece}");
                    refused += 1;
                }
            }
        }
        assert!(refused < 100, "{refused}");
    }

    #[test]
    fn ways_that_never_part_are_refused_beyond_the_window() {
        let tokens = [("<unk>", 0.0), ("a", -2.0), ("aa", -2.5)];
        let window = 64;
        let expected = |count: usize| tried(&tokens, &"a".repeat(count));
        assert_eq!(encode(&tokens, window, &"a".repeat(61)).unwrap(), expected(61));
        let error = encode(&tokens, window, &"a".repeat(200)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OverLimit);
        // A letter that all ways lead through settles them.
        let piece = format!("{}b", "a".repeat(15)).repeat(40);
        assert_eq!(encode(&tokens, window, &piece).unwrap(), tried(&tokens, &piece));
    }

    #[test]
    fn scores_that_are_no_likelihoods_and_small_windows_are_refused() {
        let bad = |tokens: &[(&str, f64)]| encode(tokens, 64, "a").unwrap_err().kind();
        assert_eq!(bad(&[("<unk>", 1.0), ("a", -1.0)]), ErrorKind::BadVocabulary);
        assert_eq!(bad(&[("<unk>", 12.0), ("a", 11.0)]), ErrorKind::BadVocabulary);
        let small = encode(&TOKENS, Unigram::window_for(6) - 1, "a").unwrap_err();
        assert_eq!(small.kind(), ErrorKind::BufferTooSmall);
    }
}
