//! Heads, which turn hidden states into an embedding, class logits or the next token.

pub mod classifier;
pub mod dense;
pub mod embedding;
pub mod module;
pub mod pooling;
pub mod sample;
