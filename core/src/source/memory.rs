//! The memory of an index over a tokenizer.

use crate::token::AddedToken;
use crate::token::bpe::Merge;
use crate::token::sentencepiece::{Piece, Slot};

/// How many elements of each kind an index over a tokenizer needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenizerNeeds {
    /// Bytes of [`TokenizerMemory::text`].
    pub text: usize,
    /// Of [`TokenizerMemory::samples`].
    pub samples: usize,
    /// Of [`TokenizerMemory::slots`].
    pub slots: usize,
    /// Of [`TokenizerMemory::merges`].
    pub merges: usize,
    /// Of [`TokenizerMemory::merge_slots`].
    pub merge_slots: usize,
    /// Of [`TokenizerMemory::pieces`].
    pub pieces: usize,
    /// Of [`TokenizerMemory::piece_slots`].
    pub piece_slots: usize,
    /// Of [`TokenizerMemory::added`].
    pub added: usize,
    /// Of [`TokenizerMemory::added_ids`].
    pub added_ids: usize,
}

/// Memory for the index over a tokenizer: at least as many elements of each kind as
/// [`TokenizerNeeds`] says, of most kinds none. What it holds is lost.
#[derive(Debug, Default)]
pub struct TokenizerMemory<'a> {
    /// Texts that the file spells in another way: rules, tokens, added tokens.
    pub text: &'a mut [u8],
    /// Where some of the tokens lie.
    pub samples: &'a mut [u32],
    /// Tokens by the hashes of their spellings.
    pub slots: &'a mut [u32],
    /// Merges by rank.
    pub merges: &'a mut [Merge],
    /// Merges by the hashes of their pairs.
    pub merge_slots: &'a mut [u32],
    /// A table of SentencePiece's pieces.
    pub pieces: &'a mut [Piece],
    /// An index over them.
    pub piece_slots: &'a mut [Slot],
    /// Added tokens.
    pub added: &'a mut [AddedToken],
    /// Ids of added tokens.
    pub added_ids: &'a mut [u32],
}
