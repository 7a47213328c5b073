//! Model families: the names of their tensors and the meaning of their settings. BERT has its own
//! folder, so that builds for it alone are small; the others are tables of names.

pub mod bert;
#[cfg(feature = "families")]
pub mod decoders;
#[cfg(feature = "families")]
pub mod encoders;
pub mod gguf_names;
pub mod llama;
mod planning;
#[cfg(feature = "families")]
pub mod settings;
pub mod tensors;
