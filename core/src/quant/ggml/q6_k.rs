//! ggml Q6_K: `x = (d s) (q − 32)`, a signed scale for each 16 elements.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 128 | `ql`: lower four bits of element `128 n + 32 j + l` in byte `64 n + 32 (j % 2) + l`, in the low half if `j < 2` |
//! | 128 | 64 | `qh`: bits `2j, 2j + 1` of byte `32 n + l` are the upper two |
//! | 192 | 16 | `scales`, signed bytes |
//! | 208 | 2 | `d`, IEEE half |

use crate::quant::block::{code, extreme, reciprocal, round_even};
use crate::quant::float16::{f16_to_f32, round_f16};
use crate::quant::lanes::{Codes, Lanes};
use crate::tensor::Dtype;

/// Elements of a block.
pub const BLOCK_ELEMENTS: usize = Dtype::Q6K.block_elements();
/// Bytes of a block.
pub const BLOCK_BYTES: usize = Dtype::Q6K.block_bytes();

/// Dequantises one block.
#[inline(always)]
pub fn dequantize_block<L: Lanes>(block: &[u8; BLOCK_BYTES], out: &mut [f32; BLOCK_ELEMENTS]) {
    let [body @ .., d0, d1] = block;
    let d = L::half([*d0, *d1]);
    let (ql, rest) = body.split_at(128);
    let (qh, scales) = rest.split_at(64);
    let Some(scales) = scales.first_chunk() else { return };
    let (ql, qh) = (ql.as_chunks().0, qh.as_chunks().0);
    let factors = L::factors(L::Codes::load(scales), d);
    for (sub, (out, scale)) in out.as_chunks_mut().0.iter_mut().zip(&factors.0).enumerate() {
        let (n, j, half) = (sub / 8, sub % 8 / 2, sub % 2);
        let upper = L::Codes::load(&qh[2 * n + half]).field(2 * j as u32, 3);
        let lower = L::Codes::load(&ql[4 * n + 2 * (j % 2) + half]);
        let q = lower.field(4 * (j as u32 / 2), 15).join(upper, 4);
        L::scaled(q.less(32), L::factor(*scale), out);
    }
}

/// Unpacks one block to unsigned codes, and the scale and minimum of each 16 elements: `x = scale ·
/// code + minimum`.
#[inline]
pub fn unpack_block(
    block: &[u8; BLOCK_BYTES],
    codes: &mut [u8; BLOCK_ELEMENTS],
    factors: &mut [(f32, f32); 16],
) {
    let [body @ .., d0, d1] = block;
    let d = f16_to_f32([*d0, *d1]);
    let (ql, rest) = body.split_at(128);
    let (qh, scales) = rest.split_at(64);
    for (factors, scale) in factors.iter_mut().zip(scales) {
        let scale = d * f32::from(scale.cast_signed());
        *factors = (scale, scale * -32.0);
    }
    for (sub, codes) in codes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (n, j) = (sub / 4, sub % 4);
        let parts = ql[64 * n + 32 * (j % 2)..].iter().zip(&qh[32 * n..]);
        for (code, (l, h)) in codes.iter_mut().zip(parts) {
            *code = l >> (4 * (j / 2)) & 15 | (h >> (2 * j) & 3) << 4;
        }
    }
}

/// Quantises one block: for each 16 elements the scale with the least squared error over a range of
/// grids, then the 8-bit scales, then the codes that suit the rounded scales best.
#[must_use]
pub fn quantize_block(values: &[f32; BLOCK_ELEMENTS]) -> [u8; BLOCK_BYTES] {
    let subs = values.as_chunks::<16>().0;
    let mut fits = [0.0_f32; 16];
    for (fit, sub) in fits.iter_mut().zip(subs) {
        *fit = fit_scale(sub);
    }
    // The scale of the largest magnitude becomes −128, the code without a positive counterpart.
    let (d_bytes, d) = round_f16(extreme(&fits) / -128.0);
    let mut block = [0; BLOCK_BYTES];
    let [body @ .., d0, d1] = &mut block;
    [*d0, *d1] = d_bytes;
    let (ql, rest) = body.split_at_mut(128);
    let (qh, scales) = rest.split_at_mut(64);
    for (sub, (values, fit)) in subs.iter().zip(fits).enumerate() {
        let (n, j, half) = (sub / 8, sub % 8 / 2, sub % 2);
        scales[sub] = round_scale(values, fit, d);
        let inverse = reciprocal(d * f32::from(scales[sub].cast_signed()));
        let lower = &mut ql[64 * n + 32 * (j % 2) + 16 * half..];
        let upper = &mut qh[32 * n + 16 * half..];
        for ((l, h), x) in lower.iter_mut().zip(upper).zip(values) {
            let q = nearest(*x, inverse).wrapping_add(32);
            *l |= (q & 15) << (4 * (j / 2));
            *h |= q >> 4 << (2 * j);
        }
    }
    block
}

/// The code from −32 to 31 nearest to `x`, as its bits.
fn nearest(x: f32, inverse: f32) -> u8 {
    code(round_even(x * inverse), -32.0, 31.0)
}

fn squared_error(values: &[f32; 16], scale: f32) -> f32 {
    let inverse = reciprocal(scale);
    values.iter().fold(0.0, |sum, &x| {
        let error = scale * f32::from(nearest(x, inverse).cast_signed()) - x;
        sum + error * error
    })
}

/// The scale of the least squared error found.
fn fit_scale(values: &[f32; 16]) -> f32 {
    let extreme = extreme(values);
    let mut best = extreme / -32.0;
    let mut least = squared_error(values, best);
    for step in 0..=20_u8 {
        let scale = extreme / -(31.0 + 0.1 * f32::from(step));
        let inverse = reciprocal(scale);
        let (mut sum_qq, mut sum_qx) = (0.0_f32, 0.0);
        for &x in values {
            let q = f32::from(nearest(x, inverse).cast_signed());
            sum_qq += q * q;
            sum_qx += q * x;
        }
        for scale in [scale, sum_qx * reciprocal(sum_qq)] {
            let error = squared_error(values, scale);
            if error < least {
                (least, best) = (error, scale);
            }
        }
    }
    best
}

/// The 8-bit scale around `fit` with the least squared error.
fn round_scale(values: &[f32; 16], fit: f32, d: f32) -> u8 {
    let middle = code(round_even(fit * reciprocal(d)), -128.0, 127.0).cast_signed();
    let mut best = middle;
    let mut least = f32::INFINITY;
    for scale in middle.saturating_sub(1)..=middle.saturating_add(1) {
        let error = squared_error(values, d * f32::from(scale));
        if error < least {
            (least, best) = (error, scale);
        }
    }
    best.cast_unsigned()
}
