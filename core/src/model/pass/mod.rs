//! Passes of tokens through all layers: many texts at once without a cache, or one growing text.

pub mod cached;
pub mod packed;
