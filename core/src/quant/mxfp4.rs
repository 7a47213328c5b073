//! MXFP4: `x = e2m1(q) 2^(e − 127)`, a power of two for each 32 elements of a row.
//!
//! Codes and powers are in separate arrays: byte `i` of the codes holds element `2 i` in its low
//! half and `2 i + 1` in its high half; byte `g` of the scales is `e` of the elements from `32 g`
//! on.
//!
//! Source: OCP Microscaling Formats 1.0, except that, as in the reference, `e = 0` is 0, not 2⁻¹²⁷,
//! and `e = 255` is infinity.

use super::block::extreme;
use super::lanes::{Codes, Lanes};

/// Elements that share a scale.
pub const GROUP: usize = 32;

/// The values of the sixteen codes (E2M1).
pub const VALUES: [f32; 16] =
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];

/// The factor of a scale byte.
#[must_use]
#[inline]
pub fn factor(e: u8) -> f32 {
    f32::from_bits(u32::from(e) << 23)
}

/// Dequantises one group.
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), allow(dead_code))] // only its kernels do
#[inline(always)]
pub(super) fn dequantize_group<L: Lanes>(
    codes: &[u8; GROUP / 2],
    scale: u8,
    out: &mut [f32; GROUP],
) {
    let codes = L::Codes::load(codes);
    let codes = codes.field(0, 15).interleave(codes.field(4, 15));
    let scale = L::factor(factor(scale));
    for (out, codes) in out.as_chunks_mut().0.iter_mut().zip(codes) {
        L::looked_up(codes, &VALUES, scale, out);
    }
}

/// Dequantises `out.len()` elements from `first` on; `None` if there are fewer.
pub fn dequantize(codes: &[u8], scales: &[u8], first: usize, out: &mut [f32]) -> Option<()> {
    let mut element = first;
    let mut rest = out;
    while !rest.is_empty() {
        let in_group = (GROUP - element % GROUP).min(rest.len());
        let (values, after) = rest.split_at_mut(in_group);
        let factor = factor(*scales.get(element / GROUP)?);
        for value in values {
            let byte = codes.get(element / 2)?;
            let code = if element.is_multiple_of(2) { byte & 15 } else { byte >> 4 };
            *value = VALUES[usize::from(code)] * factor;
            element += 1;
        }
        rest = after;
    }
    Some(())
}

/// The code nearest to `x`; ties go to the even mantissa.
fn nearest(x: f32) -> u8 {
    let magnitude = x.abs();
    // Midpoints between the eight magnitudes; a tie goes down if the lower one is even.
    let code = match magnitude {
        m if m <= 0.25 => 0,
        m if m < 0.75 => 1,
        m if m <= 1.25 => 2,
        m if m < 1.75 => 3,
        m if m <= 2.5 => 4,
        m if m < 3.5 => 5,
        m if m <= 5.0 => 6,
        m if m.is_nan() => 0,
        _ => 7,
    };
    code | if x < 0.0 { 8 } else { 0 }
}

/// Quantises `values`, whole groups of 32, filling `codes` (half a byte each) and `scales` (a byte
/// per group), with the power of two around the extreme value that has the least squared error.
/// `None` if a length does not fit.
pub fn quantize(values: &[f32], codes: &mut [u8], scales: &mut [u8]) -> Option<()> {
    let (groups, []) = values.as_chunks::<GROUP>() else { return None };
    let (codes, []) = codes.as_chunks_mut::<16>() else { return None };
    if codes.len() != groups.len() || scales.len() != groups.len() {
        return None;
    }
    for ((group, codes), scale) in groups.iter().zip(codes).zip(scales) {
        (*codes, *scale) = quantize_group(group);
    }
    Some(())
}

fn quantize_group(group: &[f32; GROUP]) -> ([u8; 16], u8) {
    // The extreme's exponent less 2, that of the largest code.
    let exponent = (extreme(group).to_bits() >> 23 & 255).saturating_sub(2);
    let mut best = ([0; 16], 0);
    let mut least = f32::INFINITY;
    for e in exponent.saturating_sub(1).max(1)..=(exponent + 1).min(254) {
        let e = e as u8;
        let factor = factor(e);
        let (mut codes, mut error) = ([0; 16], 0.0);
        for (byte, pair) in codes.iter_mut().zip(group.as_chunks::<2>().0) {
            let [low, high] = pair.map(|x| nearest(x / factor));
            *byte = low | high << 4;
            for (code, x) in [low, high].into_iter().zip(pair) {
                let difference = VALUES[usize::from(code)] * factor - x;
                error += difference * difference;
            }
        }
        if error < least {
            (least, best) = (error, (codes, e));
        }
    }
    best
}
