//! EMBD `.weights`: one transformer with its WordPiece vocabulary.
//!
//! Two layouts share the magic number and the first eight bytes:
//!
//! * **section** (variant A): the published specification, `docs/interfaces/weight-format.md` of
//!   `a-bekheet/vectorized-physics-citations`. Read and written here.
//!
//!   | offset | size | part |
//!   |---|---|---|
//!   | 0 | 64 | header: flags, place of every section, its own CRC-32 |
//!   | 64 | 8 + n | metadata: key-value strings |
//!   | | 12 + n + 20 | vocabulary: token entries and the ids of the special tokens (flag bit 0) |
//!   | | 32 × tensors + n | tensor index: descriptors, then their names |
//!   | multiple of 64 | n | tensor data, each tensor at a multiple of 64 (flag bit 1) |
//!   | size − 16 | 16 | footer: CRC-32 of the data and of the file (flag bit 2), magic number |
//!
//!   The sections may come in another order; only the data is always last.
//!
//! * **stream** (variant B): the output of the only published converter. f32 tensors with inline
//!   headers, then the vocabulary. Read here, never written.
//!
//! Where the specification is ambiguous: metadata `total_size` counts the entries alone; the place
//! of the special-token block is absolute (relative is understood); `file_checksum` covers
//! everything before the footer.
//!
//! Three extensions that other readers see as ordinary tensors: an INT8 or UINT8 matrix `NAME` can
//! have companions `NAME.scale` (FLOAT32, one per row) and `NAME.zero_point` (UINT8, one per row),
//! so that `x[r][c] = (q[r][c] − zero_point[r]) · scale[r]`; [`SORTED_IDS`] with [`TOKEN_OFFSETS`]
//! index the vocabulary for devices without memory to build an index; and [`MERGES`] or
//! [`SENTENCEPIECE`] holds a decoder's tokenizer except for its tokens.

mod checksum;
mod decoder;
mod grammar;
mod view;
#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "what is written comes from the caller; lengths are checked by Plan::layout first"
)]
mod write;

pub use crate::sink::Sink;
pub use crate::tensor::TensorSpec;
pub use checksum::{EmbdVerifier, VerifierOver};
pub use decoder::{DEFAULT_MAX_TENSORS, DecoderOver, EmbdDecoder, TensorRecord, count_tensors};
pub use grammar::{DATA_ALIGNMENT, Flags, MAGIC, MAX_ITEM_BYTES, name_hash};
pub use view::{
    Embd, EmbdMetadata, EmbdTensors, EmbdTokenEntries, EmbdTokens, LinearLayout, Special, Variant,
};
pub use write::{EmbdPlan, EmbdVocabulary, EmbdWriter};

/// Name of the optional tensor (UINT16 or UINT32, one per token) of token ids in byte order of
/// their strings.
pub const SORTED_IDS: &str = "vocab.sorted_ids";

/// Name of the optional tensor (UINT32, tokens + 1) of token entries' offsets, counted from the
/// first entry.
pub const TOKEN_OFFSETS: &str = "vocab.offsets";

/// Name of the tensor (UINT8) that makes the vocabulary one of byte-level BPE: a line of text for
/// each merge, the first one first, the spellings of its two parts with a space between.
pub const MERGES: &str = "vocab.merges";

/// Name of the tensor (UINT8) that is a serialized SentencePiece model, in place of the vocabulary.
pub const SENTENCEPIECE: &str = "vocab.sentencepiece";
