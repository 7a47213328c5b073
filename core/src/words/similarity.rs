//! Similar words and analogies: the words whose vectors have the largest dot products with a query.

use core::ops::Range;

use super::dot::{dot, dot_f32, normalize};
use super::lookup::Words;
use super::product_search;
use super::source::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::format::finalfusion::{Array, Storage};
use crate::kernel::{FloatOperand, Product, ProductF32, Strides};
use crate::top::{Scored, TopK};

/// The number of rows scored together with several queries: about 100 KiB, which stay in the L2
/// cache.
const BLOCK_ROWS: usize = 96;

/// The tolerated difference between two summation orders, relative to the query's length: far more
/// than occurs for rows of length 1 to about 30. Among longer rows, one may be missed that ties
/// with the last of the best up to rounding.
const ROUNDING: f32 = 4e-5;

/// The query of an analogy: `a` is to `b` as `c` is to the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Analogy {
    /// True for each of the three words that has a vector. There is no query unless all three have.
    pub present: [bool; 3],
    /// The rows of those in the vocabulary, which are usually excluded from the answers.
    pub rows: [Option<u32>; 3],
}

/// The memory that a search borrows.
#[derive(Debug)]
pub struct SearchMemory<'m> {
    /// [`Words::search_memory_needed`] f32.
    pub floats: &'m mut [f32],
    /// Buffer for at least one row, for sources that are not in memory; rows are read in pieces of
    /// its size.
    pub tile: &'m mut [u8],
}

impl<S: Source, M: AsRef<[u64]>> Words<S, M> {
    /// Writes the query of "`a` is to `b` as `c` is to …", the normalised vector `b − a + c`, to
    /// `query`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if `query` does not have [`cols`](Self::cols) elements or
    /// `scratch` fewer than `cols` + [`scratch_needed`](Self::scratch_needed); otherwise as
    /// [`vector`](Self::vector).
    pub fn analogy(
        &self,
        [a, b, c]: [&str; 3],
        query: &mut [f32],
        scratch: &mut [f32],
    ) -> Result<Analogy> {
        let (part, scratch) = scratch
            .split_at_mut_checked(self.cols())
            .ok_or(Error::without_offset(ErrorKind::BufferTooSmall))?;
        let b_is_present = self.vector(b, query, scratch)?.is_some();
        let a_is_present = self.vector(a, part, scratch)?.is_some();
        query.iter_mut().zip(&*part).for_each(|(sum, value)| *sum -= value);
        let c_is_present = self.vector(c, part, scratch)?.is_some();
        query.iter_mut().zip(&*part).for_each(|(sum, value)| *sum += value);
        normalize(query);
        let mut rows = [None; 3];
        for (row, word) in rows.iter_mut().zip([a, b, c]) {
            *row = self.find(word.as_bytes())?;
        }
        Ok(Analogy { present: [a_is_present, b_is_present, c_is_present], rows })
    }

    /// The memory of a [`search`](Self::search) with `queries` queries, in f32: 0 for one query
    /// over a plain matrix, a block of scores for several, distance tables over a quantised matrix.
    /// `None` if no memory could hold them.
    #[must_use]
    pub fn search_memory_needed(&self, queries: usize) -> Option<usize> {
        match &self.layout().storage {
            Storage::Array(_) if queries < 2 => Some(0),
            // A block of scores for each query, and as many zeros.
            Storage::Array(_) => queries.checked_add(1)?.checked_mul(BLOCK_ROWS),
            Storage::Quantized(quantized) => product_search::tables_needed(quantized, queries),
        }
    }

