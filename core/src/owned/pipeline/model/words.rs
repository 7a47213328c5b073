//! Whole words: those of a text that are in the vocabulary, as the `WhitespaceTokenizer` of
//! sentence-transformers looks them up; others are dropped.
//!
//! A word is looked up as it is, then without punctuation at its ends, then in lower case. It is
//! dropped at the first of these spellings that is a stop word.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::{filled, push, write};
use crate::owned::pipeline::tokens::TokenStrings;
use crate::text::character::utf8;
use crate::token::spec;
use crate::token::vocabulary::HashIndex;
use crate::token::{HashVocabulary, Vocabulary};

/// A model of whole words.
#[derive(Clone, Debug)]
pub(in crate::owned::pipeline) struct Words {
    words: WordIndex,
    stop_words: TokenStrings,
    stop_index: WordIndex,
    lowercases: bool,
}

/// The spelling of a word.
enum Known {
    Stop,
    Token(u32),
    No,
}

impl Words {
    pub(super) fn new(tokens: &TokenStrings, settings: &spec::Words<'_>) -> Result<Self> {
        let list = || settings.stop_words.items().filter_map(|word| word.as_text());
        let bytes = list().map(str::len).sum();
        let mut stop_words = TokenStrings::with_room(list().count(), bytes)?;
        list().try_for_each(|word| stop_words.push_spelled(word))?;
        Ok(Self {
            words: WordIndex::new(tokens)?,
            stop_index: WordIndex::new(&stop_words)?,
            stop_words,
            lowercases: settings.lowercases,
        })
    }

    /// The id of a word as it is.
    pub(super) fn find(&self, tokens: &TokenStrings, word: &str) -> Option<u32> {
        self.words.find(tokens, word)
    }

    pub(super) fn encode(
        &self,
        tokens: &TokenStrings,
        text: &str,
        lowered: &mut String,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        for word in text.split(is_space).filter(|word| !word.is_empty()) {
            let known = if self.lowercases {
                lower(word, lowered)?;
                self.look_up_bare(tokens, lowered)
            } else {
                match self.look_up_bare(tokens, word) {
                    Known::No => {
                        lower(bare(word), lowered)?;
                        self.look_up(tokens, lowered)
                    }
                    known => known,
                }
            };
            if let Known::Token(id) = known {
                push(ids, id)?;
            }
        }
        Ok(())
    }

    /// Looks up a word as it is, then without punctuation at its ends.
    fn look_up_bare(&self, tokens: &TokenStrings, word: &str) -> Known {
        match self.look_up(tokens, word) {
            Known::No => self.look_up(tokens, bare(word)),
            known => known,
        }
    }

    fn look_up(&self, tokens: &TokenStrings, word: &str) -> Known {
        match self.stop_index.find(&self.stop_words, word) {
            Some(_) => Known::Stop,
            None => self.find(tokens, word).map_or(Known::No, Known::Token),
        }
    }
}

/// An index of words. Of equal ones the last counts.
#[derive(Clone, Debug)]
struct WordIndex {
    slots: Vec<u32>,
    index: HashIndex,
}

impl WordIndex {
    fn new(words: &TokenStrings) -> Result<Self> {
        let needed = HashVocabulary::<&TokenStrings>::slots_needed(words.len() as u32);
        let mut slots = filled(needed, 0)?;
        let index = HashVocabulary::build(words, &mut slots)?.index();
        Ok(Self { slots, index })
    }

    fn find(&self, words: &TokenStrings, word: &str) -> Option<u32> {
        let vocabulary = HashVocabulary::resume(words, &self.slots, self.index);
        if word.is_empty() { None } else { vocabulary.find(word.as_bytes()).ok().flatten() }
    }
}

/// The word without punctuation at its ends.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| c.is_ascii_punctuation())
}

/// Returns true for the characters that Python's `str.split` takes for spaces.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c)
}

/// Writes `word` to `out` in lower case as Python's `str.lower` does it.
fn lower(word: &str, out: &mut String) -> Result<()> {
    const SIGMA: char = 'Σ';
    out.clear();
    for (place, c) in word.char_indices() {
        if c == SIGMA {
            let after = word.get(place + c.len_utf8()..).unwrap_or_default();
            let ends_word = ends_word(word.get(..place).unwrap_or_default(), after);
            write(out, if ends_word { "ς" } else { "σ" })?;
            continue;
        }
        c.to_lowercase().try_for_each(|c| write(out, utf8(c, &mut [0; 4])))?;
    }
    Ok(())
}

/// Returns true if a sigma is the last letter of a word: there is a letter `before` it and none
/// `after` it.
fn ends_word(before: &str, after: &str) -> bool {
    comes_to_letter(before.chars().rev()) && !comes_to_letter(after.chars())
}

/// Returns true if the first character that is no mark is a letter with a case.
fn comes_to_letter(characters: impl Iterator<Item = char>) -> bool {
    let other = characters.map(Case::from_char).find(|case| !matches!(case, Case::Ignorable));
    matches!(other, Some(Case::Cased))
}

/// The part that a character has in the case of others, in Unicode's terms.
enum Case {
    /// A letter in upper, lower or title case.
    Cased,
    /// An accent or an apostrophe, for example.
    Ignorable,
    Neither,
}

impl Case {
    fn from_char(c: char) -> Self {
        match c {
            '\'' | '.' | ':' | '^' | '`' => Self::Ignorable,
            'a'..='z' | 'A'..='Z' | 'α'..='ω' | 'ά'..='ώ' => Self::Cased,
            c if c.is_ascii() => Self::Neither,
            c if c.to_lowercase().next() != Some(c) => Self::Cased,
            // Only the standard library's conversion knows. These texts have a dozen bytes.
            c => match (is_final(&[c]), is_final(&[c, 'a'])) {
                (false, _) => Self::Cased,
                (true, false) => Self::Ignorable,
                (true, true) => Self::Neither,
            },
        }
    }
}

/// Returns true if the standard library takes a sigma before these characters for a final one.
fn is_final(after: &[char]) -> bool {
    let word: String = ['a', 'Σ'].iter().chain(after).collect();
    word.to_lowercase().contains('ς')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_lower_case_of_the_standard_library() {
        let mut out = String::new();
        let mut check = |word: &[char]| {
            let word: String = word.iter().collect();
            lower(&word, &mut out).unwrap();
            assert_eq!(out, word.to_lowercase(), "{word:?}");
        };
        for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
            check(&['Σ', c, 'a']);
            check(&['a', 'Σ', c]);
            check(&['a', 'Σ', c, 'a']);
            check(&['a', c, 'Σ', '.']);
        }
        let marks = ['\'', '\u{301}', '·'].repeat(100);
        check(&[&['A'], &*marks, &['Σ'], &*marks, &[' ']].concat());
        check(&[&['A'], &*marks, &['Σ'], &*marks, &['Σ']].concat());
    }
}
