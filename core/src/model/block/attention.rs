//! Self-attention of one head over the texts of a pack, in f32 or in integers.
//!
//! Scores exist for a block of queries at a time: memory grows with the length of the text, not
//! with its square.

use core::ops::Range;

use super::disentangled::{Positions, Terms};
use super::visible::Visible;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::integer::PROBABILITY_ONE;
use crate::kernel::{Kernels, Multiply, MultiplyI16, Table};
use crate::model::config::FAMILIES;

/// Query rows whose scores are computed together.
pub(in crate::model) const QUERY_BLOCK: usize = 32;

/// One head's queries, keys and values for all tokens of a pack.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct Head<'a> {
    /// `[tokens, size]`.
    pub(in crate::model) queries: Table<'a>,
    /// `[size, tokens]`: keys are stored transposed.
    pub(in crate::model) keys: Table<'a>,
    /// `[tokens, size]`.
    pub(in crate::model) values: Table<'a>,
    /// Elements of a query, key or value.
    pub(in crate::model) size: usize,
    /// The factor applied to scores.
    pub(in crate::model) scale: f32,
    /// The tokens that each token attends to.
    pub(in crate::model) visible: Visible,
    /// The relative bias added to scaled scores by key offset: the middle element is for a key at
    /// the query's position, later ones for keys after it. Empty if there is none.
    pub(in crate::model) bias: &'a [f32],
    /// The vectors of positions, among queries and keys.
    pub(in crate::model) positions: Positions<'a>,
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// A text's rows among those of a pack, whose first rows are those of tokens that all texts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct TextRows {
    /// The row of the text's first token, if all are in their place.
    start: usize,
    /// Tokens of the text.
    tokens: usize,
    /// The number of first tokens that are in the pack's first rows. Zero-sized in builds for BERT
    /// alone.
    elsewhere: [usize; FAMILIES as usize],
}

impl TextRows {
    pub(in crate::model) const fn new(start: usize, tokens: usize, elsewhere: usize) -> Self {
        Self { start, tokens, elsewhere: [elsewhere; FAMILIES as usize] }
    }

    /// The number of tokens in their place.
    pub(in crate::model) const fn own(&self) -> usize {
        self.tokens - self.elsewhere()
    }

    /// The number of first tokens that are not: none in builds for BERT alone.
    pub(in crate::model) const fn elsewhere(&self) -> usize {
        match self.elsewhere.as_slice() {
            [elsewhere, ..] => *elsewhere,
            [] => 0,
        }
    }

    /// The rows of the tokens in their place.
    pub(in crate::model) const fn own_rows(&self) -> Range<usize> {
        self.start + self.elsewhere()..self.start + self.tokens
    }

    /// Returns true if the first tokens are not directly before the others: keys and values of such
    /// a text are copied to tables of its own.
    pub(in crate::model) const fn are_apart(&self) -> bool {
        self.elsewhere() > 0 && self.start > 0
    }

    /// The row of the first key and value.
    const fn first_key(&self) -> usize {
        if self.are_apart() { 0 } else { self.start }
    }
}

impl<'a> Head<'a> {
    /// The products of the vectors of positions, if there are any.
    fn terms<'m>(&self, tokens: usize, memory: &'m mut [f32]) -> Result<Option<Terms<'a, 'm>>> {
        if FAMILIES { self.positions.terms((tokens, QUERY_BLOCK), memory) } else { Ok(None) }
    }

    /// Adds the relative bias to the scores of a token with the keys from `first` on.
    fn add_bias(&self, token: usize, first: usize, scores: &mut [f32]) {
        if FAMILIES && !self.bias.is_empty() {
            let start = (self.bias.len() / 2 + first).saturating_sub(token);
            let bias = self.bias.get(start..).unwrap_or_default();
            for (score, bias) in scores.iter_mut().zip(bias) {
                *score += bias / self.scale;
            }
        }
    }
}

