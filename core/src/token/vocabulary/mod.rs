//! Vocabularies: from a token's bytes to its id and back, over token strings that stay where they
//! lie.
//!
//! [`Tokens`] says where the strings are: [`Entries`] reads them from a file's bytes, storage
//! behind random access has its own implementation. Two indices are built over it:
//!
//! | | memory | one lookup |
//! |---|---|---|
//! | [`HashVocabulary`] | lent, 6 bytes a token | one probe |
//! | [`SortedVocabulary`] | none, the file holds the index | about log2(tokens) comparisons |
//!
//! Where a string occurs twice the last id counts, as in Hugging Face `tokenizers`, whose readers
//! of `vocab.txt` and of `tokenizer.json` insert into a map in file order.

mod entries;
mod hash;
#[cfg(feature = "alloc")]
mod plain;
mod sorted;

use core::cmp::Ordering;

pub use entries::{Entries, LengthPrefix};
pub use hash::{HashIndex, HashVocabulary};
#[cfg(feature = "alloc")]
pub(crate) use plain::Plain;
pub use sorted::{IdWidth, Ranked, SortedIds, SortedVocabulary};

use super::added_words::AddedTokens;
use super::word::{MAX_WORD_CHARACTERS, PREFIX_BYTES};
use crate::error::Result;

/// The longest token that is ever looked up, in bytes: `##` and a word of the most characters.
/// Longer ones may be in a vocabulary, but never match.
pub const MAX_TOKEN_BYTES: usize = PREFIX_BYTES + 4 * MAX_WORD_CHARACTERS;

/// Where the strings of a vocabulary are.
pub trait Tokens {
    /// The number of tokens; ids are below it.
    fn count(&self) -> u32;

    /// Compares token `id` with `text`, byte by byte.
    ///
    /// # Errors
    ///
    /// `bad_vocabulary` if there is no such token or its entry is damaged, and what reading it
    /// answers.
    fn compare(&self, id: u32, text: &[u8]) -> Result<Comparison>;

    /// The place of token `id` relative to `text`, in byte order.
    ///
    /// # Errors
    ///
    /// As [`compare`](Tokens::compare).
    fn order(&self, id: u32, text: &[u8]) -> Result<Ordering> {
        self.compare(id, text).map(|comparison| comparison.order)
    }

    /// Returns true if token `id` is `text`.
    ///
    /// # Errors
    ///
    /// As [`compare`](Tokens::compare).
    fn equals(&self, id: u32, text: &[u8]) -> Result<bool> {
        self.order(id, text).map(Ordering::is_eq)
    }

    /// Copies as many bytes of token `id` as there is room for into `out` and returns how many it
    /// has.
    ///
    /// # Errors
    ///
    /// As [`compare`](Tokens::compare).
    fn copy(&self, id: u32, out: &mut [u8]) -> Result<usize>;

    /// Shows `visit` every token of at most [`MAX_TOKEN_BYTES`] in the order of ids, until it
    /// answers `false`.
    ///
    /// # Errors
    ///
    /// As [`compare`](Tokens::compare), and what `visit` answers.
    fn each(&self, visit: &mut dyn FnMut(u32, &[u8]) -> Result<bool>) -> Result<()> {
        let mut buffer = [0; MAX_TOKEN_BYTES];
        for id in 0..self.count() {
            let length = self.copy(id, &mut buffer)?;
            if let Some(token) = buffer.get(..length)
                && !visit(id, token)?
            {
                break;
            }
        }
        Ok(())
    }
}

/// How a token compares with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comparison {
    /// The token's place relative to the text, in byte order.
    pub order: Ordering,
    /// How many bytes both have in common at their start.
    pub common: usize,
    /// The token's length.
    pub token_bytes: usize,
}

impl Comparison {
    /// Compares the whole bytes of a token with `text`.
    #[must_use]
    pub fn new(token: &[u8], text: &[u8]) -> Self {
        let common = token.iter().zip(text).take_while(|(a, b)| a == b).count();
        let order = match (token.get(common), text.get(common)) {
            (Some(a), Some(b)) => a.cmp(b),
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        };
        Self { order, common, token_bytes: token.len() }
    }

    /// Returns true if the text starts with the token.
    #[must_use]
    pub const fn is_prefix(&self) -> bool {
        self.common == self.token_bytes
    }
}

/// A token that a text starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// The token.
    pub id: u32,
    /// Its length in bytes.
    pub bytes: usize,
}

/// An index from bytes to ids.
pub trait Vocabulary {
    /// The number of tokens; ids are below it.
    fn count(&self) -> u32;

    /// The id of a token; of none with more than [`MAX_TOKEN_BYTES`].
    ///
    /// # Errors
    ///
    /// `bad_vocabulary` if an entry or the index is damaged, and what reading answers.
    fn find(&self, token: &[u8]) -> Result<Option<u32>>;

    /// The longest token of at least `at_least` bytes, and at least one, that `text` starts with
    /// and that ends at the end of a character.
    ///
    /// # Errors
    ///
    /// As [`find`](Vocabulary::find).
    fn longest_prefix(&self, text: &[u8], at_least: usize) -> Result<Option<Match>>;

    /// Copies as many bytes of token `id` as there is room for into `out` and returns how many it
    /// has.
    ///
    /// # Errors
    ///
    /// As [`find`](Vocabulary::find), and `bad_vocabulary` if there is no such id.
    fn token(&self, id: u32, out: &mut [u8]) -> Result<usize>;

    /// Tokens beyond those that words are spelled with, found in a text before it is cut into
    /// words.
    fn added(&self) -> AddedTokens<'_> {
        AddedTokens::default()
    }

    /// Returns true if there can be [`added`](Self::added) tokens. The compiler is to see that
    /// there are none where this is always `false`.
    fn may_add(&self) -> bool {
        true
    }
}

impl<V: Vocabulary + ?Sized> Vocabulary for &V {
    fn count(&self) -> u32 {
        (**self).count()
    }

    fn find(&self, token: &[u8]) -> Result<Option<u32>> {
        (**self).find(token)
    }

    fn longest_prefix(&self, text: &[u8], at_least: usize) -> Result<Option<Match>> {
        (**self).longest_prefix(text, at_least)
    }

    fn token(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        (**self).token(id, out)
    }

    fn added(&self) -> AddedTokens<'_> {
        (**self).added()
    }

    fn may_add(&self) -> bool {
        (**self).may_add()
    }
}

/// Returns true if a cut of UTF-8 `text` at `at` would fall within a character.
fn splits_character(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000)
}
