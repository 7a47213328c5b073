//! Matrices as signed 8-bit codes: the rows of [`nanoembed_core::quant::int8`], on all threads.

use std::borrow::Cow;

use nanoembed_core::quant::int8::{CodeRange, groups, quantize_row};
use rayon::prelude::*;

/// A matrix of codes, the scales of each row's groups of columns, and the scales of the columns, if
/// it has any.
#[derive(Clone, Debug, PartialEq)]
pub struct Codes<'c> {
    pub codes: Vec<i8>,
    pub scales: Vec<f32>,
    pub columns: &'c [f32],
}

/// Quantises `values`, rows of `cols` finite elements each, divided by `columns` if there are any.
pub fn quantize<'c>(
    values: &[f32],
    cols: usize,
    columns: &'c [f32],
    range: CodeRange,
) -> Codes<'c> {
    let groups = groups(cols);
    let mut codes = vec![0; values.len()];
    let mut scales = vec![0.0; values.len() / cols * groups];
    let rows = values.par_chunks_exact(cols).zip(codes.par_chunks_exact_mut(cols));
    rows.zip(scales.par_chunks_exact_mut(groups)).for_each(|((row, codes), scales)| {
        quantize_row(&divided(row, columns), range, codes, scales);
    });
    Codes { codes, scales, columns }
}

fn divided<'r>(row: &'r [f32], columns: &[f32]) -> Cow<'r, [f32]> {
    if columns.is_empty() {
        return Cow::Borrowed(row);
    }
    row.iter().zip(columns).map(|(value, column)| value / column).collect()
}

/// The values of the codes.
pub fn dequantize(codes: &Codes<'_>, cols: usize) -> Vec<f32> {
    let width = cols / groups(cols);
    let parts = codes.codes.chunks_exact(width).zip(&codes.scales);
    let values =
        parts.flat_map(|(part, &scale)| part.iter().map(move |&code| f32::from(code) * scale));
    if codes.columns.is_empty() {
        return values.collect();
    }
    values.zip(codes.columns.iter().cycle()).map(|(value, column)| value * column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stand_for_values_close_by() {
        let columns: Vec<f32> = (0..768_u16).map(|col| 1.0 + f32::from(col % 5)).collect();
        let value = |i: u16| (f32::from(i) * 0.37).sin() * columns[usize::from(i % 768)];
        let values: Vec<f32> = (0..768 * 3).map(value).collect();
        let codes = quantize(&values, 768, &columns, CodeRange::Full);
        assert_eq!((codes.codes.len(), codes.scales.len()), (768 * 3, 6));
        let off = |(a, b): (&f32, f32)| (a - b).abs();
        let back = dequantize(&codes, 768);
        assert!(values.iter().zip(back).map(off).all(|off| off <= 5.0 / 127.0));
    }

    #[test]
    fn zeros_stay_zeros() {
        assert_eq!(dequantize(&quantize(&[0.0; 6], 3, &[], CodeRange::Full), 3), [0.0; 6]);
    }
}
