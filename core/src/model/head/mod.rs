//! What becomes of hidden states: one vector for a text, or the next token.

pub mod pool;
pub mod sample;
