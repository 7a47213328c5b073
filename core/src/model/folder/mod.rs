//! What the texts of a Hugging Face folder say, read where they are spelled: nothing here allocates.
//! Where the texts come from, and what becomes of what they say, is up to others.
//!
//! | part | what it is |
//! |---|---|
//! | `module` | a module of `modules.json` |
//! | `pooling`, `dense` | the `config.json` of such modules |
//! | `encoder_settings` | `sentence_bert_config.json` and its like |
//! | `prompts` | `config_sentence_transformers.json` |
//! | `masked` | models whose embeddings would be made by a head that is not run |
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
#[cfg(feature = "families")]
pub(crate) mod dense;
#[cfg(feature = "families")]
pub(crate) mod encoder_settings;
#[cfg(feature = "folder-models")]
pub(crate) mod ends;
#[cfg(feature = "folder-models")]
pub(crate) mod fallback_settings;
#[cfg(feature = "families")]
pub(crate) mod masked;
#[cfg(any(feature = "folder-models", feature = "pipeline"))]
pub(crate) mod metaspace;
pub(crate) mod module;
#[cfg(feature = "folder-models")]
pub(crate) mod pair_settings;
#[cfg(feature = "folder-models")]
pub(crate) mod pair_template;
#[cfg(feature = "families")]
pub(crate) mod pooling;
#[cfg(feature = "families")]
pub(crate) mod prompts;
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
