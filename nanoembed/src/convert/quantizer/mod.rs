//! Quantising weights to the types of ggml and UQFF, one tensor in memory at a time.
//!
//! | file | role |
//! |---|---|
//! | `types` | the types and what each of them can hold |
//! | `weights` | the weights of a model, written in fewer bits |
//! | `embedding_models` | which embedding models become UQFF |
//! | `encode` | values to arrays of a type |
//! | `spool` | a temporary file for arrays until the output is written |

mod embedding_models;
pub mod encode;
pub mod spool;
pub mod types;
pub mod weights;

pub use encode::encode;
pub use spool::Spool;
pub use types::QuantType;
