//! Rows of f32 as signed 8-bit codes with one scale each: `x ≈ code · scale`.
//!
//! The largest code need not stand for the row's largest value: a somewhat smaller scale rounds all the others finer.
//! Of some scales the one with the least squared error is taken, then the best for the codes that it gives.

use rayon::prelude::*;

/// Scales that are tried: this many, each [`STEP`] smaller than the one before.
const CANDIDATES: u8 = 16;
const STEP: f32 = 0.02;

/// A matrix of codes and the scale of each row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Codes {
    pub(crate) codes: Vec<i8>,
    pub(crate) scales: Vec<f32>,
}

/// Quantises `values`, rows of `cols` finite elements each.
pub(crate) fn quantize(values: &[f32], cols: usize) -> Codes {
    let mut codes = vec![0; values.len()];
    let mut scales = vec![0.0; values.len() / cols];
    let rows = values.par_chunks_exact(cols).zip(codes.par_chunks_exact_mut(cols));
    rows.zip(&mut scales).for_each(|((row, codes), scale)| *scale = quantize_row(row, codes));
    Codes { codes, scales }
}

/// What the codes stand for.
pub(crate) fn dequantize(codes: &Codes, cols: usize) -> Vec<f32> {
    let rows = codes.codes.chunks_exact(cols).zip(&codes.scales);
    rows.flat_map(|(row, &scale)| row.iter().map(move |&code| f32::from(code) * scale)).collect()
}

fn quantize_row(row: &[f32], codes: &mut [i8]) -> f32 {
    let largest = row.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
    if largest < f32::MIN_POSITIVE * 127.0 {
        // Nothing to tell apart; zeros are zeros on any scale.
        codes.fill(0);
        return 1.0;
    }
    let candidates = (0..CANDIDATES).map(|step| largest / 127.0 * (1.0 - STEP * f32::from(step)));
    let errors = candidates.map(|scale| (squared_error(row, scale), scale));
    let best = errors.min_by(|(a, _), (b, _)| a.total_cmp(b));
    let scale = best.map_or(largest / 127.0, |(_, scale)| scale);
    let (mut product, mut square) = (0.0_f64, 0.0_f64);
    for (x, code) in row.iter().zip(codes) {
        let rounded = round(x / scale);
        #[expect(clippy::cast_possible_truncation, reason = "rounded and within ±127")]
        {
            *code = rounded as i8;
        }
        product += f64::from(*x) * f64::from(rounded);
        square += f64::from(rounded) * f64::from(rounded);
    }
    #[expect(clippy::cast_possible_truncation, reason = "scales are stored as f32")]
    let refined = (product / square) as f32;
    if refined.is_normal() { refined } else { scale }
}

fn squared_error(row: &[f32], scale: f32) -> f32 {
    let inverse = 1.0 / scale;
    row.iter().map(|x| (x - round(x * inverse) * scale).powi(2)).sum()
}

/// The nearest whole number, ties to even, within ±127. Adding and taking away 1.5 · 2²³ leaves no room for fractions
/// and is much faster than `round_ties_even` where the CPU has no instruction for it.
fn round(x: f32) -> f32 {
    const WHOLE: f32 = 12_582_912.0;
    (x.clamp(-127.0, 127.0) + WHOLE) - WHOLE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(values: &[f32], cols: usize) -> f64 {
        let back = dequantize(&quantize(values, cols), cols);
        values.iter().zip(back).map(|(x, y)| f64::from(x - y).powi(2)).sum()
    }

    #[test]
    fn no_element_is_further_off_than_half_of_the_plain_step_without_outliers() {
        let row: Vec<f32> = (0..255_u8).map(|i| f32::from(i) - 127.0).collect();
        assert!(error(&row, 255) < 1e-6, "whole numbers within ±127 are exact");
    }

    #[test]
    fn it_is_never_worse_than_the_plain_scale() {
        let mut state = 1_u32;
        let values: Vec<f32> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (f64::from(state) / f64::from(u32::MAX) - 0.5) as f32
        })
        .map(|x| x * x * x)
        .take(40 * 96)
        .collect();
        let plain: f64 = values
            .chunks_exact(96)
            .map(|row| {
                let scale = row.iter().fold(0.0_f32, |m, x| m.max(x.abs())) / 127.0;
                let off = |x: &f32| f64::from(x - (x / scale).round() * scale).powi(2);
                row.iter().map(off).sum::<f64>()
            })
            .sum();
        assert!(error(&values, 96) <= plain);
    }

    #[test]
    fn zeros_stay_zeros() {
        assert_eq!(dequantize(&quantize(&[0.0; 6], 3), 3), [0.0; 6]);
    }
}
