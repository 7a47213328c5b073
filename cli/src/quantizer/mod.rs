//! Quantising weights to the types of ggml and UQFF, one tensor in memory at a time.
//!
//! | file | role |
//! |---|---|
//! | `types` | the types and what each of them can hold |
//! | `command` | the command `quantize` for weights |
//! | `encode` | values to arrays of a type |
//! | `spool` | arrays that wait for their file to be written, in a temporary file |

pub(crate) mod command;
pub(crate) mod encode;
pub(crate) mod spool;
pub(crate) mod types;

pub(crate) use encode::encode;
pub(crate) use spool::Spool;
pub(crate) use types::QuantType;
