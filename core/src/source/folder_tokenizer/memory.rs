//! The memory that texts take.

use crate::token::bpe::MergeScratch;
use crate::token::bpe::merge::{Candidate, Symbol};
use crate::token::unigram::Step;

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
    /// Of [`TokenizingMemory::after`].
    pub after: usize,
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
    /// A prompt with the text after it.
    pub after: &'s mut [u8],
}

impl TokenizingMemory<'_> {
    /// The same memory for one text after the other.
    pub(super) const fn again(&mut self) -> TokenizingMemory<'_> {
        let Self { text, steps, symbols, heap, after } = self;
        TokenizingMemory { text, steps, symbols, heap, after }
    }
}

impl TokenizingNeeds {
    /// The needs of Unigram for a window of so many bytes.
    pub(super) fn ways(bytes: usize) -> Self {
        Self { text: bytes, steps: bytes.saturating_add(1), ..Self::default() }
    }

    /// The needs of BPE for words of so many bytes, with a window onto a text.
    pub(super) fn words(bytes: usize, text: usize) -> Self {
        let heap = MergeScratch::heap_needed(bytes);
        Self { text, symbols: bytes, heap, ..Self::default() }
    }
}
