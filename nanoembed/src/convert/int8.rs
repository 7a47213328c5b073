//! Matrices as signed 8-bit codes: the rows of [`nanoembed_core::quant::int8`], on all threads.

use std::borrow::Cow;

use nanoembed_core::quant::int8::{CodeRange, groups, quantize_row};
use nanoembed_core::{Error as CoreError, limit};

use crate::parallel;

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
) -> Result<Codes<'c>, CoreError> {
    let groups = groups(cols);
    let mut codes = limit::filled(values.len(), 0)?;
    let mut scales = limit::filled(values.len() / cols * groups, 0.0)?;
    let rows = values.chunks_exact(cols).zip(codes.chunks_exact_mut(cols));
    let rows = rows.zip(scales.chunks_exact_mut(groups));
    parallel::try_each(rows, &|((row, codes), scales)| {
        quantize_row(&divided(row, columns)?, range, codes, scales);
        Ok(())
    })?;
    Ok(Codes { codes, scales, columns })
}

fn divided<'r>(row: &'r [f32], columns: &[f32]) -> Result<Cow<'r, [f32]>, CoreError> {
    if columns.is_empty() {
        return Ok(Cow::Borrowed(row));
    }
    let divided = row.iter().zip(columns).map(|(value, column)| value / column);
    limit::exactly(divided).map(Cow::Owned)
}

/// The values of the codes.
pub fn dequantize(codes: &Codes<'_>, cols: usize) -> Result<Vec<f32>, CoreError> {
    let mut out = limit::reserved(codes.codes.len())?;
    let width = cols / groups(cols);
    let parts = codes.codes.chunks_exact(width).zip(&codes.scales);
    let values =
        parts.flat_map(|(part, &scale)| part.iter().map(move |&code| f32::from(code) * scale));
    match codes.columns {
        [] => out.extend(values),
        columns => {
            out.extend(values.zip(columns.iter().cycle()).map(|(value, column)| value * column));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stand_for_values_close_by() {
        let columns: Vec<f32> = (0..768_u16).map(|col| 1.0 + f32::from(col % 5)).collect();
        let value = |i: u16| (f32::from(i) * 0.37).sin() * columns[usize::from(i % 768)];
        let values: Vec<f32> = (0..768 * 3).map(value).collect();
        let codes = quantize(&values, 768, &columns, CodeRange::Full).unwrap();
        assert_eq!((codes.codes.len(), codes.scales.len()), (768 * 3, 6));
        let off = |(a, b): (&f32, f32)| (a - b).abs();
        let back = dequantize(&codes, 768).unwrap();
        assert!(values.iter().zip(back).map(off).all(|off| off <= 5.0 / 127.0));
    }

    #[test]
    fn zeros_stay_zeros() {
        let codes = quantize(&[0.0; 6], 3, &[], CodeRange::Full).unwrap();
        assert_eq!(dequantize(&codes, 3).unwrap(), [0.0; 6]);
    }
}
