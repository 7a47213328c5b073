//! f32 products x · Wᵀ with 128-bit vectors, whose lanes are tokens: see [`token_lanes`]. A token's
//! sum takes the columns in order, so it does not depend on the number of tokens. A single token
//! takes another path, see [`one_token`].

use core::ops::Range;

use super::instructions::Instructions;
use super::lanes::LANES;
use super::one_token;
use super::token_lanes::{self, BAND, Packed};
use crate::kernel::pieces::even_size;
use crate::kernel::product::Product;

/// Elements of the rows that all tokens are multiplied with before the next block: 96 rows of 384,
/// which fit L2 next to the tokens.
const BLOCK: usize = 96 * 384;
/// A number of rows for which all tiles are whole.
const WHOLE_TILES: usize = 12;

/// See [`Product`]: as many tokens at a time as fit the buffer.
pub(super) fn product<I: Instructions>(mut product: Product<'_>) {
    let room = Packed::room(product.cols);
    if product.tokens == 1 || room == 0 {
        return (0..product.tokens).for_each(|token| one_token::product::<I>(&mut product, token));
    }
    let mut packed = Packed::new();
    // Evenly divided: a few remaining tokens would read all rows once more.
    let part_tokens = even_size(product.tokens, room).next_multiple_of(LANES);
    for tokens in chunks(0..product.tokens, part_tokens) {
        part::<I>(&mut product, tokens, &mut packed);
    }
}

/// Some tokens, which fit the buffer, and all rows.
fn part<I: Instructions>(product: &mut Product<'_>, tokens: Range<usize>, packed: &mut Packed) {
    let block = if tokens.len() > BAND * LANES {
        (BLOCK / product.cols / WHOLE_TILES).max(1) * WHOLE_TILES
    } else {
        product.rows
    };
    for (before, tokens) in bands(tokens.clone()) {
        // SAFETY: the tokens exist, and the buffer has room for all of them.
        unsafe { packed.pack(product, tokens, before) };
    }
    for rows in chunks(0..product.rows, block) {
        for (before, tokens) in bands(tokens.clone()) {
            let band = packed.band(product, tokens, before);
            token_lanes::band::<I>(product, &band, rows.clone());
        }
    }
}

/// `tokens` in bands whose numbers of vectors differ by at most one, with the number of vectors
/// before each: a band of one vector reads the rows as often as one of three.
fn bands(tokens: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    let vectors = tokens.len().div_ceil(LANES);
    let count = vectors.div_ceil(BAND);
    (0..count).map(move |band| {
        let [first, end] = [band, band + 1].map(|band| band * vectors / count);
        (first, tokens.start + first * LANES..tokens.end.min(tokens.start + end * LANES))
    })
}

/// `range` in pieces of `length`, at least one; the last may be shorter.
fn chunks(range: Range<usize>, length: usize) -> impl Iterator<Item = Range<usize>> {
    let (end, length) = (range.end, length.max(1));
    range.step_by(length).map(move |first| first..end.min(first + length))
}
