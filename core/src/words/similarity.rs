//! Similar words and analogies: the words whose vectors have the largest dot products with a query.

use core::ops::Range;

use super::dot::{dot, dots, normalize};
use super::lookup::Words;
use super::product;
use super::source::Source;
use super::top::{Scored, TopK};
use crate::error::{Error, ErrorKind, Result};
use crate::format::finalfusion::{Array, Storage};

/// How many bytes of rows are gone through with one group of queries after the other: they stay in the first cache.
const BLOCK_BYTES: usize = 16 * 1024;

/// The query of an analogy: `a` is to `b` as `c` is to what is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Analogy {
    /// Which of the three words have vectors. Without all three there is no query.
    pub present: [bool; 3],
    /// The rows of those that are in the vocabulary: answers that are usually not wanted.
    pub rows: [Option<u32>; 3],
}

impl<S: Source, M: AsRef<[u64]>> Words<S, M> {
    /// Puts the query of "`a` is to `b` as `c` is to …", the normalised vector `b − a + c`, into `query`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if `query` does not have [`cols`](Self::cols) elements or `scratch` fewer than
    /// `cols` + [`scratch_needed`](Self::scratch_needed); otherwise as [`vector`](Self::vector).
    pub fn analogy(
        &self,
        [a, b, c]: [&str; 3],
        query: &mut [f32],
        scratch: &mut [f32],
    ) -> Result<Analogy> {
        let (part, scratch) = scratch
            .split_at_mut_checked(self.cols())
            .ok_or(Error::without_offset(ErrorKind::BufferTooSmall))?;
        let mut present = [self.vector(b, query, scratch)?.is_some(), false, false];
        present.rotate_right(1);
        present[0] = self.vector(a, part, scratch)?.is_some();
        query.iter_mut().zip(&*part).for_each(|(sum, value)| *sum -= value);
        present[2] = self.vector(c, part, scratch)?.is_some();
        query.iter_mut().zip(&*part).for_each(|(sum, value)| *sum += value);
        normalize(query);
        let mut rows = [None; 3];
        for (row, word) in rows.iter_mut().zip([a, b, c]) {
            *row = self.find(word.as_bytes())?;
        }
        Ok(Analogy { present, rows })
    }

    /// How many f32 of memory a [`search`](Self::search) with `queries` queries takes: none over a plain matrix, the
    /// distance tables over a quantised one. `None` if no memory could hold them.
    #[must_use]
    pub fn search_memory_needed(&self, queries: usize) -> Option<usize> {
        match &self.layout().storage {
            Storage::Array(_) => Some(0),
            Storage::Quantized(quantized) => product::tables_needed(quantized, queries),
        }
    }

    /// Offers the words in `rows` to the best of each query, by the dot product of their vectors with it. All queries
    /// share one pass over the rows. Queries stand one behind the other in `queries`, of [`cols`](Self::cols) elements
    /// each; neither they nor the rows are normalised here.
    ///
    /// Several threads search ranges of rows of their own and [`merge`](Self::merge) what they found. `tile` is
    /// needed only for sources that are not in memory, which read rows in pieces of its size.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if there are not as many queries as `tops`, or fewer words than `rows` names;
    /// [`ErrorKind::BufferTooSmall`] if `memory` has fewer f32 than
    /// [`search_memory_needed`](Self::search_memory_needed) or `tile` cannot hold a row;
    /// [`ErrorKind::CodeOutOfRange`]; what the source returns.
    pub fn search(
        &self,
        rows: Range<u32>,
        queries: &[f32],
        tops: &mut [TopK<'_>],
        memory: &mut [f32],
        tile: &mut [u8],
    ) -> Result<()> {
        let expected = self.cols().checked_mul(tops.len());
        if expected != Some(queries.len()) || rows.end > self.layout().vocabulary.words {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        match &self.layout().storage {
            Storage::Array(array) => self.search_array(array, rows, queries, tops, tile),
            Storage::Quantized(quantized) => {
                product::fill_tables(self.source(), quantized, queries, memory)?;
                product::search(self, quantized, rows, memory, tops, tile)
            }
        }
    }

    /// Offers what another search with the same query found.
    ///
    /// # Errors
    ///
    /// What the source returns.
    pub fn merge(&self, top: &mut TopK<'_>, found: &[Scored]) -> Result<()> {
        found.iter().try_for_each(|scored| top.offer(*scored, self))
    }

    /// The rows that a search kept, the best first: by score, words of the same score in byte order. Without an
    /// index words of the same score stay in the order of their rows.
    ///
    /// # Errors
    ///
    /// What the source returns.
    pub fn ranked<'m>(&self, top: TopK<'m>) -> Result<&'m [Scored]> {
        top.into_sorted(self)
    }

    fn search_array(
        &self,
        array: &Array,
        rows: Range<u32>,
        queries: &[f32],
        tops: &mut [TopK<'_>],
        tile: &mut [u8],
    ) -> Result<()> {
        let row_bytes = 4 * self.cols();
        if row_bytes == 0 {
            return rows.clone().try_for_each(|row| {
                tops.iter_mut().try_for_each(|top| top.offer(Scored { score: 0.0, row }, self))
            });
        }
        let room = self.source().block_limit(tile.len()).min(BLOCK_BYTES.max(row_bytes));
        let block_rows = u32::try_from(room / row_bytes).unwrap_or(u32::MAX);
        if block_rows == 0 {
            return Err(Error::without_offset(ErrorKind::BufferTooSmall));
        }
        let mut next = rows.start;
        while next < rows.end {
            let count = block_rows.min(rows.end - next);
            let offset = u64::from(next).saturating_mul(row_bytes as u64);
            let offset = offset.saturating_add(array.offset);
            let block = self.source().block(offset, count as usize * row_bytes, tile)?;
            self.search_block(next, block, queries, tops)?;
            next += count;
        }
        Ok(())
    }

    /// Scores a block of rows with all queries, four at a time.
    fn search_block(
        &self,
        first: u32,
        block: &[u8],
        queries: &[f32],
        tops: &mut [TopK<'_>],
    ) -> Result<()> {
        let cols = self.cols();
        let groups = queries.chunks_exact(4 * cols);
        let rest = groups.remainder();
        let (four_tops, rest_tops) = tops.as_chunks_mut::<4>();
        for (group, tops) in groups.zip(four_tops) {
            let (ab, cd) = group.split_at(2 * cols);
            let ((a, b), (c, d)) = (ab.split_at(cols), cd.split_at(cols));
            for (row, values) in (first..).zip(block.chunks_exact(4 * cols)) {
                let scores = dots([a, b, c, d], values);
                for (top, score) in tops.iter_mut().zip(scores) {
                    top.offer(Scored { score, row }, self)?;
                }
            }
        }
        for (query, top) in rest.chunks_exact(cols).zip(rest_tops) {
            for (row, values) in (first..).zip(block.chunks_exact(4 * cols)) {
                top.offer(Scored { score: dot(query, values), row }, self)?;
            }
        }
        Ok(())
    }
}
