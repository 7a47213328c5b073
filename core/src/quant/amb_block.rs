//! AMB's scaled codes: `x = code · scale`, 4, 5 or 8 bits, in any
//! [arrangement](crate::tensor::Arrangement).
//!
//! The quantiser searches for the scale with the least squared error: first the best of several
//! scales around the one that the block's extreme value requires, then the best scale for its
//! codes. Errors may be weighted, for example by the mean square of the column's activations.
//! Scales may be negative, so that the lowest code, which has no counterpart, can represent the
//! largest magnitude.

pub use super::amb_codes::encode;
use super::amb_codes::{lowest, nearest};
pub use super::amb_read::{Bytes, ScaledTensor, dequantize};
use super::column_weights::ColumnWeights;
use super::float16::round_f16;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{Arrangement, CodeBits, ScaleType, ScaledCodes};

/// The number of scales tried besides the one that the extreme value requires.
const CANDIDATES: u8 = 20;
/// The step between them, relative to the largest code.
const STEP: f32 = 0.02;

/// A scale and its error.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fit {
    /// The scale, rounded to the type in which it is stored.
    pub scale: f32,
    /// The sum of the weighted squared errors.
    pub error: f32,
}

fn round_scale(scale: f32, scales: ScaleType) -> f32 {
    match scales {
        ScaleType::F32 => scale,
        ScaleType::F16 => round_f16(scale).1,
    }
}

/// The weighted squared error of `values` with a scale, and the sums that determine the best scale
/// for the same codes.
fn measure(values: &[f32], weights: ColumnWeights<'_>, scale: f32, lowest: f32) -> (f32, f32, f32) {
    let inverse = super::block::reciprocal(scale);
    let (mut error, mut product, mut square) = (0.0_f32, 0.0_f32, 0.0_f32);
    weights.each(values, |x, weight| {
        let code = nearest(x * inverse, lowest);
        let off = x - code * scale;
        error += weight * off * off;
        product += weight * x * code;
        square += weight * code * code;
    });
    (error, product, square)
}

/// The scale with the least squared error for `values`, weighted by `weights`.
///
/// Values must be finite, weights finite and not negative. A block of zeros has scale 0.
#[must_use]
pub fn fit(values: &[f32], weights: ColumnWeights<'_>, bits: CodeBits, scales: ScaleType) -> Fit {
    let extreme = super::block::extreme(values);
    let lowest = lowest(bits);
    let try_scale = |best: Fit, scale: f32| {
        let scale = round_scale(scale, scales);
        let (error, product, square) = measure(values, weights, scale, lowest);
        // False for NaN and for scales beyond halves.
        let better = if error < best.error { Fit { scale, error } } else { best };
        let refined = round_scale(product / square, scales);
        if refined.is_finite() && refined != scale {
            let (error, ..) = measure(values, weights, refined, lowest);
            if error < better.error {
                return Fit { scale: refined, error };
            }
        }
        better
    };
    let zero = Fit { scale: 0.0, error: measure(values, weights, 0.0, lowest).0 };
    if extreme == 0.0 {
        return zero;
    }
    let mut best = try_scale(try_scale(zero, extreme / -lowest), extreme / (lowest - 1.0));
    for step in 1..=CANDIDATES {
        // Includes somewhat larger scales: clipping the extreme may pay, or a coarser grid for the
        // others.
        let share = 1.0 + STEP * (f32::from(step) - f32::from(CANDIDATES) * 0.25);
        best = try_scale(best, extreme / (-lowest * share));
        best = try_scale(best, extreme / ((lowest - 1.0) * share));
    }
    best
}

/// The value of the code nearest to `value` with this scale.
#[must_use]
pub fn round_to(value: f32, scale: f32, bits: CodeBits) -> f32 {
    nearest(value * super::block::reciprocal(scale), lowest(bits)) * scale
}

