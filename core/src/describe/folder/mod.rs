//! The texts of a Hugging Face folder: the model, the modules after its transformer, and the
//! processing of texts.
//!
//! | file | contents | part |
//! |---|---|---|
//! | `modules.json` and the `config.json` of each module | pooling, dense layers, normalisation | `modules`, `module`, `pooling`, `dense` |
//! | `sentence_bert_config.json` and similar files, `tokenizer_config.json` | the limit on tokens | `encoder_settings` |
//! | `config.json` | the transformer, or the table of vectors; the names of classes | `description`, `table`, `masked_models`, `labels` |
//! | `config_sentence_transformers.json` | prompts, and the similarity measure | `prompts`, `similarity` |
//! | all of these but prompts, written | | `write` |
//! | `adapter_config.json` | nothing: a transformer with an adapter is rejected | `description` |
//!
//! The source of the texts implements [`Texts`]: a folder, a `.weights` or an `.amb` file, or a web
//! page that fetches them.

#[cfg(feature = "families")]
mod dense;
#[cfg(feature = "families")]
mod description;
#[cfg(feature = "families")]
mod encoder_settings;
#[cfg(feature = "pipeline")]
mod labels;
#[cfg(feature = "families")]
mod masked_models;
#[cfg(feature = "static-models")]
mod module;
#[cfg(feature = "static-models")]
mod modules;
#[cfg(feature = "families")]
mod pooling;
#[cfg(feature = "static-models")]
mod prompts;
#[cfg(feature = "families")]
mod similarity;
#[cfg(feature = "static-models")]
mod table;
#[cfg(feature = "static-models")]
mod texts;
#[cfg(feature = "pipeline")]
mod write;

#[cfg(feature = "families")]
pub use description::{Description, Kind, refuse_adapter};
#[cfg(feature = "families")]
pub use encoder_settings::EncoderSettings;
#[cfg(feature = "pipeline")]
pub use labels::labels;
#[cfg(feature = "families")]
pub use modules::HeadModules;
#[cfg(feature = "static-models")]
pub use modules::{Base, Modules, Origin};
#[cfg(feature = "families")]
pub use pooling::PoolingSettings;
#[cfg(feature = "static-models")]
pub use prompts::{CONFIG_SENTENCE_TRANSFORMERS, DOCUMENT, QUERY};
#[cfg(feature = "families")]
pub use prompts::{DEFAULT_PROMPT, FolderPrompt, FolderPrompts, PROMPTS};
#[cfg(feature = "families")]
pub use similarity::{SIMILARITY, Similarity};
#[cfg(feature = "static-models")]
pub use table::{TableSettings, described_table};
#[cfg(feature = "static-models")]
pub use texts::{ReadText, TextFault, TextPath, Texts};
#[cfg(feature = "pipeline")]
pub use write::PutText;

/// The list of a model's modules.
pub const MODULES: &str = "modules.json";

/// The settings of a model, or of one of its modules in its folder.
pub const CONFIG: &str = "config.json";

#[cfg(test)]
#[cfg(feature = "families")]
mod tests;