/// softmax(Q · Kᵀ · scale) · V in f32 for the tokens of a text, into their rows of `out`.
pub(in crate::model) fn attend(
    kernels: &Kernels,
    head: &Head<'_>,
    text: &TextRows,
    scores: &mut [f32],
    out: &mut [f32],
) -> Result<()> {
    let TextRows { start, tokens, .. } = *text;
    let first_key = text.first_key();
    let Head { queries, keys, values, size, scale, visible, .. } = *head;
    let key_stride = keys.stride;
    let (scores, memory) = match FAMILIES {
        true => scores.split_at_mut_checked(QUERY_BLOCK * key_stride).ok_or(TOO_SMALL)?,
        false => (scores, &mut [][..]),
    };
    let mut terms = head.terms(tokens, memory)?;
    if let Some(terms) = &mut terms {
        let places = terms.places();
        (kernels.multiply_f32)(Multiply::new(
            queries.rows(places.start, places.len()),
            keys.skip(first_key),
            terms.by_key,
            terms.key_stride,
            (places.len(), tokens, size),
        )?);
    }
    let mut first = text.elsewhere();
    while first < tokens {
        let block = QUERY_BLOCK.min(tokens - first);
        let rows = start + first;
        let seen = visible.tokens_of(first..first + block, tokens);
        (kernels.multiply_f32)(Multiply::new(
            queries.rows(rows, block),
            keys.skip(first_key + seen.start),
            scores,
            key_stride,
            (block, seen.len(), size),
        )?);
        if let Some(terms) = &mut terms {
            let places = terms.places();
            (kernels.multiply_f32)(Multiply::new(
                queries.rows(rows, block),
                keys.skip(places.start),
                terms.by_query,
                places.len(),
                (block, places.len(), size),
            )?);
            terms.add(first..first + block, seen.clone(), (&mut *scores, key_stride));
        }
        for (token, row) in (first..).zip(scores.chunks_mut(key_stride.max(1)).take(block)) {
            if let Some(row) = row.get_mut(..seen.len()) {
                head.add_bias(token, seen.start, row);
                let own = visible.among(token, &seen, tokens);
                if FAMILIES {
                    row.get_mut(..own.start).unwrap_or_default().fill(0.0);
                    row.get_mut(own.end..).unwrap_or_default().fill(0.0);
                }
                (kernels.softmax)(row.get_mut(own).unwrap_or_default(), scale);
            }
        }
        (kernels.multiply_f32)(Multiply::new(
            Table { data: scores, stride: key_stride },
            values.rows(first_key + seen.start, seen.len()),
            out.get_mut(rows * size..).unwrap_or_default(),
            size,
            (block, size, seen.len()),
        )?);
        first += block;
    }
    Ok(())
}

/// A head in 16-bit codes, and scratch memory for its attention.
///
/// Queries and keys have a scale per token, values a scale per element and text. With codes up to
/// the square root of 2³¹ / size, sums of products of queries and keys fit 31 bits; probabilities
/// add up to 2¹⁵, so their sums with values fit too.
#[derive(Debug)]
pub(in crate::model) struct IntegerHead<'a> {
    /// `[tokens][size]`, an odd size completed by 0.
    pub(in crate::model) queries: &'a mut [u8],
    pub(in crate::model) query_scales: &'a mut [f32],
    /// `[size / 2][tokens][2]`, lines `key_stride` pairs apart.
    pub(in crate::model) keys: &'a mut [u8],
    pub(in crate::model) key_scales: &'a mut [f32],
    /// `[tokens / 2][size][2]` of one text.
    pub(in crate::model) values: &'a mut [u8],
    pub(in crate::model) value_scales: &'a mut [f32],
    /// `[QUERY_BLOCK][tokens]`, an odd number of tokens completed by 0.
    pub(in crate::model) probabilities: &'a mut [u8],
    /// `QUERY_BLOCK` times the value of a probability's code.
    pub(in crate::model) probability_scales: &'a mut [f32],
    /// `[QUERY_BLOCK, tokens]`, rows `key_stride` apart.
    pub(in crate::model) scores: &'a mut [f32],
    /// As long as the longer of a pack and a head.
    pub(in crate::model) inverses: &'a mut [f32],
    /// For the products of positions.
    pub(in crate::model) terms: &'a mut [f32],
}

/// The largest code of a query or key of `size` elements.
#[allow(clippy::cast_precision_loss)] // far below 2²⁴
#[cfg_attr(feature = "small", inline(never))]
fn code_limit(size: usize) -> f32 {
    (i32::MAX as usize / size.max(1)).isqrt().min(32_767) as f32
}

/// The largest code of a value.
const VALUE_LIMIT: f32 = 32_767.0;

