//! UQFF, the quantised weights of mistral.rs, in both generations. Both use
//! [safetensors](super::safetensors) files.
//!
//! * **0.x, [`Generation::Blobs`]**: each layer is a `U8` tensor whose name is a decimal index and
//!   whose bytes are a blob with its own header:
//!
//!   | type | after `u32 version`, `u8 type` (`T` = `u32 bytes, u32 dtype, u32 ndim, u32 dims[], data`; `B` = `T` if has_bias) |
//!   |---|---|
//!   | 0 GGUF | `u32 bytes, u8 has_bias, u32 ggml_dtype, u32 ndim, u32 dims[], data`, B |
//!   | 1 unquantised | `u8 has_bias`, T, B |
//!   | 2 HQQ | `u8 has_bias`, T codes, T scales, T zeros, `u32 ndim, u32 dims[], u8 bits, u32 group_size, u8 axis, u32 optimization_steps, u8 round_zeros, u8 channel_wise`, B |
//!   | 3 FP8 | `u8 has_bias`, T, `f32 dequant_w_scale, f32 dequant_x_scale, f32 quant_scale, u32 dtype`, B |
//!   | 4 AFQ | `u8 has_bias`, T codes, T scales, T biases, `u8 bits, u8 group_size`, B |
//!   | 5 F8Q8 | `u8 has_bias, u32 num_blocks, u32 ndim, u32 dims[], data`, B |
//!   | 6 MXFP4 | `u8 has_bias`, T codes, T scales, B |
//!
//! * **1.x, [`Generation::Tensors`]**: each layer `K` is several tensors, `K.weight`,
//!   `K.weight.format` (the type above), `K.weight.…` for further parameters of the type, and
//!   `K.bias`; the version is in `uqff.version.major`, `.minor`, `.patch`. A file may be the first
//!   of several shards; a layer may be split over several.
//!
//! The [`UqffDecoder`] checks the container, versions, and each blob or number by itself; the
//! consistency of a layer's parts is checked when [`Uqff`] assembles them.
//!
//! Reference: mistral.rs, `mistralrs-quant/src` at `e1dd7c8f` (0.x) and `9e922623` (1.x).

mod blob;
mod codes;
mod decoder;
mod detect;
mod layer;
mod place;
mod view;
#[allow(
    clippy::arithmetic_side_effects,
    reason = "what is written comes from layers whose sizes are checked"
)]
mod write;

pub use codes::{LayerFormat, ggml_dtype, ggml_number};
pub use decoder::{Generation, UqffDecoder};
pub use detect::is_uqff;
pub use layer::{Extra, UqffLayer};
pub use place::{UqffPlace, place_in_blob};
pub use view::{Layers, Uqff};
pub use write::{blob_bytes, write_blob, write_blobs, write_tensors};

/// As for [safetensors](super::safetensors::MAX_ITEM_BYTES).
pub const MAX_ITEM_BYTES: usize = super::safetensors::MAX_ITEM_BYTES;

/// The newest minor versions of 0.x and of 1.x that are known.
const MAX_MINOR: u16 = 2;
