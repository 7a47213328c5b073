//! Quantising weights to the types of ggml and UQFF, one tensor in memory at a time.
//!
//! | file | role |
//! |---|---|
//! | `types` | the types and the shapes each of them can hold |
//! | `encode` | values to arrays of a type |

pub mod encode;
pub mod types;

pub use encode::encode;
pub use types::QuantType;
