//! The distribution of a tensor's values.

use serde::Serialize;

use crate::error::Result;
use crate::stored::Stored;

/// The values of a tensor in bins. The fields' names are those of the JSON output.
#[derive(Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Distribution {
    /// The tensor's name.
    pub name: String,
    /// The type it is stored as.
    pub dtype: &'static str,
    /// Its sizes, the outermost first.
    pub shape: Vec<u64>,
    /// The number of values.
    pub elements: u64,
    /// The smallest value.
    pub min: f32,
    /// The largest value.
    pub max: f32,
    /// The mean of all values that are finite.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The number of zeros.
    pub zeros: u64,
    /// The number of values that are infinite or NaN.
    pub not_finite: u64,
    /// The start of the first bin.
    pub first_bin: f64,
    /// The width of each bin.
    pub bin_width: f64,
    /// The number of values in each bin.
    pub counts: Vec<u64>,
}

impl Distribution {
    /// Counts the values of `tensor` in so many bins.
    #[doc(hidden)]
    #[expect(clippy::cast_precision_loss, reason = "means and widths of bins")]
    pub fn from_tensor(tensor: &Stored<'_>, bins: usize) -> Result<Self> {
        let (mut min, mut max) = (f32::INFINITY, f32::NEG_INFINITY);
        let (mut sum, mut squares, mut zeros, mut finite) = (0.0_f64, 0.0_f64, 0, 0_u64);
        tensor.pieces(|values| {
            for value in values.iter().filter(|value| value.is_finite()) {
                (min, max) = (min.min(*value), max.max(*value));
                sum += f64::from(*value);
                squares += f64::from(*value).powi(2);
                zeros += u64::from(*value == 0.0);
                finite += 1;
            }
            Ok(())
        })?;
        if finite == 0 {
            (min, max) = (0.0, 0.0);
        }
        let count = finite.max(1) as f64;
        let mean = sum / count;
        let span = f64::from(max) - f64::from(min);
        let width = if span > 0.0 { span / bins as f64 } else { 1.0 };
        let mut counts = vec![0_u64; if span > 0.0 { bins } else { 1 }];
        let last = counts.len().saturating_sub(1);
        tensor.pieces(|values| {
            for value in values.iter().filter(|value| value.is_finite()) {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "within the bins"
                )]
                let bin = ((f64::from(*value) - f64::from(min)) / width) as usize;
                if let Some(count) = counts.get_mut(bin.min(last)) {
                    *count += 1;
                }
            }
            Ok(())
        })?;
        let elements = tensor.values.elements();
        Ok(Self {
            name: tensor.name.clone(),
            dtype: tensor.values.type_name(),
            shape: tensor.values.shape().dims().to_vec(),
            elements,
            min,
            max,
            mean,
            deviation: (squares / count - mean * mean).max(0.0).sqrt(),
            zeros,
            not_finite: elements - finite,
            first_bin: min.into(),
            bin_width: width,
            counts,
        })
    }
}
