//! From f32 to codes, the same bits on every table.

use super::integer::{MAX_CODE, PROBABILITY_ONE};
use super::rows::{extremes, softmax_exponentials};

/// 1.5 · 2²³: adding it leaves the nearest integer (ties to even) in the low mantissa bits.
const ROUND: f32 = 12_582_912.0;

/// Quantises one row to codes 0 … 127: `x[c] · columns[c] ≈ (codes[c] − zero) · scale`; returns scale and zero.
///
/// The range always includes 0, so that 0 is exact. `columns` is empty or as long as `x`. The error is at most
/// half a scale, and scale is the range of the row divided by 127.
#[inline(always)]
pub(super) fn codes(x: &[f32], columns: &[f32], codes: &mut [u8]) -> (f32, u8) {
    let (low, high) = if columns.is_empty() {
        extremes(x, x, |x, _| x)
    } else {
        extremes(x, columns, |x, y| x * y)
    };
    let low = if low < 0.0 { low } else { 0.0 };
    let high = if high > 0.0 { high } else { 0.0 };
    let range = high - low;
    let scale = if range > f32::MIN_POSITIVE { range / f32::from(MAX_CODE) } else { 1.0 };
    let inverse = 1.0 / scale;
    let zero = (-low * inverse + ROUND) - ROUND;
    if columns.is_empty() {
        for (code, &value) in codes.iter_mut().zip(x) {
            *code = code_of(value * inverse + zero);
        }
    } else {
        for ((code, &value), &column) in codes.iter_mut().zip(x).zip(columns) {
            *code = code_of(value * column * inverse + zero);
        }
    }
    (scale, code_of(zero))
}

#[inline(always)]
fn code_of(value: f32) -> u8 {
    let value = if value > 0.0 { value } else { 0.0 };
    let value = if value < f32::from(MAX_CODE) { value } else { f32::from(MAX_CODE) };
    ((value + ROUND).to_bits() & u32::from(MAX_CODE)) as u8
}

/// The nearest 16-bit integer of a number between −32767 and 32767.
#[inline(always)]
fn word_of(value: f32) -> u16 {
    (value + ROUND).to_bits() as u16
}

/// Scale and its inverse for values up to `largest` in codes up to `limit`.
#[inline(always)]
fn word_scale(largest: f32, limit: f32) -> (f32, f32) {
    let largest = if largest > f32::MIN_POSITIVE { largest } else { limit };
    (largest / limit, limit / largest)
}

/// Quantises rows of `size` elements to 16-bit codes up to `limit`, one scale a row.
///
/// Codes are little-endian; rows of an odd size are completed by a zero.
#[inline(always)]
pub(super) fn rows_i16(x: &[f32], size: usize, limit: f32, codes: &mut [u8], scales: &mut [f32]) {
    if size == 0 {
        return;
    }
    let lines = codes.chunks_exact_mut(size.div_ceil(2) * 4);
    for ((row, line), scale) in x.chunks_exact(size).zip(lines).zip(scales) {
        let largest = extremes(row, row, |x, _| x.abs()).1;
        let (step, inverse) = word_scale(largest, limit);
        *scale = step;
        words(row, inverse, line);
    }
}

/// 16-bit codes of `x · factor`, little-endian; what is left of `codes` becomes 0.
#[inline(always)]
fn words(x: &[f32], factor: f32, codes: &mut [u8]) {
    let (codes, _) = codes.as_chunks_mut::<2>();
    for (code, &value) in codes.iter_mut().zip(x) {
        *code = word_of(value * factor).to_le_bytes();
    }
    for code in codes.iter_mut().skip(x.len()) {
        *code = [0; 2];
    }
}

/// Softmax of `scale · x` as 16-bit codes, 32,767 for 1; `x` is used as scratch.
///
/// Absolute error below 2e-5. What is left of `codes` after the row becomes 0.
#[inline(always)]
pub(super) fn softmax_i16(x: &mut [f32], scale: f32, codes: &mut [u8]) {
    let sum = softmax_exponentials(x, scale);
    words(x, PROBABILITY_ONE / sum, codes);
}

/// Quantises columns that are stored as rows, for [`MultiplyI16`](super::MultiplyI16)'s `b`: one scale a column.
///
/// `x` holds `size` rows, `stride` apart, of `scales.len()` columns; lines of pairs of rows go to `codes`, with
/// `stride` pairs from one line to the next. `inverses` is scratch as long as `scales`.
#[inline(always)]
pub(super) fn columns_i16(
    x: &[f32],
    stride: usize,
    limit: f32,
    codes: &mut [u8],
    scales: &mut [f32],
    inverses: &mut [f32],
) {
    if stride == 0 {
        return;
    }
    scales.fill(0.0);
    for row in x.chunks(stride) {
        for (scale, &value) in scales.iter_mut().zip(row) {
            let value = value.abs();
            *scale = if value > *scale { value } else { *scale };
        }
    }
    for (scale, inverse) in scales.iter_mut().zip(inverses.iter_mut()) {
        (*scale, *inverse) = word_scale(*scale, limit);
    }
    let pairs = x.chunks(stride * 2);
    for (pair, line) in pairs.zip(codes.chunks_mut(stride * 4)) {
        let (first, second) = pair.split_at(stride.min(pair.len()));
        let words = line.as_chunks_mut::<4>().0;
        if second.is_empty() {
            for ((word, &a), &inverse) in words.iter_mut().zip(first).zip(&*inverses) {
                *word = u32::from(word_of(a * inverse)).to_le_bytes();
            }
        } else {
            for (((word, &a), &b), &inverse) in
                words.iter_mut().zip(first).zip(second).zip(&*inverses)
            {
                let high = u32::from(word_of(b * inverse)) << 16;
                *word = (u32::from(word_of(a * inverse)) | high).to_le_bytes();
            }
        }
    }
}
