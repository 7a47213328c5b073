//! A tokenizer without the memory of its index.

use super::added::AddedTables;
use crate::error::{Error, ErrorKind, Result};
use crate::token::vocabulary::HashIndex;
use crate::token::{
    AddedToken, Entries, HashVocabulary, LengthPrefix, Normalization, SpecialIds, WordPiece,
};

/// The result of [`WordPieceSource::index`](super::WordPieceSource::index).
#[derive(Clone, Copy, Debug)]
pub struct WordPieceIndex {
    pub(super) offset: u64,
    pub(super) count: u32,
    pub(super) prefix: LengthPrefix,
    /// True if the tokens lie in lent memory rather than in the file, in so many bytes.
    pub(super) is_respelled: bool,
    pub(super) token_bytes: usize,
    pub(super) hash: HashIndex,
    pub(super) added: AddedTables,
    /// True if tokens with a role are found in texts though they were not added.
    pub(super) finds_roles: bool,
    pub(super) special: SpecialIds,
    pub(super) normalization: Normalization,
}

/// The memory of an index: the same slices as those of
/// [`TokenizerMemory`](crate::source::tokenizer::TokenizerMemory).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WordPieceTables<'a> {
    /// Tokens that the file spells otherwise, and the spellings of added ones.
    pub text: &'a [u8],
    /// Where some of the tokens lie.
    pub samples: &'a [u32],
    /// Tokens by the hashes of their spellings.
    pub slots: &'a [u32],
    /// Tokens that were added to the vocabulary.
    pub added: &'a [AddedToken],
}

impl WordPieceIndex {
    /// The number of tokens that words are spelled with.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The ids of the special tokens.
    #[must_use]
    pub const fn special(&self) -> &SpecialIds {
        &self.special
    }

    /// The tokenizer of `file`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file is shorter than it was.
    pub fn resume<'a>(
        &self,
        file: &'a [u8],
        tables: WordPieceTables<'a>,
    ) -> Result<WordPiece<HashVocabulary<'a, Entries<'a>>>> {
        let bytes = match self.is_respelled {
            true => Some(tables.text),
            false => usize::try_from(self.offset).ok().and_then(|start| file.get(start..)),
        };
        let bytes = bytes.ok_or(Error::new(self.offset, ErrorKind::BadVocabulary))?;
        self.over(bytes, tables)
    }

    /// The tokens as they are stored in `file`; empty if they are in lent memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file is shorter than it was.
    #[cfg(feature = "alloc")]
    pub(crate) fn stored_tokens<'a>(&self, file: &'a [u8], samples: &[u32]) -> Result<&'a [u8]> {
        if self.is_respelled {
            return Ok(&[]);
        }
        let start = usize::try_from(self.offset).ok();
        let bytes = start.and_then(|start| file.get(start..)).unwrap_or_default();
        let entries = Entries::resume(bytes, self.offset, self.count, self.prefix, samples);
        let bad = Error::new(self.offset, ErrorKind::BadVocabulary);
        bytes.get(..entries.size()?).ok_or(bad)
    }

    /// The tokenizer over [stored tokens](Self::stored_tokens).
    #[cfg(feature = "alloc")]
    pub(crate) fn resume_over<'a>(
        &self,
        tokens: &'a [u8],
        tables: WordPieceTables<'a>,
    ) -> Result<WordPiece<HashVocabulary<'a, Entries<'a>>>> {
        self.over(if self.is_respelled { tables.text } else { tokens }, tables)
    }

    /// The tokenizer whose tokens lie in `bytes`.
    pub(super) fn over<'a>(
        &self,
        bytes: &'a [u8],
        tables: WordPieceTables<'a>,
    ) -> Result<WordPiece<HashVocabulary<'a, Entries<'a>>>> {
        let WordPieceTables { text, samples, slots, added } = tables;
        let tokens = Entries::resume(bytes, self.offset, self.count, self.prefix, samples);
        let vocabulary = HashVocabulary::resume(tokens, slots, self.hash);
        let spellings = text.get(self.token_bytes..).unwrap_or_default();
        let vocabulary = vocabulary.with_added(self.added.resume(spellings, added));
        match self.finds_roles {
            true => WordPiece::new(vocabulary, self.special, self.normalization),
            false => Ok(WordPiece::unspelled(vocabulary, self.special, self.normalization)),
        }
    }
}
