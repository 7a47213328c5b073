//! Tokenizers: text to token ids and back, as Hugging Face `tokenizers` and `sentencepiece` do it,
//! in memory that the caller lends.
//!
//! | model | tokenizer |
//! |---|---|
//! | BERT and its relatives | [`WordPiece`] |
//! | byte-level BPE: GPT-2, Llama 3, Qwen | [`Bpe`], [`bpe::TokenDecoder`] |
//! | SentencePiece: Llama 2, Phi-3, T5 | [`SentencePiece`], [`sentencepiece::PieceDecoder`] |
//! | Unigram of a `tokenizer.json`: XLM-RoBERTa | `unigram` (feature `families`) |
//!
//! WordPiece in five steps:
//!
//! 1. [`special`] finds special tokens that the text spells, and [`added_words`] tokens that were
//!    added to the vocabulary.
//! 2. [`normalize`] maps each character to what it becomes.
//! 3. [`words`] cuts the normalised text into words, one at a time, in a buffer of fixed size.
//! 4. [`vocabulary`] looks tokens up, in lent memory or in the file's own sorted index.
//! 5. [`wordpiece`] splits each word into tokens and puts `[CLS]` and `[SEP]` around the text.
//!
//! [`AddedTable`] finds the added tokens of every kind of tokenizer, [`bpe::merge`] merges for both
//! kinds of BPE, and the likeliest segmentation (`lattice`) is that of Unigram and of SentencePiece,
//! whose pieces are in the same `trie` as the tokens of `owned::Pipeline`.

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
pub mod added_list;
pub(crate) mod added_parts;
pub mod added_words;
pub(crate) mod allowance;
pub mod bpe;
mod byte_set;
mod characters;
pub(crate) mod charsmap;
#[cfg(not(all(target_family = "wasm", feature = "families")))]
mod decomposed;
#[cfg(not(all(target_family = "wasm", feature = "families")))]
mod decomposed_tables;
mod ends;
mod hangul;
pub(crate) mod heap_sort;
mod ids;
pub(crate) mod lattice;
pub(crate) mod longest_first;
pub mod normalize;
pub mod sentencepiece;
pub mod spec;
pub mod special;
mod tables;
pub(crate) mod trie;
pub(crate) mod unicode;
pub mod unigram;
mod utf8;
pub mod vocabulary;
pub(crate) mod window;
mod word;
mod word_characters;
mod word_tables;
pub mod wordpiece;
pub mod words;

// A download has one table of decompositions.
#[cfg(not(all(target_family = "wasm", feature = "families")))]
use decomposed::without_marks;
#[cfg(all(target_family = "wasm", feature = "families"))]
use unicode::without_marks;

pub use added::{AddedIndex, AddedRules, AddedTable, AddedToken};
pub use bpe::Bpe;
#[cfg(feature = "alloc")]
pub(crate) use characters::{is_control, is_punctuation_character};
pub use ends::{EndTokens, TextEnds};
pub use normalize::Normalization;
pub use sentencepiece::SentencePiece;
pub use special::{SpecialIds, SpecialTokens};
pub use vocabulary::{Entries, HashVocabulary, LengthPrefix, SortedVocabulary, Vocabulary};
pub use word::MAX_WORD_CHARACTERS;
#[cfg(feature = "alloc")]
pub(crate) use word_characters::is_word_character;
pub use wordpiece::{Encoded, WordPiece};
