//! Which tokenizer a file has.

use super::byte_pairs::{PairParts, PairSource};
use super::memory::{FolderTokenizerMemory, FolderTokenizerNeeds, TokenizingNeeds};
use super::ready::FolderTokenizer;
use super::unigram::{UnigramParts, UnigramSource};
use crate::error::Result;
use crate::model::source::word_pieces::WordPieceSource;
use crate::text::json::Read;

/// What a file says of its tokenizer.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)] // nothing to put the large ones in a box of
pub enum FolderTokenizerSource<'a> {
    /// BERT's.
    WordPiece(WordPieceSource<'a>),
    /// XLM-RoBERTa's and those of its kind.
    Unigram(UnigramSource<'a>),
    /// RoBERTa's, ModernBERT's, Qwen's.
    BytePairs(PairSource<'a>),
}

impl<'a> FolderTokenizerSource<'a> {
    pub(in crate::model::transformer) fn unigram(parts: UnigramParts<'a>) -> Read<'a, Self> {
        UnigramSource::new(parts).map(Self::Unigram)
    }

    pub(in crate::model::transformer) fn byte_pairs(parts: PairParts<'a>) -> Read<'a, Self> {
        PairSource::new(parts).map(Self::BytePairs)
    }

    /// The memory that an index over it takes.
    #[must_use]
    pub fn needs(&self) -> FolderTokenizerNeeds {
        match self {
            Self::WordPiece(words) => words.needs().into(),
            Self::Unigram(unigram) => unigram.needs(),
            Self::BytePairs(pairs) => pairs.needs(),
        }
    }

    /// What tokenising takes. With it every text has room that is used whole where so many tokens
    /// are used; longer ones do, too, but for words without end of which nothing is settled before
    /// all of them has been seen.
    #[must_use]
    pub fn tokenizing(&self, tokens: usize) -> TokenizingNeeds {
        match self {
            Self::WordPiece(_) => TokenizingNeeds::default(),
            Self::Unigram(unigram) => unigram.tokenizing(tokens),
            Self::BytePairs(pairs) => pairs.tokenizing(tokens),
        }
    }

    /// Makes the index in the memory lent.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if tokens, scores or added tokens are not
    /// those of one tokenizer; [`BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if the memory
    /// is less than [`needs`](Self::needs) says; what is wrong with the rules of normalisation.
    pub fn open(&self, memory: FolderTokenizerMemory<'a>) -> Result<FolderTokenizer<'a>> {
        Ok(match self {
            Self::WordPiece(words) => FolderTokenizer::WordPiece(words.open(memory.word_pieces())?),
            Self::Unigram(unigram) => FolderTokenizer::Unigram(unigram.open(memory)?),
            Self::BytePairs(pairs) => FolderTokenizer::BytePairs(pairs.open(memory)?),
        })
    }
}
