//! What a tokenizer takes, and what a text does.

use crate::model::source::byte_pairs::BpeNeeds;
use crate::model::source::pieces::SentencePieceNeeds;
use crate::model::source::word_pieces::WordPieceNeeds;
use crate::token::AddedToken;
use crate::token::bpe::merge::{Candidate, Symbol};
use crate::token::bpe::{self, Merge};
use crate::token::sentencepiece::{self, Piece, Slot};

/// How many elements of each kind [`TokenizerSource::open`](super::TokenizerSource::open) needs.
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
#[derive(Debug)]
pub struct TokenizerMemory<'a> {
    /// What the file spells otherwise than it is used.
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

impl From<WordPieceNeeds> for TokenizerNeeds {
    fn from(needs: WordPieceNeeds) -> Self {
        let WordPieceNeeds { text, samples, slots, added, added_ids } = needs;
        Self { text, samples, slots, added, added_ids, ..Self::default() }
    }
}

impl From<BpeNeeds> for TokenizerNeeds {
    fn from(needs: BpeNeeds) -> Self {
        let BpeNeeds { samples, slots, merges, merge_slots, added } = needs;
        Self { samples, slots, merges, merge_slots, added, ..Self::default() }
    }
}

impl From<SentencePieceNeeds> for TokenizerNeeds {
    fn from(needs: SentencePieceNeeds) -> Self {
        let SentencePieceNeeds { model, pieces, slots, added } = needs;
        Self { text: model, pieces, piece_slots: slots, added, ..Self::default() }
    }
}

/// How many elements of each kind a text takes while it is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScratchNeeds {
    /// Symbols of byte-level BPE.
    pub symbols: usize,
    /// Candidates of byte-level BPE.
    pub heap: usize,
    /// What SentencePiece needs.
    pub pieces: sentencepiece::Needs,
}

impl ScratchNeeds {
    /// What suffices for texts whose words have no more than so many bytes, by byte-level BPE.
    #[must_use]
    pub fn for_words(bytes: usize) -> Self {
        let heap = bpe::Scratch::heap_needed(bytes);
        Self { symbols: bytes, heap, ..Self::default() }
    }
}

impl From<sentencepiece::Needs> for ScratchNeeds {
    fn from(pieces: sentencepiece::Needs) -> Self {
        Self { pieces, ..Self::default() }
    }
}

/// Scratch memory for a text: see [`Tokenizer::scratch`](super::Tokenizer::scratch).
#[derive(Debug)]
pub struct TokenizerScratch<'s> {
    /// For byte-level BPE.
    pub bytes: bpe::Scratch<'s>,
    /// For SentencePiece.
    pub pieces: sentencepiece::Scratch<'s>,
}

impl<'s> TokenizerScratch<'s> {
    /// Memory in lent slices.
    pub const fn new(
        symbols: &'s mut [Symbol],
        heap: &'s mut [Candidate],
        pieces: sentencepiece::Scratch<'s>,
    ) -> Self {
        Self { bytes: bpe::Scratch::new(symbols, heap), pieces }
    }
}
