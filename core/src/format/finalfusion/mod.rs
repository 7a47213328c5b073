//! finalfusion `.fifu`: a vocabulary of words with their vectors, plain or product-quantised.
//!
//! | part | content |
//! |---|---|
//! | header | "FiFu", `u32` version 0, `u32` number of chunks, their `u32` identifiers |
//! | metadata (5), optional | TOML |
//! | vocabulary (1, 3, 7, 8, 9) | words, and the n-gram parameters for words outside the vocabulary |
//! | storage (2, 4) | one row a word, then one a bucket or n-gram: an f32 matrix, or a product quantiser and its codes |
//! | norms (6), optional | the lengths that word vectors had before they were normalised |
//!
//! Every chunk is `u32` identifier, `u64` length of what follows, payload; all integers are
//! little-endian. Bulk data is preceded by `4 − position % 4` padding bytes: one to four, never zero.
//! The layout is that of the reference implementation (crate `finalfusion`, `src/chunks/`); the
//! published specification differs from it in eight places, which `docs/finalfusion-errata.md`
//! lists.
//!
//! Deviations met in real files are accepted in [`Mode::Lenient`](crate::event::Mode) and kept for
//! [`FinalfusionDecoder::deviation`]: lists of chunks that omit the norms, lengths of explicit vocabularies
//! that omit the n-grams' indices, and bytes after the storage that are not a chunk. So are padding
//! and the order of fields as the specification prints them, if nothing else fits: the chunk's
//! length tells the padding.

mod decoder;
mod grammar;
mod layout;
mod verify;
mod view;
#[allow(
    clippy::arithmetic_side_effects,
    reason = "what is written comes from the caller; sizes are bounded by Plan::check first"
)]
mod write;

pub use decoder::{BrokenUtf8, FinalfusionDecoder};
pub(crate) use grammar::{Entry, entry};
pub use grammar::{MAGIC, MAX_ITEM_BYTES, MAX_WORD_BYTES};
pub use layout::{Array, Chunk, FinalfusionLayout, FinalfusionPlace, Quantized, Storage};
pub use verify::FinalfusionVerifier;
pub use view::{Finalfusion, NgramEntries, WordEntries};
pub use write::{FinalfusionPlan, FinalfusionWriter, StorageSpec};

/// Name of the matrix (F32 `[rows, cols]`) of an unquantised storage.
pub const EMBEDDINGS: &str = "embeddings";
/// Name of a quantiser's rotation (F32 `[cols, cols]`): a row is its centroids times the transposed
/// rotation.
pub const PROJECTION: &str = "projection";
/// Name of a quantiser's centroids (F32 `[codes per row, centroids, cols / codes per row]`).
pub const SUBQUANTIZERS: &str = "subquantizers";
/// Name of the factors (F32 `[rows]`) that reconstructed rows are multiplied with.
pub const ROW_NORMS: &str = "row_norms";
/// Name of the codes (U8 `[rows, codes per row]`).
pub const CODES: &str = "codes";
/// Name of the lengths (F32 `[words]`) that the words' vectors had before they were normalised.
pub const NORMS: &str = "norms";
