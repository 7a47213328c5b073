//! A vocabulary with memory of its own, whichever file it comes from.

use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::filled;
use crate::model::{
    WordPieceIndex, WordPieceMemory, WordPieceNeeds, WordPieceSource, WordPieceTables,
};
use crate::token::{AddedToken, Entries, HashVocabulary, WordPiece};

/// The memory of the index over the tokens of a file, which stay where they lie.
#[derive(Clone, Debug)]
pub(super) struct VocabularyIndex {
    index: WordPieceIndex,
    text: Vec<u8>,
    samples: Vec<u32>,
    slots: Vec<u32>,
    added: Vec<AddedToken>,
}

impl VocabularyIndex {
    pub(super) fn new(source: &WordPieceSource<'_>) -> Result<Self> {
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
        Ok(Self { index, text, samples, slots, added })
    }

    pub(super) fn tokenizer<'a>(
        &'a self,
        file: &'a [u8],
    ) -> Result<WordPiece<HashVocabulary<'a, Entries<'a>>>> {
        let Self { text, samples, slots, added, .. } = self;
        self.index.resume(file, WordPieceTables { text, samples, slots, added })
    }
}
