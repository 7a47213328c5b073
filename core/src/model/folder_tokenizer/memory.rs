//! What tokenizers take, and what their texts do.

use crate::model::source::word_pieces::{WordPieceMemory, WordPieceNeeds};
use crate::token::AddedToken;
use crate::token::bpe::merge::{Candidate, Symbol};
use crate::token::bpe::{Merge, Scratch};
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
    /// Of [`FolderTokenizerMemory::merges`].
    pub merges: usize,
    /// Of [`FolderTokenizerMemory::merge_slots`].
    pub merge_slots: usize,
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
    /// Merges by rank.
    pub merges: &'a mut [Merge],
    /// Merges by the hashes of their pairs.
    pub merge_slots: &'a mut [u32],
    /// Tokens that were added to the vocabulary.
    pub added: &'a mut [AddedToken],
    /// Their ids.
    pub added_ids: &'a mut [u32],
}

impl From<WordPieceNeeds> for FolderTokenizerNeeds {
    fn from(needs: WordPieceNeeds) -> Self {
        let WordPieceNeeds { text, samples, slots, added, added_ids } = needs;
        Self { text, samples, slots, added, added_ids, ..Self::default() }
    }
}

impl<'a> FolderTokenizerMemory<'a> {
    pub(super) fn word_pieces(self) -> WordPieceMemory<'a> {
        let Self { text, samples, slots, added, added_ids, .. } = self;
        WordPieceMemory { text, samples, slots, added, added_ids }
    }
}

/// How many elements of each kind tokenising takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenizingNeeds {
    /// Of [`TokenizingMemory::text`].
    pub text: usize,
    /// Of [`TokenizingMemory::steps`].
    pub steps: usize,
    /// Of [`TokenizingMemory::symbols`].
    pub symbols: usize,
    /// Of [`TokenizingMemory::heap`].
    pub heap: usize,
    /// Of [`TokenizingMemory::behind`].
    pub behind: usize,
}

/// Memory for a text while it is tokenised.
#[derive(Debug, Default)]
pub struct TokenizingMemory<'s> {
    /// A window onto the text.
    pub text: &'s mut [u8],
    /// The ways through it.
    pub steps: &'s mut [Step],
    /// The parts of a word.
    pub symbols: &'s mut [Symbol],
    /// Those that may be merged.
    pub heap: &'s mut [Candidate],
    /// A prompt with the text behind it.
    pub behind: &'s mut [u8],
}

impl TokenizingMemory<'_> {
    /// The same memory for one text after the other.
    pub(super) const fn again(&mut self) -> TokenizingMemory<'_> {
        let Self { text, steps, symbols, heap, behind } = self;
        TokenizingMemory { text, steps, symbols, heap, behind }
    }
}

impl TokenizingNeeds {
    /// What Unigram takes for a window of so many bytes.
    pub(super) fn ways(bytes: usize) -> Self {
        Self { text: bytes, steps: bytes.saturating_add(1), ..Self::default() }
    }

    /// What byte-level BPE takes for words of so many bytes, with a window onto a text.
    pub(super) fn words(bytes: usize, text: usize) -> Self {
        let heap = Scratch::heap_needed(bytes);
        Self { text, symbols: bytes, heap, ..Self::default() }
    }
}
