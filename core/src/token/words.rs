//! A text as a stream of normalised words: BERT's "basic tokenisation", in memory of a fixed size.

use super::added::{AddedRules, AddedToken};
use super::added_words::{AddedTokens, characters};
use super::normalize::{Mapped, Normalization};
use super::special::Spellings;
use super::word::{LETTERS, LOWER_LETTERS, Word};
use super::word_characters::is_word_character;
use crate::text::character::utf8;

/// How far ahead special tokens are looked for at a time, in bytes.
const WINDOW_BYTES: usize = 1024;

/// A part of a text.
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
    /// The next token that is found as written, if it has been looked for.
    written: Option<Spelled>,
    /// Where to look for the one after it.
    searched_until: usize,
    /// Within a normalised token that is no word of its own, others are not looked for.
    no_normalized_before: usize,
    normalization: Normalization,
    pub(super) word: Word,
}

/// The next part at the scanner's position.
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
            written: None,
            searched_until: 0,
            no_normalized_before: 0,
            normalization,
            word: Word::new(),
        }
    }

    /// Moves to the next word or special token; `None` at the end of the text. `adds` says whether
    /// added tokens are looked for.
    pub(super) fn next(&mut self, adds: bool) -> Option<Found> {
        self.word.clear();
        loop {
            let (mapped, length) = match self.ahead(adds) {
                Ahead::Ascii(byte) if byte.is_ascii_alphanumeric() => {
                    self.ascii_run();
                    continue;
                }
                Ahead::Ascii(byte) => (map_ascii(byte), 1),
                Ahead::Character(c) => (self.normalization.map(c), c.len_utf8()),
                Ahead::Special(Spelled { id, end, as_written, .. }) if self.word.is_empty() => {
                    self.position = end;
                    if as_written {
                        self.segment = end;
                        self.written = None;
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

    fn ahead(&mut self, adds: bool) -> Ahead {
        if self.position >= self.clear_until
            && let Some(special) = self.look_for_special(adds)
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
    fn look_for_special(&mut self, adds: bool) -> Option<Spelled> {
        if adds && !self.added.is_empty() {
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
        let (start, end) = (self.position, self.position.saturating_add(length));
        Some(Spelled { id, start, end, as_written: true })
    }

    /// As `look_for_special`, also for added tokens.
    fn look_for_added(&mut self) -> Option<Spelled> {
        let at = self.position;
        let written = self.next_written();
        if at >= written.start {
            self.clear_until = at;
            return Some(written);
        }
        // No normalised token reaches into one that is found as written.
        let limit = written.start.min(self.text.len());
        if self.added.normalized.is_empty() {
            self.clear_until = limit;
            return None;
        }
        let rest = self.text.get(at..limit).unwrap_or_default();
        self.clear_until = at.saturating_add(rest.chars().next().map_or(0, char::len_utf8));
        if at < self.no_normalized_before {
            return None;
        }
        let (token, length) = self.normalized_at_start(rest)?;
        let end = at.saturating_add(length);
        let following = self.text.get(end..limit).unwrap_or_default();
        if token.rules().single_word && !self.stands_alone(at, following) {
            self.no_normalized_before = end;
            return None;
        }
        // The white space beside it is no word, whether the token takes it or not.
        self.clear_until = at;
        Some(Spelled { id: token.id(), start: at, end, as_written: false })
    }

    /// The next token that is found as written; it starts beyond the text if there is none. Each
    /// part of the text is searched once.
    fn next_written(&mut self) -> Spelled {
        if let Some(written) = self.written {
            return written;
        }
        let mut found = Spelled { id: 0, start: usize::MAX, end: usize::MAX, as_written: true };
        while let Some((id, rules, start, length)) = self.spelled_from(self.searched_until) {
            let end = start.saturating_add(length);
            self.searched_until = end;
            if let Some((start, end)) = rules.extent(self.text, self.segment, start, end) {
                found = Spelled { id, start, end, as_written: true };
                break;
            }
        }
        self.written = Some(found);
        found
    }

    /// The first place from `from` on that spells a special or added token, of several the longest:
    /// its id, its rules, where it starts and its length.
    fn spelled_from(&self, from: usize) -> Option<(u32, AddedRules, usize, usize)> {
        let text = self.text.as_bytes();
        (from..text.len()).find_map(|start| {
            let rest = text.get(start..)?;
            let special = self.spellings.and_then(|spellings| spellings.at_start(rest));
            match (special, self.added.written.at_start(rest)) {
                (special, Some(token)) if special.is_none_or(|it| it.1 < token.bytes()) => {
                    Some((token.id(), token.rules(), start, token.bytes()))
                }
                (special, _) => special.map(|it| (it.0, AddedRules::default(), start, it.1)),
            }
        })
    }

    /// The longest token that normalisation makes of the start of `text`, and how much of it that
    /// is.
    fn normalized_at_start(&self, text: &str) -> Option<(AddedToken, usize)> {
        let mut search = self.added.normalized.search();
        let (mut longest, mut end, mut is_begun) = (None, 0_usize, false);
        for c in text.chars() {
            end = end.saturating_add(c.len_utf8());
            let (mut is_left, mut is_something) = (true, false);
            characters(c, self.normalization, |c| {
                is_something = true;
                let mut room = [0; 4];
                let bytes = utf8(c, &mut room).bytes();
                is_left = is_left && bytes.into_iter().all(|byte| search.step(byte));
            });
            is_begun = is_begun || is_something;
            // A token begins with a character of which something is left, so that a run of others
            // is not read again and again.
            if !(is_left && is_begun) {
                break;
            }
            if is_something && let Some(token) = search.complete() {
                longest = Some((token, end));
            }
        }
        longest
    }

    /// Returns true if a token that starts at `start`, before `following`, has no letter or digit
    /// beside it in the normalised text between tokens found as written.
    fn stands_alone(&self, start: usize, following: &str) -> bool {
        let is_word = |c: char| {
            let mut last = None;
            characters(c, self.normalization, |c| last = Some(c));
            // Normalisation puts spaces around ideographs that stand alone.
            last.map(|last| is_word_character(last) && !self.normalization.isolates(c))
        };
        let before = self.text.get(self.segment..start).unwrap_or_default();
        let before = before.chars().rev().find_map(is_word);
        let after = following.chars().find_map(is_word);
        !before.unwrap_or(false) && !after.unwrap_or(false)
    }
}

/// A token that the text spells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spelled {
    id: u32,
    /// Where what it takes of the text begins.
    start: usize,
    /// Where that ends.
    end: usize,
    /// True if it was found in the text as it is.
    as_written: bool,
}

/// The result for an ASCII character that is neither letter nor digit.
fn map_ascii(byte: u8) -> Mapped {
    match byte {
        b'\t' | b'\n' | b'\r' | b' ' => Mapped::Space,
        0..=31 | 127 => Mapped::Nothing,
        _ => Mapped::Alone(char::from(byte)),
    }
}

/// The normalised words of a text, for those who want to see them; special tokens are not looked
/// for.
#[derive(Clone)]
pub struct TextWords<'t>(Scanner<'t, 't>);

/// A word in normalised form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NormalizedWord<'w> {
    /// The first [`MAX_WORD_CHARACTERS`](super::MAX_WORD_CHARACTERS) characters.
    pub start: &'w str,
    /// The number of all characters.
    pub characters: usize,
}

impl<'t> TextWords<'t> {
    /// Words of `text`.
    #[must_use]
    pub const fn new(text: &'t str, normalization: Normalization) -> Self {
        Self(Scanner::new(text, normalization, None, AddedTokens::NONE))
    }

    /// The next word; `None` at the end of the text.
    pub fn next_word(&mut self) -> Option<NormalizedWord<'_>> {
        self.0.next(false)?;
        let word = &self.0.word;
        let start = core::str::from_utf8(word.bytes()).unwrap_or_default();
        Some(NormalizedWord { start, characters: word.characters() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::added::AddedTable;
    use super::*;

    /// Asserts that `text` has the `expected` words, separated by spaces.
    fn check(text: &str, normalization: Normalization, expected: &str) {
        let mut words = TextWords::new(text, normalization);
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
        let mut words = TextWords::new(&text, joined);
        let word = words.next_word().unwrap();
        assert_eq!(word.characters, 221);
        assert_eq!(word.start.chars().count(), 100);
        assert!(word.start.ends_with("aé"));
        assert_eq!(words.next_word(), None);
    }

    /// The ids of the added tokens in `text`, where those of one table are found as written and
    /// those of the other in normalised text.
    fn added(
        text: &str,
        written: (&str, AddedRules),
        normalized: (&str, AddedRules),
    ) -> heapless::Vec<u32, 9> {
        let token = |id, (spelling, rules): (&str, _)| {
            [AddedToken::new(0, spelling.len(), id, rules).unwrap()]
        };
        let (mut first, mut second) = (token(1, written), token(2, normalized));
        let added = AddedTokens {
            written: AddedTable::build(written.0.as_bytes(), &mut first).unwrap(),
            normalized: AddedTable::build(normalized.0.as_bytes(), &mut second).unwrap(),
        };
        let mut scanner = Scanner::new(text, Normalization::UNCASED, None, added);
        let mut ids = heapless::Vec::new();
        while let Some(found) = scanner.next(true) {
            ids.push(if let Found::Special(id) = found { id } else { 0 }).unwrap();
        }
        ids
    }

    #[test]
    fn tokens_as_written_come_before_normalised_ones_and_take_their_white_space() {
        let (rules, none) = (AddedRules::default(), AddedRules::default());
        assert_eq!(added("the AB x", ("AB", rules), ("ab x", none)), [0, 1, 0]);
        assert_eq!(added("the ab X", ("AB", rules), ("ab x", none)), [0, 2]);
        // What one takes is not there for the other.
        assert_eq!(added("AB x x", ("AB", rules), (" x", none)), [1, 2, 2]);
        let strips = AddedRules { strips_after: true, ..rules };
        assert_eq!(added("AB x x", ("AB", strips), (" x", none)), [1, 0, 2]);
        // One that may not stand in a word hides those in it, but not the normalised ones.
        let word = AddedRules { single_word: true, ..rules };
        assert_eq!(added("xAB AB", ("AB", word), ("zz", none)), [0, 1]);
        assert_eq!(added("xAB AB", ("AB", word), ("xa", word)), [0, 1]);
        assert_eq!(added("\u{200B}x\u{200B}a\u{200B} AB", ("AB", word), ("xa", word)), [2, 1]);
    }
}
