//! A vocabulary with memory of its own, whichever file it comes from.

use super::tokenizer_room::TokenizerRoom;
use crate::error::Result;
use crate::model::{WordPieceIndex, WordPieceSource, WordPieceTables};
use crate::token::{Entries, HashVocabulary, WordPiece};

/// The memory of the index over the tokens of a file, which stay where they lie.
#[derive(Clone, Debug)]
pub(super) struct VocabularyIndex {
    index: WordPieceIndex,
    room: TokenizerRoom,
}

impl VocabularyIndex {
    pub(super) fn new(source: &WordPieceSource<'_>) -> Result<Self> {
        let mut room = TokenizerRoom::new(&source.needs())?;
        let index = source.index(&mut room.lend())?;
        Ok(Self { index, room })
    }

    pub(super) fn tokenizer<'a>(
        &'a self,
        file: &'a [u8],
    ) -> Result<WordPiece<HashVocabulary<'a, Entries<'a>>>> {
        let TokenizerRoom { text, samples, slots, added, .. } = &self.room;
        self.index.resume(file, WordPieceTables { text, samples, slots, added })
    }
}