    /// Offers the words in `rows` to the best of each query, scored by the dot product of their
    /// vectors with the query. All queries share one pass over the rows. `queries` contains the
    /// queries contiguously, [`cols`](Self::cols) elements each; neither they nor the rows are
    /// normalised here. `product` is that of a table of kernels
    /// ([`detect`](crate::kernel::detect)); nothing else of the table is needed, so nothing else
    /// has to be linked.
    ///
    /// Several threads can search separate ranges of rows and [`merge`](Self::merge) their results.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the number of queries differs from that of `tops`, or
    /// there are fewer words than `rows` names; [`ErrorKind::BufferTooSmall`];
    /// [`ErrorKind::CodeOutOfRange`]; any error from the source.
    pub fn search(
        &self,
        product: ProductF32,
        rows: Range<u32>,
        queries: &[f32],
        tops: &mut [TopK<'_>],
        memory: SearchMemory<'_>,
    ) -> Result<()> {
        let expected = self.cols().checked_mul(tops.len());
        if expected != Some(queries.len()) || rows.end > self.layout().vocabulary.words {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        let SearchMemory { floats, tile } = memory;
        match &self.layout().storage {
            Storage::Array(_) if self.cols() == 0 => self.search_nothing(rows, tops),
            Storage::Array(array) => {
                self.search_array((product, array), rows, queries, tops, (floats, tile))
            }
            Storage::Quantized(quantized) => {
                product_search::fill_tables(self.source(), quantized, queries, floats)?;
                product_search::search(self, quantized, rows, floats, tops, tile)
            }
        }
    }

    /// Offers the results of another search with the same query.
    ///
    /// # Errors
    ///
    /// Any error from the source.
    pub fn merge(&self, top: &mut TopK<'_>, found: &[Scored]) -> Result<()> {
        found.iter().try_for_each(|scored| top.offer(*scored, self))
    }

    /// The rows that a search kept, best first: by score, ties in byte order of the words, or,
    /// without an index, in the order of their rows.
    ///
    /// # Errors
    ///
    /// Any error from the source.
    pub fn ranked<'m>(&self, top: TopK<'m>) -> Result<&'m [Scored]> {
        top.into_sorted(self)
    }

    /// Searches vectors without elements, which all have the score 0.
    fn search_nothing(&self, rows: Range<u32>, tops: &mut [TopK<'_>]) -> Result<()> {
        for row in rows {
            for top in &mut *tops {
                top.offer(Scored { score: 0.0, row }, self)?;
            }
        }
        Ok(())
    }

    fn search_array(
        &self,
        (product, array): (ProductF32, &Array),
        rows: Range<u32>,
        queries: &[f32],
        tops: &mut [TopK<'_>],
        (floats, tile): (&mut [f32], &mut [u8]),
    ) -> Result<()> {
        let row_bytes = self.cols().saturating_mul(4);
        let room = self.source().block_limit(tile.len()).checked_div(row_bytes).unwrap_or(0);
        let block_rows = u32::try_from(room.min(BLOCK_ROWS)).unwrap_or(u32::MAX);
        if block_rows == 0 {
            return Err(Error::without_offset(ErrorKind::BufferTooSmall));
        }
        let mut next = rows.start;
        while next < rows.end {
            let count = block_rows.min(rows.end.saturating_sub(next));
            let offset = u64::from(next).saturating_mul(row_bytes as u64);
            let offset = offset.saturating_add(array.offset);
            let bytes = row_bytes.saturating_mul(count as usize);
            let block = self.source().block(offset, bytes, tile)?;
            let rows = next..next.saturating_add(count);
            // A single query needs no caller-provided memory, which keeps neighbour search on
            // devices simple.
            let mut own = [0.0; 2 * BLOCK_ROWS];
            let floats = if tops.len() == 1 { &mut own[..] } else { &mut *floats };
            self.search_block(product, rows, (block, queries), tops, floats)?;
            next = next.saturating_add(count);
        }
        Ok(())
    }

    /// Scores a block of rows with all queries.
    fn search_block(
        &self,
        product: ProductF32,
        rows: Range<u32>,
        (block, queries): (&[u8], &[f32]),
        tops: &mut [TopK<'_>],
        floats: &mut [f32],
    ) -> Result<()> {
        let count = rows.len();
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        let (zeros, scores) = floats.split_at_mut_checked(count).ok_or(too_small)?;
        let scores = scores.get_mut(..count.saturating_mul(tops.len())).ok_or(too_small)?;
        zeros.fill(0.0);
        let strides = Strides { token: count, row: 1 };
        let weights = FloatOperand::Bytes(block);
        product(Product::new(queries, weights, zeros, self.cols(), scores, strides)?);
        let row_bytes = self.cols().saturating_mul(4).max(1);
        let (mut all_scores, mut queries) = (&*scores, queries);
        for top in tops {
            // Zipped chunks would be divided by their sizes, which the compiler cannot prove
            // nonzero.
            let (scores, query);
            (scores, all_scores) = all_scores.split_at_checked(count).ok_or(too_small)?;
            (query, queries) = queries.split_at_checked(self.cols()).ok_or(too_small)?;
            // Kernels add up in a different order. Candidates for the best get the reference's
            // score; the rest are worse by more than rounding.
            let slack = ROUNDING * libm::sqrtf(dot_f32(query, query));
            for ((row, values), &score) in
                rows.clone().zip(block.chunks_exact(row_bytes)).zip(scores)
            {
                if top.may_keep(score + slack) {
                    top.offer(Scored { score: dot(query, values), row }, self)?;
                }
            }
        }
        Ok(())
    }
}
