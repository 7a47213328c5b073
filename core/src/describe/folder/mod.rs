//! The texts of a Hugging Face folder: the model, the modules after its transformer, and the
//! processing of texts.
//!
//! | file | contents | part |
//! |---|---|---|
//! | `modules.json` and the `config.json` of each module | pooling, dense layers, normalisation | `modules`, `module`, `pooling`, `dense`, `splade` |
//! | `sentence_bert_config.json` and similar files, `tokenizer_config.json` | the limit on tokens | `encoder_settings` |
//! | `config.json` | the transformer, or the table of vectors; the names of classes | `description`, `table`, `masked_models`, `labels` |
//! | `router_config.json` | the lists of modules among which a Router chooses | `router` |
//! | `wordembedding_config.json`, `whitespacetokenizer_config.json` | the words of a table, and how they are looked up | `words` |
//! | `config_sentence_transformers.json` | prompts, the similarity measure, and the tokens of texts for late interaction | `prompts`, `similarity`, `late_interaction` |
//! | `chat_template.jinja` | the prompt of a reranker that is a causal model | `chat_template` |
//! | all of these but prompts, written | | `write` |
//! | `artifact.metadata` | ColBERT as its authors save it | `artifact` |
//! | `adapter_config.json` | a LoRA adapter, for hosts that merge it; elsewhere it is rejected | `adapter` |
//!
//! The source of the texts implements [`Texts`]: a folder, a `.weights` or an `.amb` file, or a web
//! page that fetches them.

mod adapter;
mod artifact;
mod chat_template;
mod dense;
mod description;
mod encoder_settings;
mod labels;
mod late_interaction;
mod logit_score;
mod masked_models;
mod module;
mod modules;
mod pooling;
mod prompts;
mod router;
mod similarity;
mod splade;
mod table;
mod texts;
mod words;
mod write;

pub use adapter::{ADAPTER, AdapterSettings};
pub use chat_template::{
    CHAT_TEMPLATE, ChatTemplate, PutPart, TemplateForm, TemplatePart, TemplateText,
};
pub use description::{Description, Kind, MASK_TOKENS, refuse_adapter};
pub use encoder_settings::EncoderSettings;
pub use labels::labels;
pub use late_interaction::{
    Expansion, LateInteraction, LateModules, LateOrigin, PUNCTUATION, SideTokens, Skipped,
    TokenMask,
};
pub use modules::HeadModules;
pub use modules::{Base, ModuleList, Origin};
pub use pooling::PoolingSettings;
pub use prompts::{DEFAULT_PROMPT, FolderPrompt, FolderPrompts, PROMPTS};
pub use prompts::{DOCUMENT, QUERY};
pub use router::{ROUTER_CONFIG, RoutedModule, Router, STRUCTURE, Task};
pub use similarity::{SIMILARITY, Similarity};
pub use table::{TableSettings, described_table};
pub use texts::{ReadText, TextFault, TextPath, Texts};
pub use words::WordList;
pub use write::PutText;

/// The list of a model's modules.
pub const MODULES: &str = "modules.json";

/// The prompts of a model and its similarity measure, as sentence-transformers has them.
pub const CONFIG_SENTENCE_TRANSFORMERS: &str = "config_sentence_transformers.json";

/// The settings of an encoder's module, in most models.
pub const SENTENCE_BERT_CONFIG: &str = "sentence_bert_config.json";

/// The settings of ColBERT as its authors save it.
pub const ARTIFACT: &str = "artifact.metadata";

/// The settings of a model, or of one of its modules in its folder.
pub const CONFIG: &str = "config.json";

#[cfg(test)]
mod tests;
