//! Heads, which turn hidden states into an embedding, a vector for each token, a sparse vector,
//! class logits or the next token.

pub mod classifier;
pub mod dense;
pub mod embedding;
pub mod module;
pub mod multi;
pub mod pooling;
pub mod sample;
pub mod sparse;
pub mod splade;
pub mod vocabulary;
