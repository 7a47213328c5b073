//! Weights in 8 bits: signed codes −127 … 127, a scale for each row and group of columns, and
//! optionally one per column.
//!
//! `weight[row][col] = code · scale[row][group] · column_scale[col]`
//!
//! | part | why |
//! |---|---|
//! | groups of columns | activations are quantised at run time to 7 bits, with a scale for each token and group: an outlier reduces the precision of its group, not of the whole row |
//! | column scales | some columns of the activations are always large. Dividing them by a constant and multiplying the weights by it changes nothing in exact arithmetic, and evens out the values to be quantised (SmoothQuant, Xiao et al. 2022; AWQ, Lin et al. 2023) |
//!
//! The activations are measured by running the float model over some texts ([`add_squares`]).

use super::block::round_even;

/// The widest group of columns.
pub const MAX_GROUP_COLS: usize = 384;

/// The number of equal groups for a row of `cols` elements: the fewest within [`MAX_GROUP_COLS`].
#[must_use]
pub fn groups(cols: usize) -> usize {
    let least = cols.div_ceil(MAX_GROUP_COLS).max(1);
    (least..=cols.max(1)).find(|&groups| cols.is_multiple_of(groups)).unwrap_or(1)
}

/// The largest code of a weight.
const MAX_CODE: f32 = 127.0;

/// The limit on √Σ code² of codes that are accumulated together: see [`CodeRange::Narrow`].
///
/// For activations of all-MiniLM-L6-v2, √Σ (code − zero)² is 125 to 200 in 98 % of groups of eight
/// tokens, and the product of both has to be below 2¹⁵.
const MAX_ROOT: f32 = 165.0;

/// Columns of a vector of bytes, two of which share a 16-bit sum.
const VECTOR: usize = 16;

/// The part of a byte's range that codes use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeRange {
    /// The largest code of a group is 127.
    Full,
    /// As large as keeps products with activations within 16 bits, which costs up to a bit of
    /// precision, less if the largest weight of a group is an outlier.
    ///
    /// CPUs without instructions for dot products of bytes multiply them in pairs and accumulate
    /// two of every 16 columns in 16 bits. These sums are known to fit if √Σ code² is at most 165
    /// in each of them (Cauchy-Schwarz): products then take four fifths of the time.
    Narrow,
}

impl CodeRange {
    /// The largest code for a group of these values: at most 127, also for zeros.
    #[must_use]
    pub fn limit(self, values: &[f32]) -> f32 {
        match self {
            Self::Full => MAX_CODE,
            Self::Narrow => narrow_limit(values),
        }
    }
}

/// See [`CodeRange::Narrow`].
fn narrow_limit(values: &[f32]) -> f32 {
    let largest = largest(values);
    if largest <= f32::MIN_POSITIVE {
        return MAX_CODE;
    }
    let inverse = 1.0 / largest;
    let mut squares = [0.0; VECTOR];
    for part in values.chunks(VECTOR) {
        for (sum, value) in squares.iter_mut().zip(part) {
            let share = value * inverse;
            *sum += share * share;
        }
    }
    let sums = squares.as_chunks().0.iter().map(|[a, b]| a + b);
    let most = libm::sqrtf(sums.fold(0.0, f32::max));
    // Also if it is NaN.
    (MAX_ROOT / most).min(MAX_CODE)
}

/// Adds the squares of the elements of whole rows to the sums of their columns.
///
/// A column's root mean square is the root of its sum divided by the number of rows.
pub fn add_squares(sums: &mut [f64], rows: &[f32]) {
    for row in rows.chunks_exact(sums.len().max(1)) {
        for (sum, &value) in sums.iter_mut().zip(row) {
            *sum += f64::from(value) * f64::from(value);
        }
    }
}

/// Column scales from the activations' root mean squares and the weights' largest magnitudes, both
/// by column.
///
/// `migration` is the share of a column's size that is moved into the weights, from 0 (none) to 1
/// (all): `scale = largest^(1 − migration) / rms^migration`, divided by the geometric mean of all.
/// The result is stored as `NAME.column_scale`. `rms` and `largest` are taken as at least 1e-6. All
/// slices have the same length.
pub fn column_scales(rms: &[f32], largest: &[f32], migration: f32, scales: &mut [f32]) {
    let floor = |value: f32| if value > 1e-6 { value } else { 1e-6 };
    let mut sum = 0.0_f64;
    for ((scale, &rms), &largest) in scales.iter_mut().zip(rms).zip(largest) {
        let (rms, largest) = (libm::logf(floor(rms)), libm::logf(floor(largest)));
        *scale = (1.0 - migration) * largest - migration * rms;
        sum += f64::from(*scale);
    }
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // rounding is fine
    let mean = (sum / scales.len().max(1) as f64) as f32;
    for scale in scales {
        *scale = libm::expf(*scale - mean);
    }
}

