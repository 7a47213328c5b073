//! The byte-level BPE tokenizer in a decoder's file, used where it lies, in memory that the caller
//! lends.
//!
//! 1. [`BpeSource`] says what the file has and [how much memory](BpeSource::needs) an index over it
//!    takes;
//! 2. [`BpeSource::open`] makes the index: tokens by their spelling, merges by their pairs;
//! 3. [`FileBpe`] turns text into ids, and ids into the bytes of their tokens.

mod codec;
mod index;
mod source;

pub use codec::FileBpe;
pub use index::BpeIndex;
pub(in crate::source) use index::joined;
pub use source::{BpeParts, BpeSource};

use crate::error::{Error, ErrorKind};

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);
const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);
