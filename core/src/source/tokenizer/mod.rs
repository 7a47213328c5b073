//! The tokenizer of a file, whichever it is, in memory that the caller lends.
//!
//! 1. [`ModelSource::tokenizer`](crate::source::ModelSource::tokenizer) says which one a file has;
//! 2. [`TokenizerSource::needs`] says how much memory an index over it takes, and
//!    [`TokenizerSource::open`] makes it;
//! 3. [`Tokenizer`] turns text into ids, and ids into the bytes of their tokens.

mod codec;
mod kind;
mod memory;
mod source;

pub use super::memory::{TokenizerMemory, TokenizerNeeds};
pub use codec::Tokenizer;
pub use kind::TokenizerKind;
pub use memory::{ScratchNeeds, TokenizerScratch};
pub use source::TokenizerSource;
