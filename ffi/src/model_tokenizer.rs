//! The tokenizers of models in lent memory.

use nanoembed_core::ErrorKind;
use nanoembed_core::source::folder_tokenizer::FolderTokenizer;
use nanoembed_core::source::stored::{StoredIds, StoredTokens};
use nanoembed_core::token::{Encoded, Entries, HashVocabulary, SortedVocabulary, WordPiece};

use crate::leaf::{self, Part};
use crate::source::Bytes;
use crate::status::Outcome;

/// The tokenizer of a model.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // in the caller's memory
pub(crate) enum Tokenizer {
    None,
    /// By the file's own order of its tokens.
    InFile(WordPiece<SortedVocabulary<'static, StoredTokens<Bytes>, StoredIds<Bytes>>>),
    /// By an index in memory.
    Indexed(WordPiece<HashVocabulary<'static, Entries<'static>>>),
    /// As the texts of a folder say it, by an index in memory.
    Folder(Part<leaf::Families, FolderTokenizer<'static>>),
}

impl Tokenizer {
    /// The ids of a text by WordPiece, special tokens included.
    pub(crate) fn by_word_pieces(&self, text: &str, ids: &mut [u32]) -> Outcome<Encoded> {
        match self {
            Self::InFile(tokenizer) => Ok(tokenizer.encode(text, ids)?),
            Self::Indexed(tokenizer) => Ok(tokenizer.encode(text, ids)?),
            _ => Err(ErrorKind::MissingVocabulary.into()),
        }
    }
}
