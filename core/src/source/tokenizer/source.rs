//! The tokenizer of a file as the file describes it.

use super::codec::Tokenizer;
use super::kind::TokenizerKind;
use crate::error::Result;
use crate::source::byte_pairs::BpeSource;
use crate::source::memory::{TokenizerMemory, TokenizerNeeds};
use crate::source::pieces::SentencePieceSource;
use crate::source::word_pieces::WordPieceSource;

/// A tokenizer as its file describes it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)] // nothing to put the large ones in a box of
pub enum TokenizerSource<'a> {
    /// WordPiece.
    WordPiece(WordPieceSource<'a>),
    /// Byte-level BPE.
    BytePairs(BpeSource<'a>),
    /// SentencePiece.
    SentencePiece(SentencePieceSource<'a>),
}

impl<'a> TokenizerSource<'a> {
    /// A serialized SentencePiece model alone (`tokenizer.model`), if `bytes` begin like one.
    #[must_use]
    pub fn model(bytes: &'a [u8]) -> Option<Self> {
        // The keys of its pieces, of its settings and of its rules.
        let begins = matches!(bytes.first(), Some(0x0A | 0x12 | 0x1A | 0x22 | 0x2A));
        begins.then(|| Self::SentencePiece(SentencePieceSource::model(bytes)))
    }

    /// Which one it is.
    #[must_use]
    pub const fn kind(&self) -> TokenizerKind {
        match self {
            Self::WordPiece(_) => TokenizerKind::WordPiece,
            Self::BytePairs(_) => TokenizerKind::BytePairs,
            Self::SentencePiece(_) => TokenizerKind::SentencePiece,
        }
    }

    /// The memory that an index over it takes.
    ///
    /// # Errors
    ///
    /// As [`SentencePieceSource::needs`].
    pub fn needs(&self) -> Result<TokenizerNeeds> {
        Ok(match self {
            Self::WordPiece(source) => source.needs(),
            Self::BytePairs(source) => source.needs(),
            Self::SentencePiece(source) => source.needs()?,
        })
    }

    /// Makes the index in lent memory.
    ///
    /// # Errors
    ///
    /// As [`WordPieceSource::open`], [`BpeSource::open`] and [`SentencePieceSource::open`].
    pub fn open(&self, memory: TokenizerMemory<'a>) -> Result<Tokenizer<'a>> {
        match self {
            Self::WordPiece(source) => apart(|| source.open(memory).map(Tokenizer::WordPiece)),
            Self::BytePairs(source) => apart(|| source.open(memory).map(Tokenizer::BytePairs)),
            Self::SentencePiece(source) => {
                apart(|| source.open(memory).map(Tokenizer::SentencePiece))
            }
        }
    }
}

/// Opens a tokenizer with its stack to itself.
#[inline(never)]
fn apart<'a>(open: impl FnOnce() -> Result<Tokenizer<'a>>) -> Result<Tokenizer<'a>> {
    open()
}
