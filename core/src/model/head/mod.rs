//! What becomes of hidden states: one vector for a text, logits of classes, or the next token.

#[cfg(feature = "families")]
pub mod classifier;
#[cfg(feature = "families")]
pub mod dense;
#[cfg(feature = "families")]
pub mod embedding;
pub mod pool;
pub mod sample;
#[cfg(feature = "families")]
pub mod ways;
