//! Text to token ids, as Hugging Face `tokenizers` does it, streaming and without allocation.
//!
//! From the text down to the id:
//!
//! 1. [`special`] finds special tokens that the text spells out, before anything else happens to
//!    it, and [`added_words`] tokens that were added to a vocabulary;
//! 2. [`normalize`] says what a character becomes, from the generated tables behind `characters`;
//! 3. [`words`] cuts the normalised text into words, one at a time, in a buffer of fixed size;
//! 4. [`vocabulary`] finds tokens in memory that the caller lends, or in the file's own sorted
//!    index;
//! 5. [`wordpiece`] spells each word with tokens and puts `[CLS]` and `[SEP]` around the text.
//!
//! [`AddedTable`] finds the tokens that a model adds to its vocabulary, whichever way it spells the
//! rest.
//!
//! Two other ways: [`bpe`] spells words with byte pairs, [`sentencepiece`] does all by a serialized
//! model.

#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::arithmetic_side_effects
    )
)]

pub(crate) mod added;
pub mod added_words;
pub mod bpe;
mod byte_set;
mod characters;
mod ends;
pub mod normalize;
pub mod sentencepiece;
pub mod special;
mod tables;
mod utf8;
pub mod vocabulary;
mod word;
mod word_characters;
mod word_tables;
pub mod wordpiece;
pub mod words;

pub use added::{AddedIndex, AddedMatch, AddedMatches, AddedRules, AddedTable, AddedToken};
pub use bpe::Bpe;
pub use ends::{EndTokens, TextEnds};
pub use normalize::Normalization;
pub use sentencepiece::SentencePiece;
pub use special::{SpecialIds, SpecialTokens};
pub use vocabulary::{Entries, HashVocabulary, LengthPrefix, SortedVocabulary, Vocabulary};
pub use word::MAX_WORD_CHARACTERS;
pub use wordpiece::{Encoded, WordPiece};
