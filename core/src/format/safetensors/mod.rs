//! safetensors: named tensors after a JSON header.
//!
//! | offset | size | part |
//! |---|---|---|
//! | 0 | 8 | length of the header, `u64` |
//! | 8 | n | header: `{"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}`, padded with spaces |
//! | 8 + n | | data; `data_offsets` count from here, and fill it without gap or overlap |
//!
//! The member `__metadata__` maps strings to strings. The reference writer pads the header to a
//! multiple of 8 and sorts tensors by falling size of their elements, then by name.
//!
//! Names and metadata are given as the file spells them, with JSON's escapes if there are any;
//! [`json::unescape`](crate::text::json::unescape) resolves them. Names are told apart by their
//! meaning.
//!
//! Specification: <https://github.com/huggingface/safetensors>.

mod decoder;
pub(crate) mod entry;
pub(crate) mod fields;
pub(crate) mod view;
#[allow(
    clippy::arithmetic_side_effects,
    reason = "what is written comes from the caller; lengths are checked by Plan::layout first"
)]
pub(crate) mod write;

pub use crate::tensor::TensorSpec;
pub use decoder::{MAX_HEADER_BYTES, MAX_ITEM_BYTES, SafetensorsDecoder};
pub use entry::Entry;
pub use fields::{dtype_name, dtype_of};
pub use view::{Safetensors, SafetensorsMetadata, SafetensorsTensors};
pub use write::{SafetensorsPlan, SafetensorsWriter, order};

/// The bytes of the header's length.
pub(crate) const LENGTH_BYTES: u64 = 8;

/// The header's member that is not a tensor.
const METADATA: &str = "__metadata__";
