//! Models and tokenizers in files of all formats, in caller-provided memory.
//!
//! From the bottom up; each part uses only those above it in this list:
//!
//! 1. `amb`, `embd`, `byte_pairs`, `pieces`, `word_pieces` read the settings and the tokenizers of each
//!    format; [`stored`] reads `.weights` files with random access.
//! 2. A [`ModelSource`] is a file in memory, of any format, and its [`tokenizer`].
//! 3. `folder_file` has the texts of a model folder that a file keeps ([`FolderFile`]),
//!    [`folder_tokenizer`] the tokenizer that they describe.
//! 4. `table` and `transformer` open the static models ([`TableSource`]) and the encoders of all
//!    families ([`TransformerSource`]) of such files.

pub(crate) mod amb;
pub mod byte_pairs;
pub(crate) mod embd;
pub(crate) mod file;
mod folder_file;
pub mod folder_tokenizer;
pub(crate) mod memory;
pub mod pieces;
mod spellings;
pub mod stored;
mod table;
pub mod tokenizer;
mod transformer;
pub(crate) mod word_pieces;

pub use amb::{amb_config_value, amb_llama_config, amb_text_ends};
pub use embd::{embd_is_decoder, embd_key, embd_llama_config, embd_names_decoder, embd_text_ends};
pub use file::ModelSource;
pub use folder_file::{AmbFolder, FolderFile};
pub use table::{StaticModel, TableSource, TableTokenizer};
pub use transformer::TransformerSource;
pub use word_pieces::{Respelled, WordPieceIndex, WordPieceSource, WordPieceTables};

/// The key by which a `.weights` or an `.amb` file with a decoder says how it embeds texts.
pub const POOLING: &str = "pooling";
/// The value of [`POOLING`] for models whose last token's state is the embedding; it is the mean of
/// all without the key.
pub const POOLS_LAST_TOKEN: &str = "last";
