//! Opening models: what a file or folder is, and what lies beside the weights.
//!
//! | file | role |
//! |---|---|
//! | `source` | where a model comes from: a path, bytes, the program |
//! | `folder` | models in folders as on Hugging Face |
//! | `opened` | what is in it, looked at once |
//! | `text_source` | models of texts in folders and files |
//! | `limits` | what a file may make the library take |
//! | `prompts` | what a model wants before texts |
//! | `foreign` | files of formats that are not read here |
//! | `settings_rule` | settings that would change what a model computes |

pub(crate) mod folder;
pub mod foreign;
pub(crate) mod limits;
pub(crate) mod opened;
pub(crate) mod prompts;
pub(crate) mod settings_rule;
pub mod source;
pub(crate) mod text_source;
