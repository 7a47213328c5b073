//! What borrowing types of other modules do with memory of their own.

use alloc::vec::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::limit::filled;
use crate::sink::Sink;
use crate::tensor::TensorView;

/// Appends; [`ErrorKind::NoMemory`] if there is not as much memory.
impl Sink for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let none = |_| Error::without_offset(ErrorKind::NoMemory);
        self.try_reserve(bytes.len()).map_err(none)?;
        self.extend_from_slice(bytes);
        Ok(())
    }
}

impl TensorView<'_> {
    /// All elements as f32: see [`dequantize`](Self::dequantize).
    ///
    /// # Errors
    ///
    /// As [`dequantize`](Self::dequantize), and [`ErrorKind::NoMemory`].
    pub fn to_f32(&self) -> Result<Vec<f32>> {
        let elements = self.shape().elements().and_then(|it| usize::try_from(it).ok());
        let mut values = filled(elements.unwrap_or(usize::MAX), 0.0)?;
        self.dequantize(0, &mut values)?;
        Ok(values)
    }
}
