//! Tensors: their types, shapes and encodings, and views of their bytes.

mod dtype;
pub(crate) mod identity;
mod scaled;
mod shape;
mod spec;
mod view;
mod weight;

pub use dtype::{Dtype, DtypeKind};
pub use scaled::{Arrangement, CodeBits, Places, ScaleType, ScaledCodes};
pub use shape::{MAX_DIMS, Shape};
pub use spec::TensorSpec;
pub use view::{TensorHeader, TensorView};
pub use weight::{
    Afq, Encoding, F8Q8_BLOCK_BYTES, F8Q8_BLOCK_ELEMENTS, Floats, Hqq, HqqMatrix, MXFP4_GROUP,
    Weight,
};
