//! Models, which make ids of a piece of text.

mod bpe;
mod merges;
mod open;
mod unigram;
mod vocabulary;
mod word_piece;
mod words;

use alloc::string::String;
use alloc::vec::Vec;

use super::tokens::TokenStrings;
use crate::error::{Error, ErrorKind, Result};
use crate::leaf::{self, Part};
use crate::limit::collected;
use crate::token::sentencepiece::byte_token;
pub(super) use bpe::{Bpe, BpeScratch};
pub(super) use open::{OpenedModel, large, open};
pub(super) use unigram::{Step, Unigram};
pub(super) use vocabulary::Elsewhere;
pub(super) use word_piece::WordPiece;
pub(super) use words::Words;

/// A model.
#[derive(Clone, Debug)]
pub(super) enum Model {
    WordPiece(WordPiece),
    Bpe(Bpe),
    Unigram(Unigram),
    Words(Part<leaf::WordTables, Words>),
}

/// Memory of one thread.
#[derive(Debug, Default)]
pub(super) struct ModelScratch {
    bpe: BpeScratch,
    steps: Vec<Step>,
    word: String,
}

impl Model {
    /// The id of one of the model's own tokens.
    pub(super) fn find(&self, tokens: &TokenStrings, token: &str) -> Option<u32> {
        match self {
            Self::WordPiece(model) => model.trie.find(token),
            Self::Bpe(model) => model.find(tokens, token),
            Self::Unigram(model) => model.trie.find(token),
            Self::Words(model) => model.find(tokens, token),
        }
    }

    /// The id of the unknown token, if the model has one.
    pub(super) const fn unknown(&self) -> Option<u32> {
        match self {
            Self::WordPiece(model) => model.unknown,
            Self::Bpe(model) => model.unknown(),
            Self::Unigram(model) => model.unknown,
            Self::Words(_) => None,
        }
    }

    /// Writes the ids of `piece`, which is not empty, after `ids`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the piece has something unknown and the model no token for
    /// that; [`ErrorKind::NoMemory`].
    pub(super) fn encode(
        &self,
        tokens: &TokenStrings,
        piece: &str,
        scratch: &mut ModelScratch,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        match self {
            Self::WordPiece(model) => model.encode(piece, ids),
            Self::Bpe(model) => model.encode(tokens, piece, &mut scratch.bpe, ids),
            Self::Unigram(model) => model.encode(piece, &mut scratch.steps, ids),
            Self::Words(model) => model.encode(tokens, piece, &mut scratch.word, ids),
        }
    }
}

/// The error of a text with something unknown.
const fn no_unknown() -> Error {
    Error::without_offset(ErrorKind::BadVocabulary)
}

/// The ids of the tokens of all bytes, where there are such tokens.
fn byte_ids(find: impl Fn(&str) -> Option<u32>) -> Result<Vec<Option<u32>>> {
    let of = |byte| core::str::from_utf8(&byte_token(byte)).ok().and_then(&find);
    collected((0..=u8::MAX).map(of))
}
