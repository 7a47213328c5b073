//! A WordPiece vocabulary in memory from the heap, whichever file it comes from.

use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::{append, filled};
use crate::model::{
    WordPieceIndex, WordPieceMemory, WordPieceNeeds, WordPieceSource, WordPieceTables,
};
use crate::token::{AddedToken, Entries, HashVocabulary, WordPiece};

/// The tokens of a file, and the index over them.
#[derive(Clone, Debug)]
pub(super) struct VocabularyIndex {
    index: WordPieceIndex,
    /// The tokens as the file has them; empty if `text` has them.
    tokens: Vec<u8>,
    text: Vec<u8>,
    samples: Vec<u32>,
    slots: Vec<u32>,
    added: Vec<AddedToken>,
}

impl VocabularyIndex {
    /// The vocabulary that `source` found in `file`.
    pub(super) fn new(file: &[u8], source: &WordPieceSource<'_>) -> Result<Self> {
        let WordPieceNeeds { text, samples, slots, added, added_ids } = source.needs();
        let mut text = filled(text, 0)?;
        let (mut samples, mut slots) = (filled(samples, 0)?, filled(slots, 0)?);
        let mut added = filled(added, AddedToken::default())?;
        let index = source.index(&mut WordPieceMemory {
            text: &mut text,
            samples: &mut samples,
            slots: &mut slots,
            added: &mut added,
            added_ids: &mut filled(added_ids, 0)?,
        })?;
        let mut tokens = Vec::new();
        append(&mut tokens, index.stored_tokens(file, &samples)?)?;
        Ok(Self { index, tokens, text, samples, slots, added })
    }

    pub(super) fn tokenizer(&self) -> Result<WordPiece<HashVocabulary<'_, Entries<'_>>>> {
        let Self { index, tokens, text, samples, slots, added } = self;
        index.resume_over(tokens, WordPieceTables { text, samples, slots, added })
    }
}
