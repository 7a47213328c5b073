//! Quantisation of f32, written once over [`Vector`]: bit-identical on every table.

use super::integer::{MAX_CODE, PROBABILITY_ONE};
use super::pieces::{pieces, pieces_mut};
use super::rows::{reduce, softmax_exponentials};
use super::vector::{LANES, ROUND, Vector};
use super::{Signs, Table};

/// Quantises one row to codes 0 … 127: `x[c] · columns[c] ≈ (codes[c] − zero) · scale`; returns
/// scale and zero.
///
/// The range always includes 0, so that 0 is exact. `columns` is empty or as long as `x`, `codes`
/// as long as `x`. The error is at most one scale, which is the range of the row divided by 127.
#[inline(always)]
pub(super) fn codes<V: Vector>(x: &[f32], columns: &[f32], codes: &mut [u8]) -> (f32, u8) {
    let (low, high) =
        if columns.is_empty() { extremes::<V>(x) } else { scaled_extremes::<V>(x, columns) };
    let range = high - low;
    let scale = if range > f32::MIN_POSITIVE { range / f32::from(MAX_CODE) } else { 1.0 };
    let inverse = V::splat(1.0 / scale);
    // Rounded in the same way as the codes.
    let zero = V::splat(-low).mul(inverse).add(V::splat(ROUND)).sub(V::splat(ROUND));
    let (limit, round, none) = (V::splat(f32::from(MAX_CODE)), V::splat(ROUND), V::splat(0.0));
    macro_rules! code {
        ($value:expr) => {
            $value.mul(inverse).add(zero).max(none).min(limit).add(round)
        };
    }
    let mut zeros = [0; LANES];
    zero.max(none).min(limit).add(round).store_codes(&mut zeros);
    let ((x, x_rest), (columns, columns_rest)) =
        (x.as_chunks::<LANES>(), columns.as_chunks::<LANES>());
    let (codes, codes_rest) = codes.as_chunks_mut::<LANES>();
    let mut last = V::load_part(x_rest, 0.0);
    if columns.is_empty() && columns_rest.is_empty() {
        for (codes, x) in codes.iter_mut().zip(x) {
            code!(V::load(x)).store_codes(codes);
        }
    } else {
        for ((codes, x), columns) in codes.iter_mut().zip(x).zip(columns) {
            code!(V::load(x).mul(V::load(columns))).store_codes(codes);
        }
        last = last.mul(V::load_part(columns_rest, 0.0));
    }
    let mut rest = [0; LANES];
    code!(last).store_codes(&mut rest);
    for (to, from) in codes_rest.iter_mut().zip(rest) {
        *to = from;
    }
    (scale, zeros[0])
}

/// The smallest and the largest element, 0 included.
#[inline(always)]
fn extremes<V: Vector>(x: &[f32]) -> (f32, f32) {
    let zero = V::splat(0.0);
    let low = reduce!(
        x, 0.0, zero, (lanes, value) => value.min(lanes), (left, right) => right.min(left)
    );
    let high = reduce!(
        x, 0.0, zero, (lanes, value) => value.max(lanes), (left, right) => right.max(left)
    );
    (low.least(), high.most())
}

/// The smallest and the largest product of elements, 0 included.
#[inline(always)]
fn scaled_extremes<V: Vector>(x: &[f32], columns: &[f32]) -> (f32, f32) {
    let mut low = V::splat(0.0);
    let mut high = low;
    let ((x, x_rest), (columns, columns_rest)) =
        (x.as_chunks::<LANES>(), columns.as_chunks::<LANES>());
    for (x, columns) in x.iter().zip(columns) {
        let value = V::load(x).mul(V::load(columns));
        low = value.min(low);
        high = value.max(high);
    }
    let value = V::load_part(x_rest, 0.0).mul(V::load_part(columns_rest, 0.0));
    (value.min(low).least(), value.max(high).most())
}

