//! The description of a tensor to be written.

use super::{Dtype, Shape};

/// A tensor to be written, as the writers of all formats take it. A writer rejects tensors that its
/// format cannot hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorSpec<'a> {
    /// The name, unique in the file.
    pub name: &'a str,
    /// The type of the elements or blocks.
    pub dtype: Dtype,
    /// The dimensions, outermost first.
    pub shape: Shape,
}

impl TensorSpec<'_> {
    /// The size of the data in bytes; `None` if it is not a whole number of blocks or does not fit
    /// 64 bits.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.dtype.data_bytes(self.shape.elements()?)
    }
}
