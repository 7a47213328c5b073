//! Opening models: what a file or folder is, and what lies beside the weights.

pub mod foreign;
pub mod model_file;
pub mod prompts;
pub(crate) mod settings_rule;
