//! Model families: the names of their tensors and the meaning of their settings. BERT has its own
//! folder, so that builds for it alone are small; the others are tables of names.

pub mod bert;
pub mod decoders;
pub mod encoders;
pub mod gguf_names;
pub mod llama;
mod planning;
pub mod settings;
pub mod tensors;
