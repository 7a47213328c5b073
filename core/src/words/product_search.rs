//! Search on the codes of product-quantised storage.
//!
//! The score of a row `y = norm · P·v` with a query `q` is `norm · Σ_s (Pᵀq)_s · centroid(s,
//! code_s)`. The products of the query with all centroids are computed once (a table of 256 numbers
//! per subquantiser); a row's score is then the sum of one table entry per code.

use core::ops::Range;

use super::dot::dot;
use super::lookup::Words;
use super::product::{centroid_offset, codes_offset, row_norm};
use super::source::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::format::finalfusion::Quantized;
use crate::top::{Scored, TopK};

/// Entries of a subquantiser's table: one for each value of a byte.
const TABLE: usize = 256;

/// The size in f32 of the tables for a search with `queries` queries.
pub(super) fn tables_needed(quantized: &Quantized, queries: usize) -> Option<usize> {
    // The tables are followed by one query times the projection.
    let tables = queries.checked_mul(quantized.codes_per_row as usize)?.checked_mul(TABLE)?;
    tables.checked_add(quantized.cols as usize)
}

/// Fills the distance tables of all queries, each of which has the storage's columns.
pub(super) fn fill_tables(
    source: &impl Source,
    quantized: &Quantized,
    queries: &[f32],
    tables: &mut [f32],
) -> Result<()> {
    let cols = quantized.cols as usize;
    let codes = quantized.codes_per_row as usize;
    let count = queries.len().checked_div(cols).unwrap_or(0);
    let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
    let table_floats = count.saturating_mul(codes).saturating_mul(TABLE);
    let (tables, rotated) = tables.split_at_mut_checked(table_floats).ok_or(too_small)?;
    let rotated = rotated.get_mut(..cols).ok_or(too_small)?;
    let centroid_cols = quantized.centroid_cols() as usize;
    let tables = tables.as_chunks_mut::<TABLE>().0;
    for (query, tables) in queries.chunks_exact(cols.max(1)).zip(tables.chunks_mut(codes.max(1))) {
        rotate(source, quantized, query, rotated)?;
        for (subquantizer, table) in tables.iter_mut().enumerate() {
            // Codes without a centroid make a score NaN, which reveals them.
            table.fill(f32::NAN);
            let part = rotated.get(subquantizer.saturating_mul(centroid_cols)..).unwrap_or(&[]);
            let part = part.get(..centroid_cols).unwrap_or(&[]);
            for (code, product) in table.iter_mut().take(quantized.centroids as usize).enumerate() {
                let offset = centroid_offset(quantized, subquantizer as u64, code as u64);
                let (mut sum, mut rest) = (0.0, part);
                source.pieces(offset, centroid_cols.saturating_mul(4), |piece| {
                    let (part, after) =
                        rest.split_at_checked(piece.len() / 4).unwrap_or((rest, &[]));
                    sum += dot(part, piece);
                    rest = after;
                    Ok(())
                })?;
                *product = sum;
            }
        }
    }
    Ok(())
}

/// `out = Pᵀ · query`, or the query if there is no projection.
fn rotate(
    source: &impl Source,
    quantized: &Quantized,
    query: &[f32],
    out: &mut [f32],
) -> Result<()> {
    let Some(projection) = quantized.projection else {
        out.iter_mut().zip(query).for_each(|(to, from)| *to = *from);
        return Ok(());
    };
    out.fill(0.0);
    let row_bytes = u64::from(quantized.cols).saturating_mul(4);
    for (row, factor) in query.iter().enumerate() {
        let mut rest = out.iter_mut();
        let offset = projection.saturating_add((row as u64).saturating_mul(row_bytes));
        source.pieces(offset, (quantized.cols as usize).saturating_mul(4), |piece| {
            for (bytes, to) in piece.as_chunks::<4>().0.iter().zip(&mut rest) {
                *to += factor * f32::from_le_bytes(*bytes);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Offers the scores of the words in `rows` to the best of each query.
pub(super) fn search<S: Source, M: AsRef<[u64]>>(
    words: &Words<S, M>,
    quantized: &Quantized,
    rows: Range<u32>,
    tables: &[f32],
    tops: &mut [TopK<'_>],
    tile: &mut [u8],
) -> Result<()> {
    let codes = quantized.codes_per_row as usize;
    let tables = tables.as_chunks::<TABLE>().0;
    let room = words.source().block_limit(tile.len()).checked_div(codes).unwrap_or(0);
    let block_rows = u32::try_from(room).unwrap_or(u32::MAX).min(1024);
    if block_rows == 0 {
        return Err(Error::without_offset(ErrorKind::BufferTooSmall));
    }
    let mut next = rows.start;
    while next < rows.end {
        let count = block_rows.min(rows.end.saturating_sub(next));
        let offset = codes_offset(quantized, next.into());
        let block = words.source().block(offset, codes.saturating_mul(count as usize), tile)?;
        for (tables, top) in tables.chunks_exact(codes.max(1)).zip(tops.iter_mut()) {
            for (row, codes) in (next..).zip(block.chunks_exact(codes.max(1))) {
                let mut score = table_sum(tables, codes);
                if let Some(norm) = row_norm(words.source(), quantized, row.into())? {
                    score *= norm;
                }
                if score.is_nan() {
                    check_codes(quantized, row.into(), codes)?;
                }
                top.offer(Scored { score, row }, words)?;
            }
        }
        next = next.saturating_add(count);
    }
    Ok(())
}

/// The sum of one table entry per code, in four lanes.
#[inline]
fn table_sum(tables: &[[f32; TABLE]], codes: &[u8]) -> f32 {
    let number = |table: &[f32; TABLE], code: u8| {
        // The table has an entry for each value of a byte, so the fallback is never used.
        table.get(usize::from(code)).copied().unwrap_or(0.0)
    };
    let (table_blocks, table_tail) = tables.as_chunks::<4>();
    let (code_blocks, code_tail) = codes.as_chunks::<4>();
    let mut lanes = [0.0; 4];
    for (tables, codes) in table_blocks.iter().zip(code_blocks) {
        for ((lane, table), &code) in lanes.iter_mut().zip(tables).zip(codes) {
            *lane += number(table, code);
        }
    }
    let tail = table_tail.iter().zip(code_tail).map(|(table, &code)| number(table, code));
    lanes.into_iter().chain(tail).sum()
}

fn check_codes(quantized: &Quantized, row: u64, codes: &[u8]) -> Result<()> {
    match codes.iter().position(|&code| u32::from(code) >= quantized.centroids) {
        Some(at) => {
            let offset = codes_offset(quantized, row).saturating_add(at as u64);
            Err(Error::new(offset, ErrorKind::CodeOutOfRange))
        }
        None => Ok(()),
    }
}
