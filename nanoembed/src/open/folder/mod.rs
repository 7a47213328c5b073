//! Models in folders as on Hugging Face, used without conversion.
//!
//! | file | role |
//! |---|---|
//! | `files` | the files of a folder: settings, modules, weights |
//! | `tokenizer` | its tokenizer |
//! | `tensor_fault` | which tensor keeps a model from being opened |

pub(crate) mod files;
pub(crate) mod tensor_fault;
pub(crate) mod tokenizer;
