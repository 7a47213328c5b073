//! Tensors: what type and shape they have, and a view of their bytes.

mod dtype;
mod shape;
mod view;

pub use dtype::Dtype;
pub use shape::{MAX_DIMS, Shape};
pub use view::{TensorHeader, TensorView};