impl IntegerHead<'_> {
    /// Quantises the queries and keys of all tokens.
    pub(in crate::model) fn quantize(&mut self, kernels: &Kernels, head: &Head<'_>) {
        let Head { queries, size, .. } = *head;
        let limit = code_limit(size);
        (kernels.quantize_rows)(queries, size, limit, self.queries, self.query_scales);
        self.quantize_keys(kernels, head);
        self.probability_scales.fill(1.0 / PROBABILITY_ONE);
    }

    /// Quantises the keys, in place of others.
    pub(in crate::model) fn quantize_keys(&mut self, kernels: &Kernels, head: &Head<'_>) {
        let Head { keys, size, .. } = *head;
        let codes = (&mut *self.keys, keys.stride);
        let limit = code_limit(size);
        (kernels.quantize_columns)(keys, limit, codes, self.key_scales, self.inverses);
    }

    /// As [`attend`], in integers.
    pub(in crate::model) fn attend(
        &mut self,
        kernels: &Kernels,
        head: &Head<'_>,
        text: &TextRows,
        out: &mut [f32],
    ) -> Result<()> {
        let TextRows { start, tokens, .. } = *text;
        let first_key = text.first_key();
        let Head { values, size, scale, visible, .. } = *head;
        let key_stride = head.keys.stride;
        let (values, codes) = (values.rows(first_key, tokens), (&mut *self.values, size));
        (kernels.quantize_columns)(values, VALUE_LIMIT, codes, self.value_scales, self.inverses);
        let size_pairs = size.div_ceil(2);
        let mut terms = head.terms(tokens, &mut *self.terms)?;
        if let Some(terms) = &mut terms {
            let places = terms.places();
            (kernels.multiply_i16)(MultiplyI16::new(
                (self.queries.get(places.start * size_pairs * 4..).unwrap_or_default(), size_pairs),
                (self.keys.get(first_key * 4..).unwrap_or_default(), key_stride),
                size_pairs,
                self.query_scales.get(places).unwrap_or_default(),
                self.key_scales.get(first_key..first_key + tokens).unwrap_or_default(),
                (&mut *terms.by_key, terms.key_stride),
            )?);
        }
        let mut first = text.elsewhere();
        while first < tokens {
            let block = QUERY_BLOCK.min(tokens - first);
            let rows = start + first;
            let mut seen = visible.tokens_of(first..first + block, tokens);
            // Values are stored in pairs.
            seen.start &= !1;
            let token_pairs = seen.len().div_ceil(2);
            let place = first_key + seen.start;
            (kernels.multiply_i16)(MultiplyI16::new(
                (self.queries.get(rows * size_pairs * 4..).unwrap_or_default(), size_pairs),
                (self.keys.get(place * 4..).unwrap_or_default(), key_stride),
                size_pairs,
                self.query_scales.get(rows..rows + block).unwrap_or_default(),
                self.key_scales.get(place..place + seen.len()).unwrap_or_default(),
                (&mut *self.scores, key_stride),
            )?);
            if let Some(terms) = &mut terms {
                let places = terms.places();
                (kernels.multiply_i16)(MultiplyI16::new(
                    (self.queries.get(rows * size_pairs * 4..).unwrap_or_default(), size_pairs),
                    (self.keys.get(places.start * 4..).unwrap_or_default(), key_stride),
                    size_pairs,
                    self.query_scales.get(rows..rows + block).unwrap_or_default(),
                    self.key_scales.get(places.clone()).unwrap_or_default(),
                    (&mut *terms.by_query, places.len()),
                )?);
                terms.add(first..first + block, seen.clone(), (&mut *self.scores, key_stride));
            }
            let codes = self.probabilities.chunks_exact_mut((token_pairs * 4).max(1));
            let rows_of_scores = self.scores.chunks_mut(key_stride.max(1)).zip(codes);
            for (token, (row, codes)) in (first..).zip(rows_of_scores.take(block)) {
                if let Some(row) = row.get_mut(..seen.len()) {
                    head.add_bias(token, seen.start, row);
                    let own = visible.among(token, &seen, tokens);
                    let (before, codes) =
                        codes.split_at_mut_checked(own.start * 2).unwrap_or_default();
                    before.fill(0);
                    (kernels.softmax_i16)(row.get_mut(own).unwrap_or_default(), scale, codes);
                }
            }
            (kernels.multiply_i16)(MultiplyI16::new(
                (self.probabilities, token_pairs),
                (self.values.get(seen.start * size * 2..).unwrap_or_default(), size),
                token_pairs,
                self.probability_scales.get(..block).unwrap_or_default(),
                self.value_scales,
                (out.get_mut(rows * size..).unwrap_or_default(), size),
            )?);
            first += block;
        }
        Ok(())
    }
}
