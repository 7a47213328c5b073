//! Heads, which turn hidden states into an embedding, a sparse vector, class logits or the next
//! token.

pub mod classifier;
pub mod dense;
pub mod embedding;
pub mod module;
pub mod pooling;
pub mod sample;
pub mod sparse;
pub mod splade;
pub mod vocabulary;