/// Quantises one row of weights, which have been divided by their columns' scales, in
/// `scales.len()` groups.
///
/// A group's scale is its largest magnitude divided by its [limit](CodeRange::limit); a group of
/// zeros has scale 1. Values must be finite; `codes` is as long as `row`.
pub fn quantize_row(row: &[f32], range: CodeRange, codes: &mut [i8], scales: &mut [f32]) {
    let Some(width) = row.len().checked_div(scales.len()).filter(|&width| width > 0) else {
        return;
    };
    let parts = row.chunks_exact(width).zip(codes.chunks_exact_mut(width)).zip(scales);
    for ((values, codes), scale) in parts {
        let largest = largest(values);
        *scale = if largest > f32::MIN_POSITIVE { largest / range.limit(values) } else { 1.0 };
        for (code, value) in codes.iter_mut().zip(values) {
            #[allow(clippy::cast_possible_truncation)] // saturates
            let rounded = round_even(value / *scale) as i8;
            *code = rounded.max(-127);
        }
    }
}

fn largest(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_divide_the_columns() {
        let expected = [(1, 1), (384, 1), (385, 5), (768, 2), (1024, 4), (1536, 4), (3072, 8)];
        for (cols, count) in expected {
            assert_eq!(groups(cols), count, "{cols}");
        }
        assert_eq!(groups(997), 997);
    }

    #[test]
    fn codes_are_within_half_a_step() {
        let row = [0.5, -1.0, 0.25, 0.0, 3.0, -2.9, 0.01, 1.5];
        let (mut codes, mut scales) = ([0; 8], [0.0; 2]);
        quantize_row(&row, CodeRange::Full, &mut codes, &mut scales);
        for i in 0..8 {
            let step = scales[i / 4];
            assert!((f32::from(codes[i]) * step - row[i]).abs() <= step * 0.5001, "{i}");
        }
        assert_eq!((codes[0], codes[1], codes[5]), (64, -127, -123));
    }

    #[test]
    fn codes_that_share_a_sum_are_small_together() {
        // Columns 2 and 3 of every 16 have half of the squares.
        let even: [f32; 384] =
            core::array::from_fn(|col| if col % 16 / 2 == 1 { -0.5 } else { 0.1 });
        let alone: [f32; 384] = core::array::from_fn(|col| if col == 5 { 3.0 } else { 0.1 });
        let (mut codes, mut scales) = ([0; 384], [0.0; 1]);
        for (row, largest) in [(even, 24), (alone, 127)] {
            quantize_row(&row, CodeRange::Narrow, &mut codes, &mut scales);
            assert_eq!(codes.iter().map(|code| code.unsigned_abs()).max(), Some(largest));
            let mut sums = [0; 8];
            for (col, &code) in codes.iter().enumerate() {
                sums[col % 16 / 2] += i32::from(code).pow(2);
            }
            assert!(sums.iter().all(|&sum| f64::from(sum).sqrt() < 167.0), "{sums:?}");
        }
        for none in [0.0, f32::NAN, 1e-45] {
            assert_eq!(CodeRange::Narrow.limit(&[none; 16]), 127.0);
        }
    }

    #[test]
    fn a_row_of_zeros_stays_one() {
        let (mut codes, mut scales) = ([9; 4], [0.0; 1]);
        quantize_row(&[0.0; 4], CodeRange::Narrow, &mut codes, &mut scales);
        assert_eq!((codes, scales), ([0; 4], [1.0]));
    }

    #[test]
    fn squares_are_added_by_column() {
        let mut sums = [1.0, 0.0];
        add_squares(&mut sums, &[1.0, 2.0, 3.0, -4.0]);
        assert_eq!(sums, [11.0, 20.0]);
        add_squares(&mut [], &[1.0]);
    }

    #[test]
    fn large_columns_get_small_scales() {
        let mut scales = [0.0; 3];
        column_scales(&[10.0, 1.0, 0.1], &[1.0; 3], 0.6, &mut scales);
        assert!(scales[0] < scales[1] && scales[1] < scales[2]);
        assert!((scales[0] * scales[1] * scales[2] - 1.0).abs() < 1e-5);
    }
}
