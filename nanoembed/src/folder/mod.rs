//! Texts of a model's folder as on Hugging Face: settings, modules, prompts.
//!
//! | file | role |
//! |---|---|
//! | `adapter` | its adapter, and the model near it that this is for |
//! | `texts` | the texts of a folder, and their faults in words |
//! | `json_text`, `json_file` | one of its JSON files, as core reads it and as a tree of values |
//! | `tokenizer_json` | its tokenizer |
//! | `prompts` | texts that the model wants before others |
//! | `settings_rule` | settings that would change what a model computes |

pub(crate) mod adapter;
pub(crate) mod json_file;
pub(crate) mod json_text;
pub(crate) mod prompts;
pub(crate) mod settings_rule;
pub(crate) mod texts;
pub(crate) mod tokenizer_json;
