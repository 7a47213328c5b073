//! A text as a stream of normalised words: BERT's "basic tokenisation", in memory of a fixed size.

use super::normalize::{Mapped, Normalization};
use super::special::Spellings;
use super::word::{LETTERS, LOWER_LETTERS, Word};

/// How far ahead special tokens are looked for at a time, in bytes.
const WINDOW_BYTES: usize = 1024;

/// What a text consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The word that [`Scanner::word`] now holds; never empty.
    Word,
    /// A special token that the text spells out.
    Special(u32),
}

/// Reads a text once, forwards.
#[derive(Clone)]
pub(super) struct Scanner<'t, 's> {
    text: &'t str,
    /// The next byte to be read; on a character boundary.
    position: usize,
    /// No special token begins between `position` and here.
    clear_until: usize,
    spellings: Option<&'s Spellings>,
    normalization: Normalization,
    pub(super) word: Word,
}

/// What lies at the scanner's position.
enum Ahead {
    Ascii(u8),
    Character(char),
    Special(u32, usize),
    End,
}

impl<'t, 's> Scanner<'t, 's> {
    pub(super) const fn new(
        text: &'t str,
        normalization: Normalization,
        spellings: Option<&'s Spellings>,
    ) -> Self {
        Self { text, position: 0, clear_until: 0, spellings, normalization, word: Word::new() }
    }

    /// Moves to the next word or special token; `None` at the end of the text.
    pub(super) fn next(&mut self) -> Option<Found> {
        self.word.clear();
        loop {
            let (mapped, length) = match self.ahead() {
                Ahead::Ascii(byte) if byte.is_ascii_alphanumeric() => {
                    self.ascii_run();
                    continue;
                }
                Ahead::Ascii(byte) => (map_ascii(byte), 1),
                Ahead::Character(c) => (self.normalization.map(c), c.len_utf8()),
                Ahead::Special(id, length) if self.word.is_empty() => {
                    self.position = self.position.saturating_add(length);
                    return Some(Found::Special(id));
                }
                Ahead::End if self.word.is_empty() => return None,
                Ahead::Special(..) | Ahead::End => return Some(Found::Word),
            };
            if matches!(mapped, Mapped::Alone(_)) && !self.word.is_empty() {
                // Comes again as the next word.
                return Some(Found::Word);
            }
            self.position = self.position.saturating_add(length);
            if self.take(mapped) {
                return Some(Found::Word);
            }
        }
    }

    /// Adds to the word what a character became; answers whether the word has ended.
    fn take(&mut self, mapped: Mapped) -> bool {
        match mapped {
            Mapped::Nothing => false,
            Mapped::Barrier => {
                self.word.set_barrier();
                false
            }
            Mapped::Space => !self.word.is_empty(),
            Mapped::Letter(c) => {
                self.word.push(c);
                false
            }
            Mapped::Mark(c) => {
                self.word.push_mark(c);
                false
            }
            Mapped::Alone(c) => {
                self.word.push(c);
                true
            }
            Mapped::Several(parts) => {
                for part in parts.into_iter().filter(|&part| part != '\0') {
                    match self.normalization.part(part) {
                        Mapped::Mark(c) => self.word.push_mark(c),
                        Mapped::Letter(c) => self.word.push(c),
                        // The tables hold no such decomposition.
                        _ => {}
                    }
                }
                false
            }
        }
    }

    /// Takes as many ASCII letters and digits as follow.
    fn ascii_run(&mut self) {
        let clear = self.text.as_bytes().get(self.position..self.clear_until).unwrap_or_default();
        let table = if self.normalization.lower_case { &LOWER_LETTERS } else { &LETTERS };
        self.position = self.position.saturating_add(self.word.push_ascii(clear, table));
    }

    fn ahead(&mut self) -> Ahead {
        if self.position >= self.clear_until
            && let Some((id, length)) = self.look_for_special()
        {
            return Ahead::Special(id, length);
        }
        match self.text.as_bytes().get(self.position) {
            None => Ahead::End,
            Some(byte) if byte.is_ascii() => Ahead::Ascii(*byte),
            Some(_) => {
                let rest = self.text.get(self.position..).unwrap_or_default();
                rest.chars().next().map_or(Ahead::End, Ahead::Character)
            }
        }
    }

    /// The special token at the position, or none and `clear_until` moved on by at least a byte.
    fn look_for_special(&mut self) -> Option<(u32, usize)> {
        let rest = self.text.as_bytes().get(self.position..).unwrap_or_default();
        let Some(spellings) = self.spellings else {
            self.clear_until = self.text.len();
            return None;
        };
        let special = spellings.at_start(rest);
        if special.is_none() {
            let after = rest.get(1..).unwrap_or_default();
            let clear = spellings.clear_bytes(after, WINDOW_BYTES).saturating_add(1);
            self.clear_until = self.position.saturating_add(clear).min(self.text.len());
        }
        special
    }
}

/// What becomes of an ASCII character that is neither letter nor digit.
fn map_ascii(byte: u8) -> Mapped {
    match byte {
        b'\t' | b'\n' | b'\r' | b' ' => Mapped::Space,
        0..=31 | 127 => Mapped::Nothing,
        _ => Mapped::Alone(char::from(byte)),
    }
}

/// The normalised words of a text, for those who want to see them; special tokens are not looked for.
#[derive(Clone)]
pub struct Words<'t>(Scanner<'t, 't>);

/// A word in normalised form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NormalizedWord<'w> {
    /// The first [`MAX_WORD_CHARACTERS`](super::MAX_WORD_CHARACTERS) characters.
    pub start: &'w str,
    /// The number of all characters.
    pub characters: usize,
}

impl<'t> Words<'t> {
    /// Words of `text`.
    #[must_use]
    pub const fn new(text: &'t str, normalization: Normalization) -> Self {
        Self(Scanner::new(text, normalization, None))
    }

    /// The next word; `None` at the end of the text.
    pub fn next_word(&mut self) -> Option<NormalizedWord<'_>> {
        self.0.next()?;
        let word = &self.0.word;
        let start = core::str::from_utf8(word.bytes()).unwrap_or_default();
        Some(NormalizedWord { start, characters: word.characters() })
    }
}
