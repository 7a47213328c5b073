//! Models in folders as on Hugging Face, used as they lie there.
//!
//! | file | role |
//! |---|---|
//! | `texts` | the texts of a folder, and what is wrong with them in words |
//! | `json_text` | one of its JSON files |
//! | `files` | what a folder holds: settings, modules, weights |
//! | `tokenizer` | its tokenizer |
//! | `asked` | which tensor keeps a model from being opened |

pub(crate) mod asked;
pub(crate) mod files;
pub(crate) mod json_text;
pub(crate) mod texts;
pub(crate) mod tokenizer;
