//! Lent memory as the index over a tokenizer takes it apart.

use nanoembed_core::source::tokenizer::{TokenizerMemory, TokenizerNeeds};
use nanoembed_core::token::AddedToken;
use nanoembed_core::token::bpe::Merge;
use nanoembed_core::token::sentencepiece::{Piece, Slot};

use crate::memory::{Lent, Sum};
use crate::status::Outcome;

/// Adds what [`memory`] takes.
pub(crate) fn add_bytes(needs: &TokenizerNeeds, sum: &mut Sum) -> Outcome {
    sum.add::<u8>(needs.text)?;
    sum.add::<u32>(needs.samples)?;
    sum.add::<u32>(needs.slots)?;
    sum.add::<Merge>(needs.merges)?;
    sum.add::<u32>(needs.merge_slots)?;
    sum.add::<Piece>(needs.pieces)?;
    sum.add::<Slot>(needs.piece_slots)?;
    sum.add::<AddedToken>(needs.added)?;
    sum.add::<u32>(needs.added_ids)
}

pub(crate) fn memory(needs: &TokenizerNeeds, lent: &mut Lent) -> Outcome<TokenizerMemory<'static>> {
    Ok(TokenizerMemory {
        text: lent.filled(needs.text, 0)?,
        samples: lent.filled(needs.samples, 0)?,
        slots: lent.filled(needs.slots, 0)?,
        merges: lent.filled(needs.merges, Merge::default())?,
        merge_slots: lent.filled(needs.merge_slots, 0)?,
        pieces: lent.filled(needs.pieces, Piece::default())?,
        piece_slots: lent.filled(needs.piece_slots, Slot::default())?,
        added: lent.filled(needs.added, AddedToken::default())?,
        added_ids: lent.filled(needs.added_ids, 0)?,
    })
}
