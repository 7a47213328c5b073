//! AFQ, the affine quantisation of MLX: `x = q scale + bias` for each group of 32, 64 or 128
//! elements of a row.
//!
//! Codes of 2, 3, 4, 6 or 8 bits are a stream of bits, least significant first, in little-endian
//! 32-bit words: element `j` of a row begins at bit `j · bits` of the row's bytes. The result is
//! computed in f32 and rounded to the type of the scales.

use half::{bf16, f16};

use super::block::{range, reciprocal, round_even};
use crate::tensor::{Afq, Dtype};

/// Dequantises `out.len()` elements from `first` on; `None` if there are fewer.
pub(super) fn dequantize(afq: &Afq<'_>, first: usize, out: &mut [f32]) -> Option<()> {
    let group_size = usize::from(afq.group_size);
    let group_bytes = group_size * usize::from(afq.bits) / 8;
    let mut element = first;
    let mut rest = out;
    while !rest.is_empty() {
        let group = element.checked_div(group_size)?;
        let inside = element % group_size;
        let (values, after) = rest.split_at_mut((group_size - inside).min(rest.len()));
        let (scale, bias) = (afq.scales.get(group)?, afq.biases.get(group)?);
        let start = group.checked_mul(group_bytes)?;
        let codes = afq.codes.get(start..start.checked_add(group_bytes)?)?;
        for (offset, value) in values.iter_mut().enumerate() {
            let q = code(codes, inside + offset, afq.bits);
            *value = afq.scales.round(f32::from(q) * scale + bias);
        }
        element += values.len();
        rest = after;
    }
    Some(())
}

/// The code of an element: up to 8 bits, which may span two bytes.
#[inline]
fn code(codes: &[u8], element: usize, bits: u8) -> u8 {
    let bit = element * usize::from(bits);
    let low = codes.get(bit / 8).copied().unwrap_or(0);
    let high = codes.get(bit / 8 + 1).copied().unwrap_or(0);
    let word = u16::from_le_bytes([low, high]) >> (bit % 8);
    (word & ((1 << bits) - 1)) as u8
}

/// Quantises whole groups of `values`: fills `codes` with a stream of `bits` bits each, `scales`
/// and `biases` with a float of `dtype` (F32, F16 or BF16) for each group. `None` if a parameter is
/// undefined or a length does not fit.
///
/// As in MLX, the extreme of larger magnitude is exact, and zero has a code if possible; a group
/// uses this grid or the plain one from minimum to maximum, whichever has the smaller squared
/// error.
pub fn quantize(
    values: &[f32],
    bits: u8,
    group_size: u8,
    dtype: Dtype,
    codes: &mut [u8],
    scales: &mut [u8],
    biases: &mut [u8],
) -> Option<()> {
    let size = usize::from(group_size);
    if !matches!(bits, 2 | 3 | 4 | 6 | 8) || !matches!(size, 32 | 64 | 128) {
        return None;
    }
    let float_bytes = match dtype {
        Dtype::F32 => 4,
        Dtype::F16 | Dtype::BF16 => 2,
        _ => return None,
    };
    let groups = values.len() / size;
    let group_bytes = size * usize::from(bits) / 8;
    let fits = values.len().is_multiple_of(size)
        && codes.len() == groups * group_bytes
        && scales.len() == groups * float_bytes
        && biases.len() == groups * float_bytes;
    if !fits {
        return None;
    }
    let parts = codes.chunks_exact_mut(group_bytes);
    let floats = scales.chunks_exact_mut(float_bytes).zip(biases.chunks_exact_mut(float_bytes));
    for ((group, codes), (scale, bias)) in values.chunks_exact(size).zip(parts).zip(floats) {
        let fit = fit_group(group, bits, dtype);
        store(fit.0, dtype, scale);
        store(fit.1, dtype, bias);
        codes.fill(0);
        for (element, x) in group.iter().enumerate() {
            put(codes, element, bits, nearest(*x, fit, bits));
        }
    }
    Some(())
}

fn put(codes: &mut [u8], element: usize, bits: u8, code: u8) {
    let bit = element * usize::from(bits);
    let [low, high] = (u16::from(code) << (bit % 8)).to_le_bytes();
    for (byte, part) in codes.iter_mut().skip(bit / 8).zip([low, high]) {
        *byte |= part;
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // clamped to 0..2^bits
fn nearest(x: f32, (scale, bias): (f32, f32), bits: u8) -> u8 {
    let largest = f32::from(u8::MAX >> (8 - bits));
    round_even((x - bias) * reciprocal(scale)).clamp(0.0, largest) as u8
}

fn squared_error(group: &[f32], fit: (f32, f32), bits: u8) -> f32 {
    group.iter().fold(0.0, |sum, &x| {
        let error = f32::from(nearest(x, fit, bits)) * fit.0 + fit.1 - x;
        sum + error * error
    })
}

fn fit_group(group: &[f32], bits: u8, dtype: Dtype) -> (f32, f32) {
    let (min, max) = range(group);
    let steps = f32::from(u8::MAX >> (8 - bits));
    let step = (max - min) / steps;
    let round = |(scale, bias)| (rounded(scale, dtype), rounded(bias, dtype));
    let plain = round((step, min));
    // The grid of MLX: starts at the edge of larger magnitude, with a step that hits zero.
    let (edge, step) = if min.abs() > max.abs() { (min, step) } else { (max, -step) };
    let codes_to_zero = round_even(edge * reciprocal(step));
    let exact_zero = if codes_to_zero == 0.0 { (step, 0.0) } else { (edge / codes_to_zero, edge) };
    let exact_zero = round(exact_zero);
    if squared_error(group, exact_zero, bits) < squared_error(group, plain, bits) {
        exact_zero
    } else {
        plain
    }
}

fn rounded(value: f32, dtype: Dtype) -> f32 {
    match dtype {
        Dtype::F16 => f16::from_f32(value).to_f32(),
        Dtype::BF16 => bf16::from_f32(value).to_f32(),
        _ => value,
    }
}

/// Stores `value`, which is representable in `dtype`.
fn store(value: f32, dtype: Dtype, out: &mut [u8]) {
    match dtype {
        Dtype::F16 => out.copy_from_slice(&f16::from_f32(value).to_le_bytes()),
        Dtype::BF16 => out.copy_from_slice(&bf16::from_f32(value).to_le_bytes()),
        _ => out.copy_from_slice(&value.to_le_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_two_bytes_hold_the_codes_that_their_bits_spell() {
        for bits in [2, 3, 4, 6, 8] {
            for bytes in (0..=u16::MAX).map(u16::to_le_bytes) {
                let bit = |at: usize| u32::from(bytes[at / 8] >> (at % 8) & 1);
                for element in 0..16 / usize::from(bits) {
                    let first = element * usize::from(bits);
                    let spelled = (0..usize::from(bits)).map(|at| bit(first + at) << at).sum();
                    assert_eq!(
                        u32::from(code(&bytes, element, bits)),
                        spelled,
                        "{bytes:x?} {bits}"
                    );
                }
            }
        }
    }
}
