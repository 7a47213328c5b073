//! A tensor's header and a borrowed view of its bytes.

use half::{bf16, f16};

use super::{Dtype, Shape};
use crate::error::{Error, ErrorKind, Result};

/// What a file says of one tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorHeader<'a> {
    /// The name, unique in the file.
    pub name: &'a str,
    /// The type of the elements.
    pub dtype: Dtype,
    /// The dimensions, outermost first.
    pub shape: Shape,
    /// Absolute offset of the first byte of the data in the file.
    pub offset: u64,
    /// Length of the data in bytes.
    pub bytes: u64,
}

/// A tensor whose bytes are in memory (read, mapped, or in flash).
#[derive(Clone, Copy, PartialEq)]
pub struct TensorView<'a> {
    header: TensorHeader<'a>,
    data: &'a [u8],
}

/// Without the data, which may be gigabytes.
impl core::fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TensorView").field("header", &self.header).finish_non_exhaustive()
    }
}

impl<'a> TensorView<'a> {
    /// A view of `data`, which must be exactly as long as `header` says.
    #[must_use]
    pub fn new(header: TensorHeader<'a>, data: &'a [u8]) -> Option<Self> {
        (data.len() as u64 == header.bytes).then_some(Self { header, data })
    }

    /// Name, type, shape and place.
    #[must_use]
    pub const fn header(&self) -> &TensorHeader<'a> {
        &self.header
    }

    /// The raw little-endian bytes, not aligned in general.
    #[must_use]
    pub const fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Converts the elements from `first` on to f32, as many as `out` holds. Wider types round to
    /// the nearest.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the tensor has fewer elements than `first + out.len()`;
    /// [`ErrorKind::UnsupportedDtype`] for blocks and 8-bit floats, which are dequantised, not
    /// converted.
    pub fn read_f32(&self, first: usize, out: &mut [f32]) -> Result<()> {
        let unsupported = Error::new(self.header.offset, ErrorKind::UnsupportedDtype);
        let size = self.header.dtype.element_bytes().ok_or(unsupported)?;
        let data = first
            .checked_mul(size)
            .and_then(|start| self.data.get(start..))
            .filter(|data| out.len().checked_mul(size).is_some_and(|wanted| wanted <= data.len()))
            .ok_or(Error::new(self.header.offset, ErrorKind::InvalidArgument))?;
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
        // documented: wider types round
        match self.header.dtype {
            Dtype::F64 => convert(data, out, |b| f64::from_le_bytes(b) as f32),
            Dtype::F32 => convert(data, out, f32::from_le_bytes),
            Dtype::F16 => convert(data, out, |b| f16::from_le_bytes(b).to_f32()),
            Dtype::BF16 => convert(data, out, |b| bf16::from_le_bytes(b).to_f32()),
            Dtype::I64 => convert(data, out, |b| i64::from_le_bytes(b) as f32),
            Dtype::I32 => convert(data, out, |b| i32::from_le_bytes(b) as f32),
            Dtype::I16 => convert(data, out, |b| f32::from(i16::from_le_bytes(b))),
            Dtype::I8 => convert(data, out, |b| f32::from(i8::from_le_bytes(b))),
            Dtype::U64 => convert(data, out, |b| u64::from_le_bytes(b) as f32),
            Dtype::U32 => convert(data, out, |b| u32::from_le_bytes(b) as f32),
            Dtype::U16 => convert(data, out, |b| f32::from(u16::from_le_bytes(b))),
            Dtype::U8 | Dtype::Bool => convert(data, out, |b| f32::from(u8::from_le_bytes(b))),
            _ => return Err(unsupported),
        }
        Ok(())
    }
}

fn convert<const N: usize>(data: &[u8], out: &mut [f32], element: impl Fn([u8; N]) -> f32) {
    for (value, bytes) in out.iter_mut().zip(data.as_chunks::<N>().0) {
        *value = element(*bytes);
    }
}
