//! Comparing arrays of numbers.

/// The bits of each value, so that comparisons distinguish −0 from 0 and support NaN.
#[must_use]
pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The mean of squared differences in f64.
///
/// # Panics
///
/// If the lengths differ.
#[must_use]
pub fn mean_squared_error(left: &[f32], right: &[f32]) -> f64 {
    assert_eq!(left.len(), right.len());
    let squares = left.iter().zip(right).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2));
    squares.sum::<f64>() / left.len() as f64
}