/// See [`Kernels::dequantize_groups`](super::Kernels::dequantize_groups).
#[inline(always)]
pub(super) fn dequantize_groups<V: Vector>(
    codes: &[u8],
    signs: Signs,
    group: usize,
    factors: &[(f32, f32)],
    out: &mut [f32],
) {
    if group == 0 {
        return;
    }
    let offset = V::splat(f32::from(signs.offset));
    let groups = codes.chunks(group.max(1)).zip(out.chunks_mut(group.max(1)));
    for ((codes, out), &(scale, minimum)) in groups.zip(factors) {
        let (scale, minimum) = (V::splat(scale), V::splat(minimum));
        macro_rules! values {
            ($codes:expr) => {
                scale.mul(V::load_bytes($codes, signs.flip).sub(offset)).add(minimum)
            };
        }
        let ((codes, codes_rest), (out, out_rest)) =
            (codes.as_chunks::<LANES>(), out.as_chunks_mut::<LANES>());
        for (codes, out) in codes.iter().zip(out) {
            values!(codes).store(out);
        }
        if !out_rest.is_empty() {
            let mut bytes = [0; LANES];
            for (byte, &code) in bytes.iter_mut().zip(codes_rest) {
                *byte = code;
            }
            values!(&bytes).store_part(out_rest);
        }
    }
}

/// Quantises groups of `group` elements to signed bytes −`limit` … `limit`, at most 127, one scale
/// per group; `sums` are the sums of the dequantised values, `scale · Σ code`. The error is at most
/// half a scale.
#[inline(always)]
pub(super) fn groups_i8<V: Vector>(
    x: &[f32],
    group: usize,
    limit: f32,
    codes: &mut [u8],
    scales: &mut [f32],
    sums: &mut [f32],
) {
    if group == 0 {
        return;
    }
    let factors = scales.iter_mut().zip(sums);
    let groups = pieces(x, group).zip(pieces_mut(codes, group));
    for ((x, codes), (scale, sum)) in groups.zip(factors) {
        let lanes = reduce!(
            x, 0.0, V::splat(0.0),
            (lanes, value) => value.abs().max(lanes),
            (left, right) => right.max(left)
        );
        let (step, inverse) = word_scale(lanes.most(), limit);
        let mut total = 0_i32;
        for (code, &value) in codes.iter_mut().zip(x) {
            // The low byte of the mantissa; NaN becomes an arbitrary code.
            let rounded = (value * inverse + ROUND).to_bits() as u8;
            *code = rounded;
            total += i32::from(rounded as i8);
        }
        #[allow(clippy::cast_precision_loss)] // far below 2²⁴
        let total = total as f32;
        (*scale, *sum) = (step, step * total);
    }
}

/// Scale and its inverse for values up to `largest` in codes up to `limit`.
#[inline(always)]
fn word_scale(largest: f32, limit: f32) -> (f32, f32) {
    let largest = if largest > f32::MIN_POSITIVE { largest } else { limit };
    (largest / limit, limit / largest)
}

/// Quantises the first `size` elements of rows to 16-bit codes up to `limit`, one scale per row.
///
/// Codes are little-endian; rows of an odd size are completed by a zero. The error is at most half
/// a scale.
#[inline(always)]
pub(super) fn rows_i16<V: Vector>(
    x: Table<'_>,
    size: usize,
    limit: f32,
    codes: &mut [u8],
    scales: &mut [f32],
) {
    if size == 0 {
        return;
    }
    let lines = pieces_mut(codes, size.div_ceil(2) * 4);
    for ((row, line), scale) in x.data.chunks(x.stride.max(1)).zip(lines).zip(scales) {
        let row = row.get(..size).unwrap_or(row);
        let lanes = reduce!(
            row, 0.0, V::splat(0.0),
            (lanes, value) => value.abs().max(lanes),
            (left, right) => right.max(left)
        );
        let (step, inverse) = word_scale(lanes.most(), limit);
        *scale = step;
        words::<V>(row, inverse, line);
    }
}

