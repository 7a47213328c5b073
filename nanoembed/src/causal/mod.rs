//! Models that continue texts: from `.amb`, `.weights` and GGUF files as they are, and from folders
//! with safetensors or UQFF.
//!
//! | file | role |
//! |---|---|
//! | `model` | a decoder as its file describes it, and the running decoder |
//! | `bundle` | a decoder in several files |
//! | `weights` | the tensors of one file or several, in memory or read piece by piece |
//! | `hugging_face`, `gguf` | sizes and tensors in the words of these |
//! | `config` | a `config.json`, and the same as the configuration of an `.amb` file |
//! | `divisors` | divisors of a model's rotary frequencies |
//! | `folder_tokenizer` | the tokenizer of a folder |
//! | `ends` | the tokens around texts, by a folder's files |
//! | `generation_settings` | the sampling that files ask for |
//! | `chat_template` | the template that turns messages into a prompt |
//! | `tokenizer`, `spec`, `model_proto` | texts to ids and back |

pub mod bundle;
pub(crate) mod chat_template;
pub(crate) mod config;
pub(crate) mod divisors;
mod ends;
mod folder_tokenizer;
pub(crate) mod generation_settings;
pub mod gguf;
pub mod hugging_face;
pub mod model;
mod model_proto;
mod spec;
pub mod tokenizer;
pub(crate) mod weights;
