//! Files of all formats as sources of models: what each says of sizes, tensors and tokenizers.

#[cfg(feature = "amb")]
pub mod amb;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub mod byte_pairs;
#[cfg(feature = "embd")]
pub mod embd;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub mod file;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub mod pieces;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod spellings;
#[cfg(feature = "embd")]
pub mod stored;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub mod tokenizer;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub mod word_pieces;
