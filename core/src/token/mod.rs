//! Text to token ids, as Hugging Face `tokenizers` does it, streaming and without allocation.
//!
//! From the text down to the id:
//!
//! 1. [`special`] finds special tokens that the text spells out, before anything else happens to it;
//! 2. [`normalize`] says what a character becomes, from the generated tables behind `characters`;
//! 3. [`words`] cuts the normalised text into words, one at a time, in a buffer of fixed size;
//! 4. [`vocabulary`] finds tokens in memory that the caller lends, or in the file's own sorted index;
//! 5. [`bpe`] spells words with byte pairs, the other way of tokenising;
//! 6. [`wordpiece`] spells each word with tokens and puts `[CLS]` and `[SEP]` around the text.

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

pub mod bpe;
mod characters;
pub mod normalize;
pub mod special;
mod tables;
pub mod vocabulary;
mod word;
pub mod wordpiece;
pub mod words;

pub use bpe::Bpe;
pub use normalize::Normalization;
pub use special::SpecialIds;
pub use vocabulary::{Entries, HashVocabulary, LengthPrefix, SortedVocabulary, Vocabulary};
pub use word::MAX_WORD_CHARACTERS;
pub use wordpiece::{Encoded, WordPiece};
