//! Texts to ids.

use super::byte_pairs::PairTokenizer;
use super::memory::TokenizingMemory;
use super::unigram::UnigramTokenizer;
use crate::error::Result;
use crate::token::{Encoded, Entries, HashVocabulary, WordPiece};

/// A tokenizer that is ready.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)] // nothing to put the large ones in a box of
pub enum FolderTokenizer<'a> {
    /// BERT's.
    WordPiece(WordPiece<HashVocabulary<'a, Entries<'a>>>),
    /// XLM-RoBERTa's and those of its kind.
    Unigram(UnigramTokenizer<'a>),
    /// RoBERTa's, ModernBERT's, Qwen's.
    BytePairs(PairTokenizer<'a>),
}

impl FolderTokenizer<'_> {
    /// The ids of `text` with what is put around it; the last ones of the text are left out so that
    /// all fit `ids`.
    ///
    /// # Errors
    ///
    /// [`BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if there is no room for what is put
    /// around texts, or less memory than
    /// [`FolderTokenizerSource::tokenizing`](super::FolderTokenizerSource::tokenizing) says;
    /// [`OverLimit`](crate::ErrorKind::OverLimit) if a word does not fit that memory, or the rules
    /// of normalisation make far more of the text than it was;
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if there is no token for what is unknown.
    pub fn encode(
        &self,
        text: &str,
        ids: &mut [u32],
        memory: TokenizingMemory<'_>,
    ) -> Result<Encoded> {
        match self {
            Self::WordPiece(words) => words.encode(text, ids),
            Self::Unigram(unigram) => unigram.encode(text, ids, memory),
            Self::BytePairs(pairs) => pairs.encode(text, ids, memory),
        }
    }
}
