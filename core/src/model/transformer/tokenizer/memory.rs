//! What tokenizers take, and what their texts do.

use crate::model::source::word_pieces::{WordPieceMemory, WordPieceNeeds};
use crate::token::AddedToken;
use crate::token::unigram::Step;

/// How many elements of each kind
/// [`FolderTokenizerSource::open`](super::FolderTokenizerSource::open) needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FolderTokenizerNeeds {
    /// Of [`FolderTokenizerMemory::text`].
    pub text: usize,
    /// Of [`FolderTokenizerMemory::samples`].
    pub samples: usize,
    /// Of [`FolderTokenizerMemory::slots`].
    pub slots: usize,
    /// Of [`FolderTokenizerMemory::added`].
    pub added: usize,
    /// Of [`FolderTokenizerMemory::added_ids`].
    pub added_ids: usize,
}

/// Memory for the index over a tokenizer: as many elements of each kind as
/// [`FolderTokenizerNeeds`] says. What it holds is lost.
#[derive(Debug)]
pub struct FolderTokenizerMemory<'a> {
    /// What the file spells otherwise than it is used: rules, and added tokens.
    pub text: &'a mut [u8],
    /// Where some of the tokens lie.
    pub samples: &'a mut [u32],
    /// Tokens by the hashes of their spellings.
    pub slots: &'a mut [u32],
    /// Tokens that were added to the vocabulary.
    pub added: &'a mut [AddedToken],
    /// Their ids.
    pub added_ids: &'a mut [u32],
}

impl From<WordPieceNeeds> for FolderTokenizerNeeds {
    fn from(needs: WordPieceNeeds) -> Self {
        let WordPieceNeeds { text, samples, slots, added, added_ids } = needs;
        Self { text, samples, slots, added, added_ids }
    }
}

impl<'a> FolderTokenizerMemory<'a> {
    pub(super) fn word_pieces(self) -> WordPieceMemory<'a> {
        let Self { text, samples, slots, added, added_ids } = self;
        WordPieceMemory { text, samples, slots, added, added_ids }
    }
}

/// How many elements of each kind tokenising takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenizingNeeds {
    /// Bytes of a window onto a text.
    pub text: usize,
    /// Ways through it, one more.
    pub steps: usize,
}

/// Memory for a text while it is tokenised.
#[derive(Debug, Default)]
pub struct TokenizingMemory<'s> {
    /// A window onto the text.
    pub text: &'s mut [u8],
    /// The ways through it.
    pub steps: &'s mut [Step],
}

impl TokenizingNeeds {
    /// A window of so many bytes.
    pub(super) const fn window(bytes: usize) -> Self {
        Self { text: bytes, steps: bytes.saturating_add(1) }
    }
}