/// Stores a whole tensor of blocks with known scales, one for each block; blocks for which
/// `is_full` holds are kept as halves, which only adaptive codes support.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] if the block size is 0, the number of `scales` is not that of the
/// blocks, or `out` does not have the length that [`ScaledCodes::data_bytes`] gives.
pub fn store(
    codes: &ScaledCodes,
    values: &[f32],
    scales: &[f32],
    is_full: impl Fn(usize) -> bool,
    out: &mut [u8],
) -> Result<()> {
    let invalid = Error::without_offset(ErrorKind::InvalidArgument);
    let (elements, block) = (values.len() as u64, usize::from(codes.block));
    let full = (0..scales.len()).filter(|&index| is_full(index)).count() as u64;
    let adaptive = codes.arrangement == Arrangement::Adaptive;
    let fits = block > 0
        && codes.blocks(elements) == scales.len() as u64
        && (adaptive || full == 0)
        && codes.data_bytes(elements, full) == Some(out.len() as u64);
    if !fits {
        return Err(invalid);
    }
    out.fill(0);
    let size =
        |bytes: Option<u64>| bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or(invalid);
    let code_bytes = size(codes.code_bytes(elements))?;
    let places = codes.places(elements, full).ok_or(invalid)?;
    let (mut coded, mut halves) = (0, 0);
    for (index, (values, &scale)) in values.chunks(block).zip(scales).enumerate() {
        let place = size(places.block(coded, halves))?;
        let scale_place = size(places.scale(coded))?;
        if is_full(index) {
            let bytes = out.get_mut(place..).unwrap_or_default().as_chunks_mut::<2>().0;
            for (bytes, value) in bytes.iter_mut().zip(values) {
                *bytes = round_f16(*value).0;
            }
            if let Some(byte) = out.get_mut(index / 8) {
                *byte |= 1 << (index % 8);
            }
            halves += 1;
        } else {
            let bytes = out.get_mut(place..place + code_bytes).ok_or(invalid)?;
            encode(values, scale, codes.bits, bytes);
            store_scale(scale, codes.scales, out.get_mut(scale_place..).ok_or(invalid)?);
            coded += 1;
        }
    }
    Ok(())
}

/// Quantises one block: writes its stored scale to the front of `scale` and its codes to `codes`;
/// returns the fit.
pub fn quantize_block(
    codes: &ScaledCodes,
    values: &[f32],
    weights: ColumnWeights<'_>,
    scale: &mut [u8],
    out: &mut [u8],
) -> Fit {
    let fit = fit(values, weights, codes.bits, codes.scales);
    store_scale(fit.scale, codes.scales, scale);
    encode(values, fit.scale, codes.bits, out);
    fit
}

fn store_scale(value: f32, scales: ScaleType, out: &mut [u8]) {
    let (single, half) = (value.to_le_bytes(), round_f16(value).0);
    let bytes = match scales {
        ScaleType::F32 => &single[..],
        ScaleType::F16 => &half[..],
    };
    for (to, from) in out.iter_mut().zip(bytes) {
        *to = *from;
    }
}

/// Quantises a whole tensor of separate or interleaved blocks; returns the sum of the weighted
/// squared errors.
///
/// `weights` are per column, as [`ColumnWeights::new`] takes them.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] for adaptive codes (see [`adaptive`](super::adaptive)), or if
/// `out` does not have the length that [`ScaledCodes::data_bytes`] gives.
pub fn quantize(
    codes: &ScaledCodes,
    values: &[f32],
    weights: &[f32],
    out: &mut [u8],
) -> Result<f64> {
    let invalid = Error::without_offset(ErrorKind::InvalidArgument);
    let elements = values.len() as u64;
    let size = |bytes: Option<u64>| bytes.and_then(|bytes| usize::try_from(bytes).ok());
    let fits = codes.data_bytes(elements, 0) == Some(out.len() as u64);
    if codes.arrangement == Arrangement::Adaptive || !fits {
        return Err(invalid);
    }
    let block = size(Some(codes.block_elements(elements))).ok_or(invalid)?.max(1);
    let code_bytes = size(codes.code_bytes(elements)).ok_or(invalid)?;
    let scale_bytes = if codes.scales == ScaleType::F16 { 2 } else { 4 };
    let mut error = 0.0;
    let mut one = |index: usize, values: &[f32], scale: &mut [u8], codes_out: &mut [u8]| {
        let weights = ColumnWeights::new(weights, index * block);
        error += f64::from(quantize_block(codes, values, weights, scale, codes_out).error);
    };
    if codes.arrangement == Arrangement::Interleaved {
        let blocks = out.chunks_exact_mut(scale_bytes + code_bytes);
        for (index, (values, out)) in values.chunks(block).zip(blocks).enumerate() {
            let (scale, codes) = out.split_at_mut(scale_bytes);
            one(index, values, scale, codes);
        }
        return Ok(error);
    }
    let blocks = size(Some(codes.blocks(elements))).ok_or(invalid)?;
    let (scales, all_codes) = out.split_at_mut_checked(blocks * scale_bytes).ok_or(invalid)?;
    scales.fill(0);
    let places = scales.chunks_exact_mut(scale_bytes).zip(all_codes.chunks_mut(code_bytes.max(1)));
    for (index, (values, (scale, codes))) in values.chunks(block).zip(places).enumerate() {
        one(index, values, scale, codes);
    }
    Ok(error)
}
