//! AMB's adaptive precision: most blocks as scaled codes, the sensitive ones as IEEE halves.
//!
//! [`block_errors`] measures how sensitive a block is: the squared error of its codes, weighted by
//! each column's mean square activation. That is the error which quantising the block adds to the
//! layer's output, as far as columns are uncorrelated; a full-precision block adds next to none.
//! All blocks of a tensor gain the same number of bits from full precision, so that a budget of
//! bits is spent on those with the largest errors, over all tensors together.

use super::amb_block::{fit, quantize_block};
use super::column_weights::ColumnWeights;
use super::float16::round_f16;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{Arrangement, ScaledCodes};

/// The weighted squared error of quantising each block of `values`, one per block, into `errors`.
///
/// `weights` are per column, as in [`amb_block::quantize`](super::amb_block::quantize). Blocks
/// beyond the end of `errors` are left out, as are all if the block size is 0.
pub fn block_errors(codes: &ScaledCodes, values: &[f32], weights: &[f32], errors: &mut [f32]) {
    let size = usize::from(codes.block);
    if size == 0 {
        return;
    }
    for (index, (values, error)) in values.chunks(size).zip(errors).enumerate() {
        let weights = ColumnWeights::new(weights, index * size);
        *error = fit(values, weights, codes.bits, codes.scales).error;
    }
}

/// Quantises a tensor, keeping the blocks selected by `is_full` as halves; returns the sum of the
/// weighted squared errors.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] if `codes` are not adaptive, or `out` does not have the length
/// that [`ScaledCodes::data_bytes`] gives for that many full blocks.
pub fn quantize(
    codes: &ScaledCodes,
    values: &[f32],
    weights: &[f32],
    is_full: impl Fn(usize) -> bool,
    out: &mut [u8],
) -> Result<f64> {
    let invalid = Error::without_offset(ErrorKind::InvalidArgument);
    let elements = values.len() as u64;
    let block = usize::from(codes.block);
    if codes.arrangement != Arrangement::Adaptive || block == 0 {
        return Err(invalid);
    }
    let size = |bytes: u64| usize::try_from(bytes).map_err(|_| invalid);
    let blocks = size(codes.blocks(elements))?;
    let full = (0..blocks).filter(|&index| is_full(index)).count();
    if codes.data_bytes(elements, full as u64) != Some(out.len() as u64) {
        return Err(invalid);
    }
    let code_bytes = size(codes.code_bytes(elements).ok_or(invalid)?)?;
    let scale_bytes = size(codes.scales.bytes())?;
    out.fill(0);
    let (mask, rest) =
        out.split_at_mut_checked(size(codes.mask_bytes(elements))?).ok_or(invalid)?;
    let (scales, mut rest) =
        rest.split_at_mut_checked((blocks - full) * scale_bytes).ok_or(invalid)?;
    let mut scales = scales.chunks_exact_mut(scale_bytes);
    let mut error = 0.0;
    for (index, values) in values.chunks(block).enumerate() {
        let bytes = if is_full(index) { block * 2 } else { code_bytes };
        let (place, after) = rest.split_at_mut_checked(bytes).ok_or(invalid)?;
        rest = after;
        let weights = ColumnWeights::new(weights, index * block);
        if is_full(index) {
            error += f64::from(encode_halves(values, weights, place));
            if let Some(byte) = mask.get_mut(index / 8) {
                *byte |= 1 << (index % 8);
            }
        } else if let Some(scale) = scales.next() {
            error += f64::from(quantize_block(codes, values, weights, scale, place).error);
        }
    }
    Ok(error)
}

fn encode_halves(values: &[f32], weights: ColumnWeights<'_>, out: &mut [u8]) -> f32 {
    let mut error = 0.0;
    let mut places = out.as_chunks_mut::<2>().0.iter_mut();
    weights.each(values, |value, weight| {
        let (half, rounded) = round_f16(value);
        if let Some(place) = places.next() {
            *place = half;
        }
        error += weight * (value - rounded) * (value - rounded);
    });
    error
}
