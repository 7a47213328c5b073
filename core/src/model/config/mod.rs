//! The configuration of a model as data: sizes and settings, without names or files.

mod families;
mod layer_set;
mod llama;
pub mod rope;
mod transformer;
mod window;

pub(super) use families::FAMILIES;
pub use layer_set::LayerSet;
pub use llama::{LISTED_LAYERS, LlamaConfig};
pub use rope::{Llama3, Rope, RopePairs, Yarn, YarnSettings};
pub use transformer::{
    Activation, Attention, Config, Disentangled, Embedding, FeedForward, Heads, Mask, Mixture,
    NormKind, Order, Placeholders, QueryKeyNorm, Relative, RelativeBuckets, Rotary,
};
pub use window::{Window, WindowLayers};
