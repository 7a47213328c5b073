//! GGUF versions 2 and 3, little-endian: metadata and ggml tensors in one file.
//!
//! | offset | size | part |
//! |---|---|---|
//! | 0 | 4 | magic number `GGUF` |
//! | 4 | 4 | version |
//! | 8 | 8 | number of tensors |
//! | 16 | 8 | number of metadata pairs |
//! | 24 | n | pairs: key (`u64` length, bytes), `u32` type, value; arrays: `u32` type, `u64` count, elements |
//! | | n | tensors: name, `u32` ndim, `u64` dims innermost first, `u32` type, `u64` offset in the data |
//! | multiple of `general.alignment` (32) | n | data, each tensor padded to the alignment |
//!
//! As in ggml, the tensors are stored in the order of their descriptions, without gaps beyond the
//! padding. Some writers omit the padding after the last tensor, which strict mode requires.
//!
//! Specification: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

mod decoder;
mod grammar;
mod view;
#[allow(
    clippy::arithmetic_side_effects,
    reason = "what is written comes from the caller; sizes are checked by Plan::layout first"
)]
mod write;

pub use crate::tensor::TensorSpec;
pub use decoder::{DEFAULT_MAX_TENSORS, GgufDecoder};
pub use grammar::{DEFAULT_ALIGNMENT, MAGIC, MAX_ITEM_BYTES};
pub use view::{Elements, Gguf, GgufMetadata, GgufTensors, GgufTokenEntries, Split};
pub use write::{GgufPlan, GgufWriter, WriteValue};

/// The key of the only value on which the layout depends.
const ALIGNMENT_KEY: &str = "general.alignment";

/// The array whose elements are the vocabulary.
const TOKENS_KEY: &str = "tokenizer.ggml.tokens";
