//! Ways of tokens through all layers: many texts at once without a memory of them, or one text that
//! grows.

pub mod cached;
pub mod packed;
