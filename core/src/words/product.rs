//! Product-quantised storage: reconstruction of rows.
//!
//! A row is `norm · P·v`, where `v` is made of one centroid for each code. Source: Jégou et al. 2011,
//! "Product Quantization for Nearest Neighbor Search".

use super::dot::dot;
use super::source::{Source, read_f32};
use crate::error::{Error, ErrorKind, Result};
use crate::format::finalfusion::Quantized;

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

pub(super) fn codes_offset(quantized: &Quantized, row: u64) -> u64 {
    row.saturating_mul(quantized.codes_per_row.into()).saturating_add(quantized.codes)
}

pub(super) fn centroid_offset(quantized: &Quantized, subquantizer: u64, code: u64) -> u64 {
    // Inside the file, as the decoder has checked.
    let ordinal = subquantizer.saturating_mul(quantized.centroids.into()).saturating_add(code);
    ordinal
        .saturating_mul(u64::from(quantized.centroid_cols()).saturating_mul(4))
        .saturating_add(quantized.subquantizers)
}
