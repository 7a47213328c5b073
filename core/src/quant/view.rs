//! Dequantisation of a tensor in a file.

use super::dequantize_weight;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{Encoding, TensorView, Weight};

impl TensorView<'_> {
    /// Converts `out.len()` elements from `first` on to f32, in row-major order. Wider types round
    /// to the nearest; blocks are dequantised.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the tensor has fewer elements than `first + out.len()`;
    /// [`ErrorKind::UnsupportedDtype`] for types whose data alone does not determine values, those
    /// known only by size, and those that Cargo features left out.
    pub fn dequantize(&self, first: usize, out: &mut [f32]) -> Result<()> {
        let header = self.header();
        let encoding = Encoding::Plain { dtype: header.dtype, data: self.data() };
        let weight = Weight::new(header.shape, encoding);
        let weight = weight.map_err(|kind| Error::new(header.offset, kind))?;
        dequantize_weight(&weight, first, out).map_err(|error| match error.kind() {
            ErrorKind::UnsupportedDtype => Error::new(header.offset, error.kind()),
            // Offsets of scales are relative to the tensor's data.
            _ => error.shifted_by(header.offset),
        })
    }
}
