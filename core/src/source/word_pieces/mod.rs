//! The WordPiece tokenizer in an encoder's file, in memory that the caller lends.
//!
//! Tokens are used where they lie, but for those of GGUF, which spells them in its own way: they
//! are respelled. The tokens that were added to the vocabulary are sorted in two tables.

pub(in crate::source) mod added;
mod added_source;
mod gguf;
mod index;
pub(in crate::source) mod settings;
mod source;

pub use gguf::Respelled;
pub use index::{WordPieceIndex, WordPieceTables};
pub use source::WordPieceSource;

use crate::error::{Error, ErrorKind};

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);
