//! AMB `.amb`: one model with its configuration, tokenizer and quantised weights ("AMB profile 1").
//!
//! | offset | size | part |
//! |---|---|---|
//! | 0 | 5 | `AMBEE` |
//! | 5 | 1 | version, 1 |
//! | 6 | 2 | flags, 0 |
//! | 8 | 4 | bytes of the metadata |
//! | 12 | 4 | bytes of the configuration |
//! | 16 | 4 | bytes of the tokenizer |
//! | 20 | 8 | bytes of the weights |
//! | 28 | | metadata (JSON), configuration (JSON), tokenizer, weights, without gaps |
//!
//! The weights are a sequence of records: `u16` name length, name, `u8` number of
//! dimensions, `u32` each, `u8` type, `u64` data size, data, zeros up to a multiple of 8 *of the
//! file*. Data is in general unaligned.
//!
//! The specification is `docs/model_format.md` of `Muneeb50702/embee`; `docs/amb.md` settles its
//! open points. Data of the quantised types begins with four bytes (type, `u16` block size, type of
//! the scales) that the data size counts; [`TensorHeader::offset`](crate::tensor::TensorHeader) is
//! that of the bytes after them.
//!
//! Two extensions that other readers may ignore: the tokenizer's payload for WordPiece and BPE, and
//! a last tensor [`CHECKSUM`] (FP32, two elements): the upper and the lower half of the CRC-32 of
//! all bytes before its data.

mod checksum;
mod decoder;
mod document;
mod grammar;
mod view;
#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "what is written comes from the caller; lengths are checked by Plan::layout first"
)]
mod write;

pub use crate::sink::Sink;
pub use checksum::AmbVerifier;
pub use decoder::{AmbDecoder, AmbLayout, AmbPlace, DEFAULT_MAX_TENSORS};
pub use grammar::{AmbTokenizerKind, MAGIC, MAX_ITEM_BYTES};
pub use view::{Amb, AmbMerges, AmbTensors, AmbTokenEntries, AmbTokenizer, AmbTokens};
pub use write::{AmbPlan, AmbTensorSpec, AmbTokenizerSpec, AmbWriter, Payload};

/// Name of the optional last tensor that holds the file's checksum.
pub const CHECKSUM: &str = "checksum.crc32";
