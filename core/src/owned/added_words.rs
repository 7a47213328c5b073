//! Added tokens of an encoder with memory of their own: the items of
//! [`added_list`](crate::token::added_list).

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::{formatted, gathered, write};
use crate::token::AddedRules;
use crate::token::added_list::{ListedToken, listed_tokens};

/// An added token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedWord {
    /// The token.
    pub id: u32,
    /// How it was added.
    pub spelling: String,
    /// True if it is found in the normalised text.
    pub normalized: bool,
    /// Where it is not found, and what it takes with it.
    pub rules: AddedRules,
}

/// Reads the value of [`ADDED_TOKENS`](crate::token::added_list::ADDED_TOKENS).
///
/// # Errors
///
/// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if it is not written as [`added_list`](crate::token::added_list)
/// says; [`NoMemory`](crate::ErrorKind::NoMemory).
pub fn parse_added_words(value: &str) -> Result<Vec<AddedWord>> {
    let word = |token: Result<ListedToken<'_>>| {
        let ListedToken { id, spelling, normalized, rules } = token?;
        let mut text = String::new();
        for c in spelling {
            write(&mut text, c?.encode_utf8(&mut [0; 4]))?;
        }
        Ok(AddedWord { id, spelling: text, normalized, rules })
    };
    gathered(listed_tokens(value).map(word))
}

/// Writes the value of [`ADDED_TOKENS`](crate::token::added_list::ADDED_TOKENS).
///
/// # Errors
///
/// [`NoMemory`](crate::ErrorKind::NoMemory).
pub fn write_added_words(words: &[AddedWord]) -> Result<String> {
    let mut value = String::new();
    for word in words {
        let separator = if value.is_empty() { "" } else { " " };
        let AddedRules { strips_before, strips_after, single_word } = word.rules;
        let flags =
            [(word.normalized, "n"), (single_word, "w"), (strips_before, "l"), (strips_after, "r")];
        write(&mut value, &formatted(format_args!("{separator}{}:", word.id))?)?;
        let before = value.len();
        for (_, flag) in flags.iter().filter(|(is_set, _)| *is_set) {
            write(&mut value, flag)?;
        }
        let end = if value.len() == before { "-:" } else { ":" };
        write(&mut value, end)?;
        for byte in word.spelling.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
                write(&mut value, char::from(byte).encode_utf8(&mut [0; 4]))?;
            } else {
                write(&mut value, &formatted(format_args!("%{byte:02X}"))?)?;
            }
        }
    }
    Ok(value)
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
                rules: AddedRules { strips_before: true, strips_after: true, single_word: false },
            },
            AddedWord {
                id: 111,
                spelling: "[É%]".into(),
                normalized: false,
                rules: AddedRules::default(),
            },
        ];
        let value = write_added_words(&words).unwrap();
        assert_eq!(value, "110:nw:my%20product 7:lr:b 111:-:%5B%C3%89%25%5D");
        assert_eq!(parse_added_words(&value).unwrap(), words);
        for bad in ["110", "110:n", "x:n:a", "1:q:a", "1:-:%4", "1:-:%FF", "1:-:%zz"] {
            assert!(parse_added_words(bad).is_err(), "{bad}");
        }
    }
}
