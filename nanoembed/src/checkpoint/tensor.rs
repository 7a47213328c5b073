//! One tensor of a source: borrowed bytes, converted to f32 on demand.

use half::{bf16, f16};
use nanoembed_core::tensor::Shape;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

/// The type of the source's elements, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    F64,
    F32,
    F16,
    BF16,
    /// Signed 8-bit codes with a scale for each row, or for each of several groups of its columns.
    I8,
    /// Unsigned 8-bit codes with a scale and a zero point for each row.
    U8,
}

/// A tensor of one or two dimensions.
#[derive(Debug)]
pub struct Tensor<'a> {
    /// The specification's name.
    pub name: String,
    /// The shape in the result, outermost first.
    pub shape: Vec<usize>,
    pub elements: Elements,
    pub data: &'a [u8],
    /// For `I8` and `U8`, as many a row of the source as it has groups: f32.
    pub scales: &'a [u8],
    /// For `I8`, one a column of the source, or none: f32.
    pub columns: &'a [u8],
    /// For `U8`, one a row of the source.
    pub zeros: &'a [u8],
    /// True if the source stores the matrix transposed.
    pub transposed: bool,
}

/// A tensor in f32 that was dequantised.
pub struct OwnedTensor {
    pub name: String,
    pub shape: Vec<usize>,
    pub data: Vec<u8>,
}

impl OwnedTensor {
    /// The tensor, whose values stay here.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn borrow(&self) -> Result<Tensor<'_>, CoreError> {
        Ok(Tensor {
            name: limit::copied(&self.name)?,
            shape: self.shape.clone(),
            elements: Elements::F32,
            data: &self.data,
            scales: &[],
            zeros: &[],
            columns: &[],
            transposed: false,
        })
    }
}

/// A file's dimensions as sizes in memory.
pub(crate) fn sizes(shape: &Shape) -> Result<Vec<usize>, ErrorKind> {
    let dims = shape.dims().iter().map(|&dim| usize::try_from(dim));
    dims.collect::<Result<_, _>>().map_err(|_| ErrorKind::SizeOverflow)
}

/// Numbers as files have them.
pub(crate) fn le_bytes(values: &[f32]) -> Result<Vec<u8>, CoreError> {
    let mut bytes = limit::reserved(values.len().saturating_mul(size_of::<f32>()))?;
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    Ok(bytes)
}

impl Tensor<'_> {
    /// The same tensor again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn copied(&self) -> Result<Self, CoreError> {
        let (name, shape) = (limit::copied(&self.name)?, self.shape.clone());
        Ok(Self { name, shape, ..*self })
    }

    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// The length of the result's rows; a vector is one row.
    pub fn cols(&self) -> usize {
        self.shape.last().copied().unwrap_or(1).max(1)
    }

    /// All elements in row-major order, scales applied.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn to_f32(&self) -> Result<Vec<f32>, CoreError> {
        #[expect(clippy::cast_possible_truncation, reason = "models are not trained in f64")]
        let values = match self.elements {
            Elements::F64 => convert(self.data, |b| f64::from_le_bytes(b) as f32),
            Elements::F32 => convert(self.data, f32::from_le_bytes),
            Elements::F16 => convert(self.data, |b| f16::from_le_bytes(b).to_f32()),
            Elements::BF16 => convert(self.data, |b| bf16::from_le_bytes(b).to_f32()),
            Elements::I8 | Elements::U8 => self.dequantized(),
        }?;
        if self.transposed { self.turned(&values) } else { Ok(values) }
    }

    fn dequantized(&self) -> Result<Vec<f32>, CoreError> {
        let scales = convert(self.scales, f32::from_le_bytes)?;
        let columns = convert(self.columns, f32::from_le_bytes)?;
        let width = (self.data.len() / scales.len().max(1)).max(1);
        let mut values = limit::reserved(self.data.len())?;
        for (group, (codes, scale)) in self.data.chunks_exact(width).zip(scales).enumerate() {
            // Only rows have zero points: with them, a row is one group.
            let zero = f32::from(self.zeros.get(group).copied().unwrap_or(0));
            values.extend(codes.iter().map(|&code| match self.elements {
                Elements::I8 => f32::from(code.cast_signed()) * scale,
                _ => (f32::from(code) - zero) * scale,
            }));
        }
        if !columns.is_empty() {
            values
                .iter_mut()
                .zip(columns.iter().cycle())
                .for_each(|(value, column)| *value *= column);
        }
        Ok(values)
    }

    fn turned(&self, source: &[f32]) -> Result<Vec<f32>, CoreError> {
        let cols = self.cols();
        let rows = source.len() / cols;
        let element = |row, col| source.get(col * rows + row).copied().unwrap_or(0.0);
        let mut values = limit::reserved(source.len())?;
        values.extend((0..rows).flat_map(|row| (0..cols).map(move |col| element(row, col))));
        Ok(values)
    }
}

fn convert<const N: usize>(
    data: &[u8],
    element: impl Fn([u8; N]) -> f32,
) -> Result<Vec<f32>, CoreError> {
    limit::exactly(data.as_chunks::<N>().0.iter().map(|bytes| element(*bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposed_matrix_is_turned_back() {
        let data: Vec<u8> = (0..6_u8).flat_map(|i| f32::from(i).to_le_bytes()).collect();
        let tensor = Tensor {
            name: "w".into(),
            shape: vec![2, 3],
            elements: Elements::F32,
            data: &data,
            scales: &[],
            columns: &[],
            zeros: &[],
            transposed: true,
        };
        // The source is [3, 2]: (0 1) (2 3) (4 5).
        assert_eq!(tensor.to_f32().unwrap(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    }

    #[test]
    fn groups_and_columns_have_scales_of_their_own() {
        let bytes =
            |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let tensor = Tensor {
            name: "w".into(),
            shape: vec![2, 4],
            elements: Elements::I8,
            data: &[1, 2, 3, 4, 5, 6, 7, 0x80],
            scales: &bytes(&[1.0, 2.0, 3.0, 0.5]),
            columns: &bytes(&[1.0, 10.0, 1.0, 100.0]),
            zeros: &[],
            transposed: false,
        };
        assert_eq!(tensor.to_f32().unwrap(), [1.0, 20.0, 6.0, 800.0, 15.0, 180.0, 3.5, -6400.0]);
    }

    #[test]
    fn zero_points_are_subtracted_before_scaling() {
        let scales: Vec<u8> = [0.5_f32, 2.0].iter().flat_map(|s| s.to_le_bytes()).collect();
        let tensor = Tensor {
            name: "w".into(),
            shape: vec![2, 2],
            elements: Elements::U8,
            data: &[10, 12, 0, 255],
            scales: &scales,
            columns: &[],
            zeros: &[10, 128],
            transposed: false,
        };
        assert_eq!(tensor.to_f32().unwrap(), [0.0, 1.0, -256.0, 254.0]);
    }
}