/// 16-bit codes of `x · factor`, little-endian; the rest of `codes` becomes 0.
#[inline(always)]
fn words<V: Vector>(x: &[f32], factor: f32, codes: &mut [u8]) {
    let factor = V::splat(factor);
    let (chunks, rest) = x.as_chunks::<LANES>();
    let (lines, left) = codes.split_at_mut(codes.len().min(chunks.len() * 2 * LANES));
    let lines = lines.as_chunks_mut::<{ 2 * LANES }>().0;
    for (chunk, line) in chunks.iter().zip(lines) {
        word(V::load(chunk), factor).store_words(line);
    }
    let mut last = [0; 2 * LANES];
    if !rest.is_empty() {
        word(V::load_part(rest, 0.0), factor).store_words(&mut last);
    }
    let (codes, zeros) = left.split_at_mut(left.len().min(rest.len() * 2));
    for (to, from) in codes.iter_mut().zip(last) {
        *to = from;
    }
    zeros.fill(0);
}

/// Softmax of `scale · x` as 16-bit codes, 32,767 for 1; `x` is used as scratch.
///
/// Absolute error below 2e-5. The rest of `codes` after the row becomes 0.
#[inline(always)]
pub(super) fn softmax_i16<V: Vector>(x: &mut [f32], scale: f32, codes: &mut [u8]) {
    let sum = softmax_exponentials::<V>(x, scale);
    words::<V>(x, PROBABILITY_ONE / sum, codes);
}

/// Quantises columns that are stored as rows, for [`MultiplyI16`](super::MultiplyI16)'s `b`: one
/// scale per column.
///
/// Writes lines of pairs of the first `scales.len()` elements of rows to `codes`, with `line` pairs
/// from one line to the next. `inverses` is scratch as long as `scales`. The error is at most half
/// a scale.
#[inline(always)]
pub(super) fn columns_i16<V: Vector>(
    x: Table<'_>,
    limit: f32,
    (codes, line): (&mut [u8], usize),
    scales: &mut [f32],
    inverses: &mut [f32],
) {
    let Table { data, stride } = x;
    if stride == 0 {
        return;
    }
    let width = scales.len().min(stride).min(line);
    for (part, scales) in scales.chunks_mut(LANES).enumerate() {
        let (first, count) = (part * LANES, scales.len());
        let mut largest = V::splat(0.0);
        for row in data.chunks(stride.max(1)) {
            let row = row.get(first..).unwrap_or_default();
            let row = row.get(..count).unwrap_or(row);
            largest = V::load_part(row, 0.0).abs().max(largest);
        }
        largest.store_part(scales);
    }
    for (scale, inverse) in scales.iter_mut().zip(inverses.iter_mut()) {
        (*scale, *inverse) = word_scale(*scale, limit);
    }
    let inverses = inverses.get(..width).unwrap_or_default();
    let lines = codes.chunks_mut((line * 4).max(1));
    for (pair, codes) in data.chunks((stride * 2).max(1)).zip(lines) {
        let (first, second) = pair.split_at_checked(stride).unwrap_or((pair, &[]));
        let codes = codes.get_mut(..width * 4).unwrap_or_default();
        pairs::<V>(first, second, inverses, codes);
    }
}

/// Codes of `first · factors` and `second · factors`, alternating; a missing second row is all 0.
#[inline(always)]
fn pairs<V: Vector>(first: &[f32], second: &[f32], factors: &[f32], codes: &mut [u8]) {
    let (lines, left) = codes.as_chunks_mut::<{ 4 * LANES }>();
    let rows = first.chunks(LANES).zip(second.chunks(LANES).chain(core::iter::repeat(&[][..])));
    let mut parts = rows.zip(factors.chunks(LANES));
    for (line, ((first, second), factors)) in lines.iter_mut().zip(&mut parts) {
        let factors = V::load_part(factors, 0.0);
        let first = word(V::load_part(first, 0.0), factors);
        first.store_pairs(word(V::load_part(second, 0.0), factors), line);
    }
    if !left.is_empty()
        && let Some(((first, second), factors)) = parts.next()
    {
        let mut last = [0; 4 * LANES];
        let factors = V::load_part(factors, 0.0);
        let first = word(V::load_part(first, 0.0), factors);
        first.store_pairs(word(V::load_part(second, 0.0), factors), &mut last);
        for (to, from) in left.iter_mut().zip(last) {
            *to = from;
        }
    }
}

/// The nearest integers of `value · factor`, in the low bits.
#[inline(always)]
fn word<V: Vector>(value: V, factor: V) -> V {
    value.mul(factor).add(V::splat(ROUND))
}
