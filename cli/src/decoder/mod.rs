//! Models that continue texts: from `.amb` files and, as they are, from GGUF files; to `.amb` files from folders, too.

mod byte_pairs;
pub(crate) mod gguf;
pub(crate) mod hugging_face;
pub(crate) mod model;
mod model_proto;
pub(crate) mod tokenizer;
mod tokenizer_json;
