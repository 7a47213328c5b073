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
pub mod memory;
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

/// The key by which a `.weights` or an `.amb` file with a decoder says how it embeds texts.
pub const POOLING: &str = "pooling";
/// The value of [`POOLING`] for models whose last token's state is the embedding; it is the mean of
/// all without the key.
pub const POOLS_LAST_TOKEN: &str = "last";
