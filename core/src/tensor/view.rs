//! A tensor's header and a borrowed view of its bytes.

use super::{Dtype, Shape};

/// The description of one tensor in a file.
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

/// Omits the data, which may be gigabytes.
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

    /// The name, unique in the file.
    #[must_use]
    pub const fn name(&self) -> &'a str {
        self.header.name
    }

    /// The type of the elements.
    #[must_use]
    pub const fn dtype(&self) -> Dtype {
        self.header.dtype
    }

    /// The dimensions, outermost first.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.header.shape
    }

    /// Name, type, shape and offset.
    #[must_use]
    pub const fn header(&self) -> &TensorHeader<'a> {
        &self.header
    }

    /// The raw little-endian bytes, not aligned in general.
    #[must_use]
    pub const fn data(&self) -> &'a [u8] {
        self.data
    }
}
