//! The tokenizer of a Hugging Face folder, read where its texts are spelled: nothing here allocates.
//!
//! | part | what it is |
//! |---|---|
//! | `tokenizer_root` | `tokenizer.json` as a whole |
//! | `truncation` | what it says of long texts |
//! | `word_settings` | `tokenizer.json`, if it is BERT's tokenizer |
//! | `unigram_settings` | the same of a Unigram tokenizer, as XLM-RoBERTa has it |
//! | `pair_settings` | the same of byte-level BPE, as RoBERTa, ModernBERT and Qwen have it |
//! | `fallback_settings` | the same of BPE with byte fallback, as Gemma has it |
//! | `bpe_model` | what both say of their merges |
//! | `step`, `metaspace` | a step of it |
//! | `ends` | what its post-processor puts around a text |
//! | `pair_template` | what it puts around and between two texts |
//! | `token_id` | a token beside its id, as post-processors have it |

#[cfg(feature = "folder-models")]
pub(crate) mod bpe_model;
#[cfg(feature = "folder-models")]
pub(crate) mod ends;
#[cfg(feature = "folder-models")]
pub(crate) mod fallback_settings;
#[cfg(any(feature = "folder-models", feature = "pipeline"))]
pub(crate) mod metaspace;
#[cfg(feature = "folder-models")]
pub(crate) mod pair_settings;
#[cfg(feature = "folder-models")]
pub(crate) mod pair_template;
#[cfg(any(feature = "folder-models", feature = "pipeline"))]
pub(crate) mod step;
#[cfg(any(feature = "folder-models", feature = "pipeline"))]
mod token_id;
#[cfg(any(feature = "embd", feature = "pipeline"))]
pub(crate) mod tokenizer_root;
#[cfg(any(feature = "embd", feature = "pipeline"))]
pub(crate) mod truncation;
#[cfg(feature = "folder-models")]
pub(crate) mod unigram_settings;
#[cfg(feature = "embd")]
pub(crate) mod word_settings;

#[cfg(feature = "pipeline")]
pub(crate) use token_id::token_id;

#[cfg(test)]
#[cfg(all(feature = "folder-models", feature = "pipeline"))]
mod tests;
