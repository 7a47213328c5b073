//! Descriptions and checks of files, and differences between two.
//!
//! | I want | item |
//! |---|---|
//! | header, metadata, tokenizer and tensors of a file | [`inspect`] |
//! | whether a file is whole and the model in it complete | [`Verification`] |
//! | how far the weights of two files are apart | [`Comparison`] |
//! | how the values of a tensor are distributed | [`Tensor::distribution`](crate::Tensor::distribution) |

#[doc(hidden)]
pub mod difference;
mod distribution;
#[doc(hidden)]
pub mod inspection;
#[doc(hidden)]
pub mod verification;

pub use difference::{Comparison, Difference, Differences, Shapes};
pub use distribution::Distribution;
pub use inspection::tensors::{Tensor, Totals};
pub use inspection::{Inspection, inspect};
pub use verification::{Finding, Verification, Verified};
