//! The table of tensors and their totals.

use nanoembed_core::tensor::TensorHeader;
use serde::Serialize;

/// A tensor as a file describes it. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// The type it is stored as.
    pub dtype: &'static str,
    /// Its sizes, the outermost first.
    pub shape: Vec<u64>,
    /// The offset of its data in the file.
    pub offset: u64,
    /// The size of its data in bytes.
    pub bytes: u64,
}

impl From<&TensorHeader<'_>> for Tensor {
    fn from(header: &TensorHeader<'_>) -> Self {
        Self {
            name: header.name.to_owned(),
            dtype: header.dtype.name(),
            shape: header.shape.dims().to_vec(),
            offset: header.offset,
            bytes: header.bytes,
        }
    }
}

/// Totals over tensors.
#[derive(Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// The number of the model's parameters.
    pub parameters: u64,
    /// The bytes of all tensors.
    pub tensor_bytes: u64,
    /// Bits per parameter.
    pub bits_per_parameter: f64,
}

impl Totals {
    /// Companions and indices are not parameters, but they take room.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub(super) fn from_tensors(tensors: &[Tensor]) -> Self {
        const COMPANIONS: [&str; 3] = [".scale", ".zero_point", ".column_scale"];
        let is_parameter =
            |tensor: &&Tensor| !COMPANIONS.iter().any(|companion| tensor.name.ends_with(companion));
        let model = || tensors.iter().filter(|tensor| !tensor.name.starts_with("vocab."));
        let elements = |tensor: &Tensor| tensor.shape.iter().product::<u64>();
        let parameters = model().filter(is_parameter).map(elements).sum::<u64>();
        let bytes: u64 = model().map(|tensor| tensor.bytes).sum();
        let bits = bytes as f64 * 8.0 / parameters.max(1) as f64;
        Self {
            parameters,
            tensor_bytes: tensors.iter().map(|tensor| tensor.bytes).sum(),
            bits_per_parameter: if parameters == 0 {
                0.0
            } else {
                (bits * 1000.0).round() / 1000.0
            },
        }
    }
}
