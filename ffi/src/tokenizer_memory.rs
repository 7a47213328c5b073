//! Lent memory as the texts of a tokenizer take it apart.

use nanoembed_core::source::tokenizer::{ScratchNeeds, Tokenizer, TokenizerScratch};
use nanoembed_core::token::bpe::merge::{Candidate, Symbol};
use nanoembed_core::token::sentencepiece::{self, Step};

use crate::memory::{Lent, Sum};
use crate::status::{Outcome, TOO_SMALL};

/// The bytes that [`scratch`] takes.
pub(crate) fn scratch_bytes(needs: &ScratchNeeds) -> Outcome<usize> {
    let sentencepiece::PieceNeeds { text, symbols, heap, steps, splits } = needs.pieces;
    let mut sum = Sum::default();
    sum.add::<Symbol>(needs.symbols)?;
    sum.add::<Candidate>(needs.heap)?;
    sum.add::<u8>(text)?;
    sum.add::<Symbol<sentencepiece::PiecePart>>(symbols)?;
    sum.add::<Candidate<sentencepiece::PiecePart>>(heap)?;
    sum.add::<Step>(steps)?;
    sum.add::<u16>(splits)?;
    Ok(sum.bytes())
}

pub(crate) fn scratch(needs: &ScratchNeeds, lent: &mut Lent) -> Outcome<TokenizerScratch<'static>> {
    let sentencepiece::PieceNeeds { text, symbols, heap, steps, splits } = needs.pieces;
    let of_bytes = lent.filled(needs.symbols, Symbol::default())?;
    let heap_of_bytes = lent.filled(needs.heap, Candidate::default())?;
    let pieces = sentencepiece::PieceScratch::new(
        lent.filled(text, 0)?,
        lent.filled(symbols, Symbol::default())?,
        lent.filled(heap, Candidate::default())?,
        lent.filled(steps, Step::default())?,
        lent.filled(splits, 0)?,
    );
    Ok(TokenizerScratch::new(of_bytes, heap_of_bytes, pieces))
}

/// The share of so many bytes of scratch memory that tokenising a text uses. Byte-level BPE can do
/// with less than its maximum while the words of the text are short enough.
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
