//! A text as a stream of normalised words: BERT's "basic tokenisation", in memory of a fixed size.

use super::added_words::{AddedEntry, AddedTable, AddedTokens, Search, characters, is_word};
use super::normalize::{Mapped, Normalization};
use super::special::Spellings;
use super::word::{LETTERS, LOWER_LETTERS, Word};

/// No added tokens.
const NONE: AddedTable<'static> = AddedTable { spellings: &[], entries: &[] };

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
    added: AddedTokens<'s>,
    /// Where the last token that was found as written ends.
    segment: usize,
    /// Within an added token that is no word of its own, others of its kind are not looked for.
    no_written_before: usize,
    no_normalized_before: usize,
    normalization: Normalization,
    pub(super) word: Word,
}

/// What lies at the scanner's position.
enum Ahead {
    Ascii(u8),
    Character(char),
    Special(Spelled),
    End,
}

impl<'t, 's> Scanner<'t, 's> {
    pub(super) const fn new(
        text: &'t str,
        normalization: Normalization,
        spellings: Option<&'s Spellings>,
        added: AddedTokens<'s>,
    ) -> Self {
        Self {
            text,
            position: 0,
            clear_until: 0,
            spellings,
            added,
            segment: 0,
            no_written_before: 0,
            no_normalized_before: 0,
            normalization,
            word: Word::new(),
        }
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
                Ahead::Special(Spelled { id, end, as_written }) if self.word.is_empty() => {
                    self.position = end;
                    if as_written {
                        self.segment = end;
                    }
                    return Some(Found::Special(id));
                }
                Ahead::End if self.word.is_empty() => return None,
                Ahead::Special(_) | Ahead::End => return Some(Found::Word),
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
            && let Some(special) = self.look_for_special()
        {
            return Ahead::Special(special);
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
    fn look_for_special(&mut self) -> Option<Spelled> {
        if !self.added.is_empty() {
            return self.look_for_added();
        }
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
        let (id, length) = special?;
        Some(Spelled { id, end: self.position.saturating_add(length), as_written: true })
    }

    /// As `look_for_special`, also for added tokens; `clear_until` is moved on by one character.
    fn look_for_added(&mut self) -> Option<Spelled> {
        let at = self.position;
        let rest = self.text.get(at..).unwrap_or_default();
        self.clear_until = at.saturating_add(rest.chars().next().map_or(0, char::len_utf8));
        if at >= self.no_written_before
            && let Some((found, is_fit)) = self.written_at(at)
        {
            if is_fit {
                self.clear_until = at;
                return Some(found);
            }
            self.no_written_before = found.end;
        }
        if at < self.no_normalized_before {
            return None;
        }
        let (entry, end) = self.normalized_at(at)?;
        if entry.single_word && !self.stands_alone(at, end) {
            self.no_normalized_before = end;
            return None;
        }
        self.clear_until = at;
        Some(Spelled { id: entry.id, end, as_written: false })
    }

    /// The longest token that is found as written at `at`, and whether it may stand there.
    fn written_at(&self, at: usize) -> Option<(Spelled, bool)> {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        let special = self.spellings.and_then(|spellings| spellings.at_start(rest));
        let added = self.added.written.longest(rest);
        let found = |id, length| Spelled { id, end: at.saturating_add(length), as_written: true };
        match (special, added) {
            (special, Some(entry)) if special.is_none_or(|it| it.1 < entry.bytes as usize) => {
                let found = found(entry.id, entry.bytes as usize);
                let before = self.text.get(..at).and_then(|text| text.chars().next_back());
                let after = self.text.get(found.end..).and_then(|text| text.chars().next());
                let is_fit = !entry.single_word || ![before, after].into_iter().flatten().any(is_word);
                Some((found, is_fit))
            }
            (Some((id, length)), _) => Some((found(id, length), true)),
            (None, _) => None,
        }
    }

    /// The longest token that the normalised text has at `at`, and where it ends in the text as it is.
    fn normalized_at(&self, at: usize) -> Option<(&'s AddedEntry, usize)> {
        let mut search = Search::new(self.added.normalized);
        let mut longest = None;
        let mut end = at;
        for c in self.text.get(at..)?.chars() {
            // A token that is found as written comes first.
            if end > at && matches!(self.written_at(end), Some((_, true))) {
                break;
            }
            end = end.saturating_add(c.len_utf8());
            let (mut is_left, mut is_something) = (true, false);
            characters(c, self.normalization, |c| {
                is_something = true;
                let mut room = [0; 4];
                let bytes = c.encode_utf8(&mut room).bytes();
                is_left = is_left && bytes.into_iter().all(|byte| search.step(byte));
            });
            if !is_left {
                break;
            }
            if is_something && let Some(entry) = search.complete() {
                longest = Some((entry, end));
            }
        }
        longest
    }

    /// Whether no letter or digit stands beside `start..end` in the normalised text between tokens found as written.
    fn stands_alone(&self, start: usize, end: usize) -> bool {
        let is_word_character = |c: char| {
            let mut last = None;
            characters(c, self.normalization, |c| last = Some(c));
            // Normalisation puts spaces around ideographs that stand alone.
            let alone = matches!(self.normalization.map(c), Mapped::Alone(c) if c.is_alphabetic());
            last.map(|c| is_word(c) && !alone)
        };
        let before = self.text.get(self.segment..start).unwrap_or_default();
        let before = before.chars().rev().find_map(is_word_character);
        let mut at = end;
        let mut after = None;
        for c in self.text.get(end..).unwrap_or_default().chars() {
            after = is_word_character(c);
            if matches!(self.written_at(at), Some((_, true))) {
                after = None;
                break;
            }
            if after.is_some() {
                break;
            }
            at = at.saturating_add(c.len_utf8());
        }
        !before.unwrap_or(false) && !after.unwrap_or(false)
    }
}

/// A token that the text spells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spelled {
    id: u32,
    /// One past its last byte in the text.
    end: usize,
    /// Whether it was found in the text as it is.
    as_written: bool,
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
        Self(Scanner::new(text, normalization, None, AddedTokens { written: NONE, normalized: NONE }))
    }

