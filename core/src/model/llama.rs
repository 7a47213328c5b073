//! Causal models: re-exports of their parts.

pub use super::block::layer::Layer as LlamaLayer;
pub use super::config::{LISTED_LAYERS, LlamaConfig, Rope, RopePairs, rope};
pub use super::family::llama::{Biases, is_decoder_tensor, is_decoder_tensor_of};
pub use super::head::sample::{self, Sampler, Sampling};
pub use super::pass::cached::{
    Activations, Cache, Llama, LlamaMemory, LlamaNeeds, LlamaPlan, Output,
};
