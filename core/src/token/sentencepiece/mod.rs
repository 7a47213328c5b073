//! SentencePiece: text to ids and back by a serialized `ModelProto` (`tokenizer.model`,
//! `spiece.model`), as Llama 2, Mistral, Gemma, T5 and ALBERT have it.
//!
//! 1. [`Spec`] reads what the model says (`proto` its wire format), and how much memory it takes;
//! 2. [`SentencePiece::build`] makes a table of the pieces and a trie over them in lent memory;
//! 3. `normalize` applies the model's compiled `rules` and its handling of spaces;
//! 4. the text is cut where no piece continues, and each part is segmented by `bpe` or `unigram`;
//! 5. characters without a piece become bytes, or a run of them one unknown piece;
//! 6. [`PieceDecoder`] turns ids into text again.
//!
//! Ids and texts are those of `sentencepiece` 0.2.3. Models of whole words and of characters are
//! not read.

mod bpe;
mod build;
mod cache;
mod decode;
mod encode;
mod normalize;
mod pieces;
mod proto;
mod rules;
mod spec;
mod trie;
mod unigram;
mod write;

pub use bpe::PiecePart;
pub use build::{PieceIndex, SentencePiece};
pub use cache::CachedWord;
pub use decode::PieceDecoder;
pub use encode::{PieceNeeds, PieceScratch};
pub(super) use normalize::character_bytes;
pub use pieces::{Piece, PieceKind, byte_of, byte_token};
pub(crate) use rules::Rules;
pub use spec::{Algorithm, Spec};
pub use trie::Slot;
pub use unigram::Step;
pub use write::{ModelSettings, Output, write_piece, write_settings};

pub use super::ids::TokenCount;
