//! Lent memory as a tokenizer takes it apart.

use nanoembed_core::model::tokenizer::{
    ScratchNeeds, Tokenizer, TokenizerMemory, TokenizerNeeds, TokenizerScratch,
};
use nanoembed_core::token::AddedToken;
use nanoembed_core::token::bpe::Merge;
use nanoembed_core::token::bpe::merge::{Candidate, Symbol};
use nanoembed_core::token::sentencepiece::{self, Piece, Slot, Step};

use crate::memory::{Lent, Sum};
use crate::status::{Outcome, TOO_SMALL};

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

/// The bytes that [`scratch`] takes.
pub(crate) fn scratch_bytes(needs: &ScratchNeeds) -> Outcome<usize> {
    let sentencepiece::Needs { text, symbols, heap, steps, splits } = needs.pieces;
    let mut sum = Sum::default();
    sum.add::<Symbol>(needs.symbols)?;
    sum.add::<Candidate>(needs.heap)?;
    sum.add::<u8>(text)?;
    sum.add::<Symbol<sentencepiece::Part>>(symbols)?;
    sum.add::<Candidate<sentencepiece::Part>>(heap)?;
    sum.add::<Step>(steps)?;
    sum.add::<u16>(splits)?;
    Ok(sum.bytes())
}

pub(crate) fn scratch(needs: &ScratchNeeds, lent: &mut Lent) -> Outcome<TokenizerScratch<'static>> {
    let sentencepiece::Needs { text, symbols, heap, steps, splits } = needs.pieces;
    let of_bytes = lent.filled(needs.symbols, Symbol::default())?;
    let heap_of_bytes = lent.filled(needs.heap, Candidate::default())?;
    let pieces = sentencepiece::Scratch::new(
        lent.filled(text, 0)?,
        lent.filled(symbols, Symbol::default())?,
        lent.filled(heap, Candidate::default())?,
        lent.filled(steps, Step::default())?,
        lent.filled(splits, 0)?,
    );
    Ok(TokenizerScratch::new(of_bytes, heap_of_bytes, pieces))
}

/// What a text needs of so many bytes of scratch memory. Byte-level BPE takes less than it may need
/// as long as the words of the text are not longer than that suffices for.
pub(crate) fn fitting(
    tokenizer: &Tokenizer<'_>,
    text: &str,
    scratch_bytes_there: usize,
) -> Outcome<ScratchNeeds> {
    let needs = tokenizer.scratch(text)?;
    if scratch_bytes(&needs)? <= scratch_bytes_there {
        return Ok(needs);
    }
    match tokenizer {
        Tokenizer::BytePairs(_) => Ok(ScratchNeeds::for_words(longest_word(scratch_bytes_there))),
        _ => Err(TOO_SMALL),
    }
}

/// The longest word, in bytes, that so much scratch memory suffices for.
fn longest_word(scratch_bytes_there: usize) -> usize {
    let one = ScratchNeeds::for_words(1);
    let byte = one.symbols * size_of::<Symbol>() + one.heap * size_of::<Candidate>();
    // Pieces are rounded up, which takes a byte or two of the word.
    let fits = |bytes: &usize| {
        let needed = scratch_bytes(&ScratchNeeds::for_words(*bytes));
        needed.is_ok_and(|needed| needed <= scratch_bytes_there)
    };
    (0..=scratch_bytes_there / byte.max(1)).rev().find(fits).unwrap_or(0)
}
