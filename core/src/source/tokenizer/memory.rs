//! The memory that a text takes.

use crate::token::bpe;
use crate::token::bpe::merge::{Candidate, Symbol};
use crate::token::sentencepiece;

/// How many elements of each kind a text takes while it is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScratchNeeds {
    /// Symbols of byte-level BPE.
    pub symbols: usize,
    /// Candidates of byte-level BPE.
    pub heap: usize,
    /// The needs of SentencePiece.
    pub pieces: sentencepiece::PieceNeeds,
}

impl ScratchNeeds {
    /// The needs of byte-level BPE for texts whose words have no more than so many bytes.
    #[must_use]
    pub fn for_words(bytes: usize) -> Self {
        let heap = bpe::MergeScratch::heap_needed(bytes);
        Self { symbols: bytes, heap, ..Self::default() }
    }
}

impl From<sentencepiece::PieceNeeds> for ScratchNeeds {
    fn from(pieces: sentencepiece::PieceNeeds) -> Self {
        Self { pieces, ..Self::default() }
    }
}

/// Scratch memory for a text: see [`Tokenizer::scratch`](super::Tokenizer::scratch).
#[derive(Debug)]
pub struct TokenizerScratch<'s> {
    /// For byte-level BPE.
    pub bytes: bpe::MergeScratch<'s>,
    /// For SentencePiece.
    pub pieces: sentencepiece::PieceScratch<'s>,
}

impl<'s> TokenizerScratch<'s> {
    /// Memory in lent slices.
    pub const fn new(
        symbols: &'s mut [Symbol],
        heap: &'s mut [Candidate],
        pieces: sentencepiece::PieceScratch<'s>,
    ) -> Self {
        Self { bytes: bpe::MergeScratch::new(symbols, heap), pieces }
    }
}
