//! Lent memory as the WordPiece tokenizer of an encoder takes it apart.

use nanoembed_core::model::{WordPieceMemory, WordPieceNeeds};
use nanoembed_core::token::AddedToken;

use crate::memory::{Lent, Sum};
use crate::status::Outcome;

/// Adds what [`memory`] takes.
pub(crate) fn add_bytes(needs: &WordPieceNeeds, sum: &mut Sum) -> Outcome {
    sum.add::<u8>(needs.text)?;
    sum.add::<u32>(needs.samples)?;
    sum.add::<u32>(needs.slots)?;
    sum.add::<AddedToken>(needs.added)?;
    sum.add::<u32>(needs.added_ids)
}

pub(crate) fn memory(needs: &WordPieceNeeds, lent: &mut Lent) -> Outcome<WordPieceMemory<'static>> {
    Ok(WordPieceMemory {
        text: lent.filled(needs.text, 0)?,
        samples: lent.filled(needs.samples, 0)?,
        slots: lent.filled(needs.slots, 0)?,
        added: lent.filled(needs.added, AddedToken::default())?,
        added_ids: lent.filled(needs.added_ids, 0)?,
    })
}