    /// The next word; `None` at the end of the text.
    pub fn next_word(&mut self) -> Option<NormalizedWord<'_>> {
        self.0.next()?;
        let word = &self.0.word;
        let start = core::str::from_utf8(word.bytes()).unwrap_or_default();
        Some(NormalizedWord { start, characters: word.characters() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that `text` has the `expected` words, separated by spaces.
    fn check(text: &str, normalization: Normalization, expected: &str) {
        let mut words = Words::new(text, normalization);
        for word in expected.split(' ').filter(|word| !word.is_empty()) {
            assert_eq!(words.next_word().map(|word| word.start), Some(word), "{text:?}");
        }
        assert_eq!(words.next_word(), None, "{text:?}");
    }

    #[test]
    fn accents_and_case_go_and_punctuation_stands_alone() {
        check("Héllo, WÖRLD!", Normalization::UNCASED, "hello , world !");
        check("Héllo, WÖRLD!", Normalization::CASED, "Héllo , WÖRLD !");
        check("İI", Normalization::UNCASED, "ii");
        check("İI", Normalization::new(true, Some(false)), "i\u{307}i");
        check("ΑΣ", Normalization::UNCASED, "ασ");
    }

    #[test]
    fn control_characters_vanish_within_words_and_spaces_of_all_kinds_separate() {
        check("a\0b\u{200B}c\u{B}d\u{FFFD}", Normalization::UNCASED, "abcd");
        check("\ta\u{A0}b\u{3000}c\n", Normalization::UNCASED, "a b c");
    }

    #[test]
    fn ideographs_stand_alone_and_syllables_fall_into_jamo() {
        check("a中国b", Normalization::UNCASED, "a 中 国 b");
        check("\u{F900}", Normalization::UNCASED, "\u{8C48}");
        check("각가", Normalization::UNCASED, "\u{1100}\u{1161}\u{11A8}\u{1100}\u{1161}");
        check("각", Normalization::CASED, "각");
        let joined = Normalization { split_ideographs: false, ..Normalization::UNCASED };
        check("a中国b", joined, "a中国b");
    }

    #[test]
    fn a_decomposition_may_leave_punctuation() {
        check("a\u{226E}b\u{37E}", Normalization::UNCASED, "a < b ;");
        check("a\u{226E}b\u{37E}", Normalization::CASED, "a\u{226E}b \u{37E}");
    }

    #[test]
    fn marks_that_stay_are_put_in_canonical_order() {
        // Combining classes 226, 224 and 216.
        let (after, middle, before) = ('\u{1D16D}', '\u{302E}', '\u{1D165}');
        let ordered = &format_marks(&['x', before, middle, middle, after]);
        check(
            &format_marks(&['x', after, middle, before, middle]),
            Normalization::UNCASED,
            ordered,
        );
        // U+0301 goes; U+0901 goes, too, but is a starter, which no mark passes.
        let barred = &format_marks(&['x', after, middle]);
        check(&format_marks(&['x', after, '\u{901}', middle]), Normalization::UNCASED, barred);
        let passed = &format_marks(&['x', middle, after]);
        check(&format_marks(&['x', after, '\u{301}', middle]), Normalization::UNCASED, passed);
    }

    fn format_marks(marks: &[char]) -> heapless::String<64> {
        let mut text = heapless::String::new();
        for mark in marks {
            text.push(*mark).unwrap();
        }
        text
    }

    #[test]
    fn characters_beyond_the_limit_are_counted_but_not_kept() {
        let text: heapless::String<600> = core::iter::repeat_n('a', 99)
            .chain(['é', '中'])
            .chain(core::iter::repeat_n('b', 120))
            .collect();
        let joined = Normalization { split_ideographs: false, ..Normalization::CASED };
        let mut words = Words::new(&text, joined);
        let word = words.next_word().unwrap();
        assert_eq!(word.characters, 221);
        assert_eq!(word.start.chars().count(), 100);
        assert!(word.start.ends_with("aé"));
        assert_eq!(words.next_word(), None);
    }
}
