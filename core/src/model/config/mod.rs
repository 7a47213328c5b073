//! What a model is, as data: sizes and settings, without names or files.

mod bert;
mod llama;
pub mod rope;
mod transformer;

pub use bert::{BertConfig, Pooling};
pub use llama::LlamaConfig;
pub use rope::{Llama3, Rope, RopePairs, Yarn, YarnSettings};
pub(super) use transformer::FAMILIES;
pub use transformer::{
    Activation, Attention, Config, Embedding, FeedForward, Heads, Mask, NormKind, Order,
    RelativeBuckets, Rotary, Window,
};
