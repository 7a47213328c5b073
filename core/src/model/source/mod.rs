//! Files of all formats as sources of models: what each says of sizes, tensors and tokenizers.

pub mod amb;
pub mod byte_pairs;
pub mod embd;
pub mod file;
pub mod memory;
pub mod pieces;
mod spellings;
pub mod stored;
pub mod tokenizer;
pub mod word_pieces;

/// The key by which a `.weights` or an `.amb` file with a decoder says how it embeds texts.
pub const POOLING: &str = "pooling";
/// The value of [`POOLING`] for models whose last token's state is the embedding; it is the mean of
/// all without the key.
pub const POOLS_LAST_TOKEN: &str = "last";
