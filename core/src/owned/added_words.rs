//! Added tokens of an encoder, as the metadata of a file carries them.
//!
//! The value of [`ADDED_TOKENS`] has an item for each token, with a space between:
//! `ID:FLAGS:SPELLING`, such as `30522:n:myproduct`. Flags are `n` (found in the normalised text),
//! `w` (a word of its own), `l` and `r` (takes the white space on its left and right), `s`
//! (special), or `-` for none. In a spelling every byte but letters, digits, `-`, `.` and `_` of
//! ASCII is `%` and two hexadecimal digits.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::token::Normalization;
use crate::token::added::sort;
use crate::token::added_words::{AddedTokens, normalized};
use crate::token::{AddedIndex, AddedRules, AddedTable, AddedToken};

/// The key of an encoder's added tokens: in the metadata of `.weights`, the configuration of
/// `.amb`, and behind `nanoembed.` in GGUF.
pub const ADDED_TOKENS: &str = "wordpiece_added_tokens";

/// More tokens than any model has added.
const MAX_ADDED: usize = 1 << 16;

/// An added token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedWord {
    /// The token.
    pub id: u32,
    /// How it was added.
    pub spelling: String,
    /// Whether it is found in the normalised text.
    pub normalized: bool,
    /// Where it is not found, and what it takes with it.
    pub rules: AddedRules,
}

/// The memory of added tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct AddedMemory {
    spellings: Vec<u8>,
    written: Vec<AddedToken>,
    written_index: AddedIndex,
    normalized: Vec<AddedToken>,
    normalized_index: AddedIndex,
}

impl AddedMemory {
    /// Puts `words` in order; `bad_vocabulary` if an id or a spelling is there twice, an id is not
    /// below `vocabulary`, or a spelling is empty or too long.
    pub(super) fn new(
        words: &[AddedWord],
        normalization: Normalization,
        vocabulary: usize,
    ) -> Result<Self> {
        let bad = Error::without_offset(ErrorKind::BadVocabulary);
        let mut memory = Self::default();
        let mut ids: Vec<u32> = words.iter().map(|word| word.id).collect();
        sort(&mut ids, |a, b| a < b);
        ids.dedup();
        let outside = ids.last().is_some_and(|last| *last as usize >= vocabulary);
        if ids.len() != words.len() || words.len() > MAX_ADDED || outside {
            return Err(bad);
        }
        for word in words {
            let start = memory.spellings.len();
            if word.normalized {
                normalized(&word.spelling, normalization, |c| {
                    let mut room = [0; 4];
                    memory.spellings.extend_from_slice(c.encode_utf8(&mut room).as_bytes());
                });
            } else {
                memory.spellings.extend_from_slice(word.spelling.as_bytes());
            }
            let bytes = memory.spellings.len().saturating_sub(start);
            let token = AddedToken::new(start, bytes, word.id, word.rules).map_err(|_| bad)?;
            let kind = if word.normalized { &mut memory.normalized } else { &mut memory.written };
            kind.push(token);
        }
        let spellings = &memory.spellings;
        let index = |tokens: &mut Vec<AddedToken>| {
            let index = AddedIndex::build(spellings, tokens)?;
            // Empty spellings and those that are there twice are left out.
            if index.tokens() == tokens.len() { Ok(index) } else { Err(bad) }
        };
        memory.written_index = index(&mut memory.written)?;
        memory.normalized_index = index(&mut memory.normalized)?;
        Ok(memory)
    }

    pub(super) fn tokens(&self) -> AddedTokens<'_> {
        let bytes = &*self.spellings;
        AddedTokens {
            written: AddedTable::resume(bytes, &self.written, self.written_index),
            normalized: AddedTable::resume(bytes, &self.normalized, self.normalized_index),
        }
    }
}

/// Reads the value of [`ADDED_TOKENS`].
///
/// # Errors
///
/// [`ErrorKind::BadVocabulary`] if it is not written as this module says.
pub fn parse_added_words(value: &str) -> Result<Vec<AddedWord>> {
    let bad = Error::without_offset(ErrorKind::BadVocabulary);
    let items = value.split(' ').filter(|item| !item.is_empty());
    items.map(|item| parse_item(item).ok_or(bad)).collect()
}

fn parse_item(item: &str) -> Option<AddedWord> {
    let (id, rest) = item.split_once(':')?;
    let (flags, spelling) = rest.split_once(':')?;
    // Searches for characters would bring the search for strings along, four kilobytes of code.
    let flags = flags.as_bytes();
    if flags != b"-" && flags.iter().any(|flag| !b"nwlrs".contains(flag)) {
        return None;
    }
    let mut bytes = Vec::new();
    let mut rest = spelling.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                u8::try_from(high << 4 | low).ok()?
            }
            _ => byte,
        });
    }
    Some(AddedWord {
        id: id.parse().ok()?,
        spelling: String::from_utf8(bytes).ok()?,
        normalized: flags.contains(&b'n'),
        rules: AddedRules {
            strips_before: flags.contains(&b'l'),
            strips_behind: flags.contains(&b'r'),
            single_word: flags.contains(&b'w'),
        },
    })
}

/// Writes the value of [`ADDED_TOKENS`].
#[must_use]
pub fn write_added_words(words: &[AddedWord]) -> String {
    use core::fmt::Write as _;
    let mut value = String::new();
    for word in words {
        let separator = if value.is_empty() { "" } else { " " };
        let AddedRules { strips_before, strips_behind, single_word } = word.rules;
        let flags = [
            (word.normalized, 'n'),
            (single_word, 'w'),
            (strips_before, 'l'),
            (strips_behind, 'r'),
        ];
        // Writing to a string does not fail.
        let _ = write!(value, "{separator}{}:", word.id);
        let before = value.len();
        value.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| *flag));
        value.push_str(if value.len() == before { "-:" } else { ":" });
        for byte in word.spelling.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
                value.push(char::from(byte));
            } else {
                let _ = write!(value, "%{byte:02X}");
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_were_written() {
        let words = [
            AddedWord {
                id: 110,
                spelling: "my product".into(),
                normalized: true,
                rules: AddedRules { single_word: true, ..AddedRules::default() },
            },
            AddedWord {
                id: 7,
                spelling: "b".into(),
                normalized: false,
                rules: AddedRules { strips_before: true, strips_behind: true, single_word: false },
            },
            AddedWord {
                id: 111,
                spelling: "[É%]".into(),
                normalized: false,
                rules: AddedRules::default(),
            },
        ];
        let value = write_added_words(&words);
        assert_eq!(value, "110:nw:my%20product 7:lr:b 111:-:%5B%C3%89%25%5D");
        assert_eq!(parse_added_words(&value).unwrap(), words);
        for bad in ["110", "110:n", "x:n:a", "1:q:a", "1:-:%4", "1:-:%FF", "1:-:%zz"] {
            assert!(parse_added_words(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn words_that_are_there_twice_or_beyond_the_vocabulary_are_refused() {
        let word = |id, spelling: &str| AddedWord {
            id,
            spelling: spelling.into(),
            normalized: true,
            rules: AddedRules::default(),
        };
        let new = |words: &[AddedWord]| AddedMemory::new(words, Normalization::UNCASED, 10);
        assert!(new(&[word(1, "a"), word(2, "b")]).is_ok());
        assert!(new(&[word(1, "a"), word(1, "b")]).is_err());
        assert!(new(&[word(1, "a"), word(2, "A")]).is_err());
        assert!(new(&[word(10, "a")]).is_err());
        assert!(new(&[word(1, "")]).is_err());
    }
}
