//! The nearest words to queries: those whose vectors have the largest cosines with them.
//!
//! The core's search takes dot products with rows as they are stored, which are cosines if rows
//! have length 1. `convert` makes them so, but a file may have rows of any length: these are
//! divided by their lengths on the way, which takes about twice as long. A sample of the rows tells
//! which it is.

use std::ops::Range;

use nanoembed_core::format::finalfusion::Storage;
use nanoembed_core::kernel::{self, FloatOperand, Product, Strides};
use nanoembed_core::words::{Scored, SearchMemory, TopK, normalize};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::file::Indexed;
use crate::error::Result;
use crate::parallel;

/// The number of queries that share a pass over the matrix.
pub const QUERIES: usize = 64;

/// The number of rows that tell whether all have length 1.
const SAMPLE: usize = 1024;

/// The number of rows that are divided by their lengths and scored at once.
const BLOCK_ROWS: usize = 64;

/// Words to search among.
pub struct Nearest<'w, 'b> {
    words: &'w Indexed<'b>,
    has_unit_rows: bool,
}

impl<'w, 'b> Nearest<'w, 'b> {
    pub fn among(words: &'w Indexed<'b>) -> Result<Self, CoreError> {
        Ok(Self { words, has_unit_rows: has_unit_rows(words)? })
    }

    /// The nearest words to each query, `limit` at most and none of those to `skip`: on all
    /// threads, each searching other rows, all queries in one pass.
    pub fn find(
        &self,
        queries: &mut [f32],
        skip: &[Vec<u32>],
        limit: usize,
    ) -> Result<Vec<Vec<Scored>>, CoreError> {
        let words = self.words;
        let total = words.layout().vocabulary.words;
        let limit = limit.min(total as usize);
        if skip.is_empty() || limit == 0 {
            return limit::exactly(skip.iter().map(|_| Vec::new()));
        }
        if !self.has_unit_rows {
            queries.chunks_mut(words.cols()).for_each(|query| _ = normalize(query));
        }
        let parts = u32::try_from(rayon::current_num_threads()).unwrap_or(1).max(1);
        let part_rows = total.div_ceil(parts).max(1024);
        let starts = limit::exactly((0..total).step_by(part_rows as usize))?;
        let copied = |rows: &[Scored]| limit::exactly(rows.iter().copied());
        let found = parallel::gathered(starts.into_iter(), &|start| {
            let rows = start..total.min(start.saturating_add(part_rows));
            let length = limit.saturating_mul(skip.len());
            let mut memory = limit::filled(length, Scored::default())?;
            let kept = memory.chunks_exact_mut(limit).zip(skip);
            let mut tops = limit::exactly(kept.map(|(memory, skip)| TopK::new(memory, skip)))?;
            match self.has_unit_rows {
                true => self.offer_products(rows, queries, &mut tops)?,
                false => self.offer_cosines(rows, queries, &mut tops)?,
            }
            limit::gathered(tops.iter().map(|top| copied(top.rows())))
        })?;
        limit::gathered(skip.iter().enumerate().map(|(query, skip)| {
            let mut memory = limit::filled(limit, Scored::default())?;
            let mut top = TopK::new(&mut memory, skip);
            found.iter().try_for_each(|part| words.merge(&mut top, &part[query]))?;
            copied(words.ranked(top)?)
        }))
    }

    /// Offers words by the dot products of their rows as they are.
    fn offer_products(
        &self,
        rows: Range<u32>,
        queries: &[f32],
        tops: &mut [TopK<'_>],
    ) -> Result<(), CoreError> {
        let needed = self.words.search_memory_needed(tops.len());
        let needed = needed.ok_or(CoreError::without_offset(ErrorKind::BufferTooSmall))?;
        let mut floats = limit::filled(needed, 0.0)?;
        let memory = SearchMemory { floats: &mut floats, tile: &mut [] };
        self.words.search(kernel::detect().product_f32, rows, queries, tops, memory)
    }

    /// Offers words by the dot products of their rows divided by their lengths.
    fn offer_cosines(
        &self,
        rows: Range<u32>,
        queries: &[f32],
        tops: &mut [TopK<'_>],
    ) -> Result<(), CoreError> {
        let (words, cols) = (self.words, self.words.cols());
        let product = kernel::detect().product_f32;
        let strides = Strides { token: BLOCK_ROWS, row: 1 };
        let mut block = limit::filled(BLOCK_ROWS * cols, 0.0)?;
        let mut scratch = limit::filled(words.scratch_needed(), 0.0)?;
        let mut scores = limit::filled(BLOCK_ROWS * tops.len(), 0.0)?;
        for start in rows.clone().step_by(BLOCK_ROWS) {
            let rows = start..rows.end;
            for (row, vector) in rows.clone().zip(block.chunks_exact_mut(cols)) {
                words.row(row.into(), vector, &mut scratch)?;
                normalize(vector);
            }
            let (weights, zeros) = (FloatOperand::Values(&block), &[0.0; BLOCK_ROWS]);
            product(Product::new(queries, weights, zeros, cols, &mut scores, strides)?);
            for (top, scores) in tops.iter_mut().zip(scores.chunks_exact(BLOCK_ROWS)) {
                for (row, &score) in rows.clone().zip(scores) {
                    words.merge(top, &[Scored { score, row }])?;
                }
            }
        }
        Ok(())
    }
}

/// True if rows have length 1 or 0; quantised rows, which are approximate, about that.
fn has_unit_rows(words: &Indexed<'_>) -> Result<bool, CoreError> {
    let tolerance = match words.layout().storage {
        Storage::Array(_) => 1e-4,
        Storage::Quantized(_) => 0.5,
    };
    let total = words.layout().vocabulary.words;
    let mut vector = limit::filled(words.cols(), 0.0)?;
    let mut scratch = limit::filled(words.scratch_needed(), 0.0)?;
    for row in (0..total).step_by((total as usize).div_ceil(SAMPLE).max(1)) {
        words.row(row.into(), &mut vector, &mut scratch)?;
        let square: f32 = vector.iter().map(|value| value * value).sum();
        if square != 0.0 && !(1.0 - tolerance..=1.0 + tolerance).contains(&square) {
            return Ok(false);
        }
    }
    Ok(true)
}
