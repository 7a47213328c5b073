//! What becomes of hidden states: one vector for a text, logits of classes, or the next token.

pub mod classifier;
pub mod dense;
pub mod embedding;
pub mod pooling;
pub mod sample;
