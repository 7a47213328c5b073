//! Memory of an index over a tokenizer.

use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::filled;
use crate::source::tokenizer::{TokenizerMemory, TokenizerNeeds};
use crate::token::AddedToken;
use crate::token::bpe::Merge;
use crate::token::sentencepiece::{Piece, Slot};

/// The elements of each kind.
#[derive(Clone, Debug, Default)]
pub(super) struct TokenizerRoom {
    pub(super) text: Vec<u8>,
    pub(super) samples: Vec<u32>,
    pub(super) slots: Vec<u32>,
    pub(super) merges: Vec<Merge>,
    pub(super) merge_slots: Vec<u32>,
    pub(super) pieces: Vec<Piece>,
    pub(super) piece_slots: Vec<Slot>,
    pub(super) added: Vec<AddedToken>,
    pub(super) added_ids: Vec<u32>,
}

impl TokenizerRoom {
    /// As much as `needs` says.
    pub(super) fn new(needs: &TokenizerNeeds) -> Result<Self> {
        Ok(Self {
            text: filled(needs.text, 0)?,
            samples: filled(needs.samples, 0)?,
            slots: filled(needs.slots, 0)?,
            merges: filled(needs.merges, Merge::default())?,
            merge_slots: filled(needs.merge_slots, 0)?,
            pieces: filled(needs.pieces, Piece::default())?,
            piece_slots: filled(needs.piece_slots, Slot::default())?,
            added: filled(needs.added, AddedToken::default())?,
            added_ids: filled(needs.added_ids, 0)?,
        })
    }

    /// All of it.
    pub(super) fn lend(&mut self) -> TokenizerMemory<'_> {
        TokenizerMemory {
            text: &mut self.text,
            samples: &mut self.samples,
            slots: &mut self.slots,
            merges: &mut self.merges,
            merge_slots: &mut self.merge_slots,
            pieces: &mut self.pieces,
            piece_slots: &mut self.piece_slots,
            added: &mut self.added,
            added_ids: &mut self.added_ids,
        }
    }
}
