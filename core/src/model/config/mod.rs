//! What a model is, as data: sizes and settings, without names or files.

mod bert;
mod llama;
pub mod rope;

pub use bert::{BertConfig, Pooling};
pub use llama::LlamaConfig;
pub use rope::{Rope, RopePairs};
