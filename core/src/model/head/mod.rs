//! What becomes of hidden states: one vector for a text, logits of classes, or the next token.

pub mod classifier;
pub mod dense;
pub mod embedding;
#[cfg(feature = "families")]
pub mod module;
pub mod sample;
pub mod ways;
