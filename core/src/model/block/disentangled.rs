//! Disentangled attention (He et al. 2021): each offset of a query from a key has a vector, from
//! which every layer makes a query and a key as it does from tokens. The score of query i and key j
//! is q_i · k_j + q_i · k_p + p_q · k_j for the position p of i − j.
//!
//! The vectors follow the tokens in the attention's input, so that their queries and keys are
//! computed with those of the tokens.

use core::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::kernel::pieces::{pieces, pieces_mut};
use crate::model::config::Disentangled;

/// The keys of a cache line. Neighbouring queries have the products of the next lines with a key, so
/// that some queries with a line of keys use the same few lines again and again.
const KEYS_A_LINE: usize = 16;

/// The stride of products with keys: an odd number of lines, so that products of neighbouring rows
/// do not map to the same few cache sets.
pub(in crate::model) const fn key_stride(tokens: usize) -> usize {
    (tokens.div_ceil(KEYS_A_LINE) | 1).saturating_mul(KEYS_A_LINE)
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl Disentangled {
    /// The row of the table for queries `offset` positions after their keys (before them if
    /// negative). Without buckets each offset has a row; with them, half of the offsets in reach of
    /// the rows have, and others share rows by the logarithm of their distance.
    pub(in crate::model) fn row(&self, offset: isize) -> usize {
        let half = self.buckets / 2;
        let distance = offset.unsigned_abs();
        let distance = if self.buckets == 0 || distance <= half {
            distance
        } else {
            // In f32, as in training.
            #[allow(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss
            )]
            let far = {
                let ratio = |distance: usize| libm::logf(distance as f32 / half.max(1) as f32);
                let most = ratio(self.distance.saturating_sub(1));
                libm::ceilf(ratio(distance) / most * half.saturating_sub(1) as f32) as usize
            };
            half.saturating_add(far)
        };
        let span = self.span();
        match offset < 0 {
            true => span.saturating_sub(distance),
            false => span.saturating_add(distance).min(self.rows().saturating_sub(1)),
        }
    }
}

/// The vectors of the positions of a pack, in the input of its attention.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct Positions<'a> {
    /// The vector for each offset, counted from the first one, from the lowest offset on; as floats,
    /// as all of the workspace is.
    pub(in crate::model) by_offset: &'a [f32],
    /// The first vector's row in queries and keys: the number of the pack's tokens.
    pub(in crate::model) first: usize,
    /// The number of vectors; 0 without disentangled attention.
    pub(in crate::model) count: usize,
}

/// A whole number that is stored as a float.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
const fn whole(number: f32) -> usize {
    number as usize
}

impl<'a> Positions<'a> {
    pub(in crate::model) const NONE: Self = Self { by_offset: &[], first: 0, count: 0 };

    /// The vector for an offset: the middle element is for queries at their key's position.
    fn at(&self, offset: isize) -> usize {
        let place = (self.by_offset.len() / 2).saturating_add_signed(offset);
        self.by_offset.get(place).map_or(0, |row| whole(*row))
    }

    /// Memory for the products of these vectors with the keys of a text of `tokens` tokens and with
    /// up to `queries` queries; `None` without disentangled attention.
    pub(in crate::model) fn terms<'m>(
        &self,
        (tokens, queries): (usize, usize),
        mut memory: &'m mut [f32],
    ) -> Result<Option<Terms<'a, 'm>>> {
        if self.count == 0 {
            return Ok(None);
        }
        let farthest = tokens.saturating_sub(1).cast_signed();
        let rows = self.at(-farthest)..self.at(farthest) + 1;
        let key_stride = key_stride(tokens);
        let by_key = memory.split_off_mut(..rows.len() * key_stride).ok_or(TOO_SMALL)?;
        let by_query = memory.split_off_mut(..rows.len() * queries).ok_or(TOO_SMALL)?;
        Ok(Some(Terms { positions: *self, rows, by_key, key_stride, by_query }))
    }
}

/// The products of positions' vectors with the keys and queries of a text.
#[derive(Debug)]
pub(in crate::model) struct Terms<'a, 'm> {
    positions: Positions<'a>,
    /// The vectors that the text needs.
    rows: Range<usize>,
    /// `[rows, tokens]`, rows `key_stride` apart.
    pub(in crate::model) by_key: &'m mut [f32],
    pub(in crate::model) key_stride: usize,
    /// `[queries, rows]`.
    pub(in crate::model) by_query: &'m mut [f32],
}

impl Terms<'_, '_> {
    /// The vectors' rows in queries and keys.
    pub(in crate::model) const fn places(&self) -> Range<usize> {
        let first = self.positions.first;
        first + self.rows.start..first + self.rows.end
    }

    /// Adds the terms to the scores of a block of queries with some keys, in rows of `stride`.
    pub(in crate::model) fn add(
        &self,
        queries: Range<usize>,
        keys: Range<usize>,
        (scores, stride): (&mut [f32], usize),
    ) {
        let by_offset = self.positions.by_offset;
        let mut first = keys.start;
        while first < keys.end {
            let count = KEYS_A_LINE.min(keys.end - first);
            let rows = pieces_mut(&mut *scores, stride).zip(pieces(self.by_query, self.rows.len()));
            for (query, (row, by_query)) in queries.clone().zip(rows) {
                let at = first - keys.start;
                let row = row.get_mut(at..at + count).unwrap_or_default();
                let farthest = (by_offset.len() / 2 + query).saturating_sub(first);
                let offsets = by_offset.get(..=farthest).unwrap_or_default().iter().rev();
                for ((key, score), place) in (first..).zip(row).zip(offsets) {
                    let place = whole(*place).saturating_sub(self.rows.start);
                    let by_key = self.by_key.get(place * self.key_stride + key);
                    let both = [by_query.get(place), by_key];
                    both.into_iter().flatten().for_each(|term| *score += term);
                }
            }
            first += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of `make_log_bucket_position` in transformers 5, computed by hand in f64.
    #[test]
    fn near_offsets_have_rows_of_their_own_and_far_ones_share() {
        let deberta = Disentangled::new(256, 512, true).unwrap();
        let offsets = [0, 1, -1, 127, 128, 129, -129, 130, 216, 500, 511, -511, 512, 9000, -9000];
        let expected =
            [0, 1, -1, 127, 128, 129, -129, 130, 177, 254, 255, -255, 256, 257, -256_isize];
        for (offset, expected) in offsets.into_iter().zip(expected) {
            let expected = (256 + expected).clamp(0, 511).cast_unsigned();
            assert_eq!(deberta.row(offset), expected, "{offset}");
        }
        let plain = Disentangled::new(0, 4, true).unwrap();
        let rows = [-5, -4, -3, 0, 3, 4].map(|offset| plain.row(offset));
        assert_eq!(rows, [0, 0, 1, 4, 7, 7]);
    }

    #[test]
    fn no_row_is_beyond_the_table() {
        for buckets in [0, 1, 2, 3, 4, 7, 16, 1 << 24] {
            for distance in [0, 1, 2, 3, 4, 5, 9, 10, 64, 1 << 24] {
                let Some(table) = Disentangled::new(buckets, distance, false) else { continue };
                for offset in [0, 1, 2, 3, 9, 64, 1 << 24, 1 << 30] {
                    let rows = [offset, -offset].map(|offset| table.row(offset));
                    assert!(rows.iter().all(|row| *row < table.rows()), "{table:?} {offset}");
                }
            }
        }
    }
}
