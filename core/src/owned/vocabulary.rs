//! A WordPiece vocabulary in memory from the heap, whichever file it comes from.

use alloc::vec::Vec;

use super::tokenizer_room::TokenizerRoom;
use crate::error::Result;
use crate::limit::append;
use crate::model::{WordPieceIndex, WordPieceSource, WordPieceTables};
use crate::token::{Entries, HashVocabulary, SpecialIds, WordPiece};

/// The tokens of a file, and the index over them.
#[derive(Clone, Debug)]
pub(super) struct VocabularyIndex {
    index: WordPieceIndex,
    /// The tokens as the file has them; empty if the room has them.
    tokens: Vec<u8>,
    room: TokenizerRoom,
}

impl VocabularyIndex {
    /// The vocabulary that `source` found in `file`.
    pub(super) fn new(file: &[u8], source: &WordPieceSource<'_>) -> Result<Self> {
        let mut room = TokenizerRoom::new(&source.needs())?;
        let index = source.index(&mut room.lend())?;
        let mut tokens = Vec::new();
        append(&mut tokens, index.stored_tokens(file, &room.samples)?)?;
        Ok(Self { index, tokens, room })
    }

    pub(super) const fn special(&self) -> &SpecialIds {
        self.index.special()
    }

    pub(super) fn tokenizer(&self) -> Result<WordPiece<HashVocabulary<'_, Entries<'_>>>> {
        let Self { index, tokens, room } = self;
        let TokenizerRoom { text, samples, slots, added, .. } = room;
        index.resume_over(tokens, WordPieceTables { text, samples, slots, added })
    }
}
