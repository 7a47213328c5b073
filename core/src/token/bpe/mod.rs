//! Byte-level byte-pair encoding, as GPT-2, Llama 3 and SmolLM2 have it, and back.
//!
//! 1. special tokens that the text spells are taken out ([`Bpe::encode`]);
//! 2. [`split`] cuts the rest into words by the pattern of the model;
//! 3. each word's bytes become tokens, and neighbours are merged, the best pair first ([`merge`]),
//!    unless the model [takes words of its vocabulary whole](Bpe::encode_with);
//! 4. [`TokenDecoder`] turns ids into text again, holding back bytes of a character that is not
//!    complete.
//!
//! Tokens are spelled in GPT-2's alphabet ([`alphabet`]), one character for each byte.

pub mod alphabet;
mod cased;
mod decode;
mod encode;
mod heap;
mod letter_cases;
mod letters;
pub mod merge;
mod pre;
pub(crate) mod runs;
pub mod split;

pub use super::ids::TokenCount;
pub use decode::TokenDecoder;
pub use encode::{Bpe, MergeScratch};
pub use merge::{Merge, MergeTable};
pub use pre::PreTokenizer;
pub use split::Pattern;
