//! ggml Q4_K: `x = (d s) q − dmin m`, a scale and a minimum for each 32 elements.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 2 | `d`, IEEE half |
//! | 2 | 2 | `dmin`, IEEE half |
//! | 4 | 12 | `scales`: eight scales and minima of 6 bits |
//! | 16 | 128 | `qs`: element `32 k + l` in byte `32 (k / 2) + l`, in the low half if `k` is even |

use super::k_scales;
use crate::quant::block::{code, range, reciprocal, round_even};
use crate::quant::float16::{f16_to_f32, round_f16};
use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Q4K.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Q4K.block_bytes();

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [d0, d1, m0, m1, rest @ ..] = block;
    let (d, dmin) = (L::half([*d0, *d1]), L::half([*m0, *m1]));
    let Some((scales, qs)) = rest.split_first_chunk::<12>() else { return };
    let [scales, minima] = k_scales::factors::<L>(scales, d, dmin);
    let factors = scales.0.iter().zip(&minima.0[8..]);
    let subs = out.as_chunks_mut::<32>().0.iter_mut().zip(factors);
    for (k, (out, (scale, min))) in subs.enumerate() {
        let (scale, min) = (L::factor(*scale), L::factor(*min));
        let qs = qs[32 * (k / 2)..].as_chunks().0;
        for (out, qs) in out.as_chunks_mut().0.iter_mut().zip(qs) {
            L::minus(L::Codes::load(qs).field(4 * (k as u32 % 2), 15), scale, min, out);
        }
    }
}

/// Unpacks one block to unsigned codes, and the scale and minimum of each 32 elements: `x = scale ·
/// code + minimum`.
#[inline]
pub fn unpack_block(
    block: &[u8; BLOCK_BYTES],
    codes: &mut [u8; BLOCK_ELEMENTS],
    factors: &mut [(f32, f32); 8],
) {
    let [d0, d1, m0, m1, rest @ ..] = block;
    let (d, dmin) = (f16_to_f32([*d0, *d1]), f16_to_f32([*m0, *m1]));
    let Some((scales, qs)) = rest.split_first_chunk::<12>() else { return };
    for (factors, (scale, min)) in factors.iter_mut().zip(k_scales::unpack(scales)) {
        *factors = (d * f32::from(scale), -(dmin * f32::from(min)));
    }
    for (codes, qs) in codes.as_chunks_mut::<64>().0.iter_mut().zip(qs.as_chunks::<32>().0) {
        let (even, odd) = codes.split_at_mut(32);
        for ((even, odd), q) in even.iter_mut().zip(odd).zip(qs) {
            (*even, *odd) = (q & 15, q >> 4);
        }
    }
}

/// Quantises one block: for each 32 elements the scale and minimum with the least squared error
/// over a range of grids, then the 6-bit scales, then the codes that suit the rounded scales best.
#[must_use]
pub fn quantize_block(values: &[f32; BLOCK_ELEMENTS]) -> [u8; BLOCK_BYTES] {
    let subs = values.as_chunks::<32>().0;
    let mut fits = [(0.0_f32, 0.0_f32); 8];
    for (fit, sub) in fits.iter_mut().zip(subs) {
        *fit = fit_grid(sub);
    }
    let largest = |part: fn(&(f32, f32)) -> f32| fits.iter().map(part).fold(0.0, f32::max);
    let (d_bytes, d) = round_f16(largest(|fit| fit.0) / 63.0);
    let (dmin_bytes, dmin) = round_f16(largest(|fit| fit.1) / 63.0);
    let mut block = [0; BLOCK_BYTES];
    let [d0, d1, m0, m1, rest @ ..] = &mut block;
    ([*d0, *d1], [*m0, *m1]) = (d_bytes, dmin_bytes);
    let (packed, qs) = rest.split_at_mut(12);
    let mut scales = [(0, 0); 8];
    for (k, (sub, fit)) in subs.iter().zip(fits).enumerate() {
        scales[k] = round_scales(sub, fit, d, dmin);
        let (scale, min) = (d * f32::from(scales[k].0), dmin * f32::from(scales[k].1));
        let inverse = reciprocal(scale);
        for (q, x) in qs[32 * (k / 2)..].iter_mut().zip(sub) {
            *q |= nearest(*x, inverse, min) << (4 * (k % 2));
        }
    }
    packed.copy_from_slice(&k_scales::pack(&scales));
    block
}

/// The code whose value `scale q − min` is nearest to `x`.
fn nearest(x: f32, inverse: f32, min: f32) -> u8 {
    code(round_even((x + min) * inverse), 0.0, 15.0)
}

fn squared_error(values: &[f32; 32], scale: f32, min: f32) -> f32 {
    let inverse = reciprocal(scale);
    values.iter().fold(0.0, |sum, &x| {
        let error = scale * f32::from(nearest(x, inverse, min)) - min - x;
        sum + error * error
    })
}

/// Scale and minimum (both ≥ 0) of the least squared error found.
fn fit_grid(values: &[f32; 32]) -> (f32, f32) {
    let (low, high) = range(values);
    let low = low.min(0.0);
    if high <= low {
        return (0.0, -low);
    }
    let mut best = ((high - low) / 15.0, -low);
    let mut least = squared_error(values, best.0, best.1);
    // A grid with more steps than codes clips the largest values, one with fewer leaves codes
    // unused.
    for step in 0..=24_u8 {
        let steps = 13.8 + 0.1 * f32::from(step);
        let (mut scale, mut min) = ((high - low) / steps, -low);
        for _ in 0..2 {
            (scale, min) = least_squares(values, scale, min);
            let error = squared_error(values, scale, min);
            if error < least {
                (least, best) = (error, (scale, min));
            }
        }
    }
    best
}

/// The regression line of the values over their codes on the grid `(scale, min)`.
fn least_squares(values: &[f32; 32], scale: f32, min: f32) -> (f32, f32) {
    let inverse = reciprocal(scale);
    let (mut sum_q, mut sum_qq, mut sum_x, mut sum_qx) = (0.0_f32, 0.0, 0.0, 0.0);
    for &x in values {
        let q = f32::from(nearest(x, inverse, min));
        sum_q += q;
        sum_qq += q * q;
        sum_x += x;
        sum_qx += q * x;
    }
    let count = 32.0;
    let determinant = count * sum_qq - sum_q * sum_q;
    if determinant <= 0.0 {
        return (scale, min);
    }
    let slope = (count * sum_qx - sum_q * sum_x) / determinant;
    let shift = (sum_qq * sum_x - sum_q * sum_qx) / determinant;
    // A minimum below zero cannot be stored: then the line goes through the origin.
    if shift > 0.0 { (sum_qx / sum_qq, 0.0) } else { (slope, -shift) }
}

/// The 6-bit scale and minimum around `fit` with the least squared error.
fn round_scales(values: &[f32; 32], fit: (f32, f32), d: f32, dmin: f32) -> (u8, u8) {
    let scale = code(round_even(fit.0 * reciprocal(d)), 0.0, 63.0);
    let min = code(round_even(fit.1 * reciprocal(dmin)), 0.0, 63.0);
    let mut best = (scale, min);
    let mut least = f32::INFINITY;
    for scale in scale.saturating_sub(1)..=(scale + 1).min(63) {
        for min in min.saturating_sub(1)..=(min + 1).min(63) {
            let error = squared_error(values, d * f32::from(scale), dmin * f32::from(min));
            if error < least {
                (least, best) = (error, (scale, min));
            }
        }
    }
    best
}
