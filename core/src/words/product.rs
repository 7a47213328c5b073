//! Product-quantised storage: reconstruction of rows, and search on the codes themselves.
//!
//! The score of a row `y = norm · P·v` with a query `q` is `norm · Σ_s (Pᵀq)_s · centroid(s,
//! code_s)`. The products of the query with all centroids are computed once (a table of 256 numbers
//! per subquantiser); a row's score is then the sum of one table entry per code. Source: Jégou et
//! al. 2011, "Product Quantization for Nearest Neighbor Search".

use core::ops::Range;

use super::dot::dot;
use super::lookup::{Words, read_f32};
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

/// Writes the centroids of a row to `out`, contiguously.
pub(super) fn reconstruct(
    source: &impl Source,
    quantized: &Quantized,
    row: u64,
    out: &mut [f32],
) -> Result<()> {
    let centroid_cols = quantized.centroid_cols() as usize;
    let out = out
        .get_mut(..quantized.cols as usize)
        .ok_or(Error::without_offset(ErrorKind::BufferTooSmall))?;
    let mut offset = codes_offset(quantized, row);
    let mut subquantizer = 0;
    let mut rest = out.iter_mut();
    source.pieces(offset, quantized.codes_per_row as usize, |codes| {
        for &code in codes {
            if u32::from(code) >= quantized.centroids {
                return Err(Error::new(offset, ErrorKind::CodeOutOfRange));
            }
            let centroid = centroid_offset(quantized, subquantizer, code.into());
            source.pieces(centroid, centroid_cols.saturating_mul(4), |piece| {
                for (bytes, to) in piece.as_chunks::<4>().0.iter().zip(&mut rest) {
                    *to = f32::from_le_bytes(*bytes);
                }
                Ok(())
            })?;
            offset = offset.saturating_add(1);
            subquantizer = subquantizer.saturating_add(1);
        }
        Ok(())
    })
}

/// Calls `on_value` with each element of `P · centroids`, or of `centroids` if there is no
/// projection.
pub(super) fn project(
    source: &impl Source,
    quantized: &Quantized,
    centroids: &[f32],
    mut on_value: impl FnMut(usize, f32),
) -> Result<()> {
    let centroids = centroids.get(..quantized.cols as usize).unwrap_or(centroids);
    let Some(projection) = quantized.projection else {
        centroids.iter().enumerate().for_each(|(at, value)| on_value(at, *value));
        return Ok(());
    };
    let row_bytes = (quantized.cols as usize).saturating_mul(4);
    for at in 0..centroids.len() {
        let offset = projection.saturating_add((at as u64).saturating_mul(row_bytes as u64));
        let (mut sum, mut rest) = (0.0, centroids);
        source.pieces(offset, row_bytes, |piece| {
            let (part, after) = rest.split_at_checked(piece.len() / 4).unwrap_or((rest, &[]));
            sum += dot(part, piece);
            rest = after;
            Ok(())
        })?;
        on_value(at, sum);
    }
    Ok(())
}

/// The factor of a row, if rows have one.
pub(super) fn row_norm(
    source: &impl Source,
    quantized: &Quantized,
    row: u64,
) -> Result<Option<f32>> {
    match quantized.norms {
        Some(norms) => read_f32(source, norms.saturating_add(row.saturating_mul(4))).map(Some),
        None => Ok(None),
    }
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

fn codes_offset(quantized: &Quantized, row: u64) -> u64 {
    row.saturating_mul(quantized.codes_per_row.into()).saturating_add(quantized.codes)
}

fn centroid_offset(quantized: &Quantized, subquantizer: u64, code: u64) -> u64 {
    // Inside the file, as the decoder has checked.
    let ordinal = subquantizer.saturating_mul(quantized.centroids.into()).saturating_add(code);
    ordinal
        .saturating_mul(u64::from(quantized.centroid_cols()).saturating_mul(4))
        .saturating_add(quantized.subquantizers)
}
