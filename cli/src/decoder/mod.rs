//! Models that continue texts: from `.amb` files and, as they are, from GGUF files.

pub(crate) mod gguf;
pub(crate) mod model;
pub(crate) mod tokenizer;
