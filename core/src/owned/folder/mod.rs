//! Descriptions of embedding models by the texts of their Hugging Face folders.
//!
//! | file | what is read from it |
//! |---|---|
//! | `modules.json` and the `config.json` of each module | pooling, dense layers, normalising |
//! | `sentence_bert_config.json` and its like, `tokenizer_config.json` | how many tokens are used |
//! | `config.json` | the transformer, or the table of vectors |
//! | `router_config.json` | the route that texts take |
//! | `config_sentence_transformers.json` | prompts |
//! | `adapter_config.json` | a LoRA adapter: [`Adapter`] is for callers that merge it; a model with one is refused |
//! | `chat_template.jinja` | the prompt of a reranker that is a causal model |
//! | `tokenizer.json`, or BERT's `vocab.txt`, and what `tokenizer_config.json` says beside it | the tokenizer |
//! | `model.safetensors.index.json` | which files hold the weights |
//!
//! Where texts come from is the caller's: a folder, an archive, a page that fetched them.

mod adapter;
mod allowed;
mod description;
mod late_tokens;
mod modules;
mod pair_template;
mod prompts;
mod prompts_json;
mod route;
mod text_loader;
mod tokenizer;
mod vocabulary;
mod weights;
mod words;

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

pub use crate::describe::folder::{
    ADAPTER, Base, CONFIG, EncoderSettings, MODULES, Similarity, TableSettings,
};
pub use adapter::Adapter;
pub use allowed::{AbsentSettings, ignored_setting, read_allowing};
pub use description::{
    Described, FolderModel, LAYERS_BESIDE, Labels, MULTI_LAYER, SPARSE_LAYER, refuse_adapter,
};
pub use late_tokens::{LateExpansion, LateSideTokens, LateTokens};
pub use modules::{Modules, PoolingModule};
pub(super) use pair_template::Filled;
pub use pair_template::PairTemplate;
pub use prompts::{NoPrompt, Prefix, PromptTexts, Prompts};
pub use route::{ROUTER_CONFIG, Route, STRUCTURE, Task};
pub use tokenizer::TokenizerConfig;
pub use weights::{WEIGHTS, WEIGHTS_INDEX};

use crate::error::{Error, ErrorKind, Result};
use crate::limit::copied;
use crate::text::json::Fault;
use crate::text::json::{Object, Value};

/// The texts of a folder by their paths within it, such as `1_Pooling/config.json`; `None` for
/// files that are not there, an error for those that cannot be read.
pub type Texts<'f, 't> = &'f dyn Fn(&str) -> Result<Option<Cow<'t, str>>>;

/// The fault of a folder's text, or of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FolderFault {
    /// The file's path within the folder.
    pub file: String,
    /// The error, at a place of the file.
    pub error: Error,
    /// The setting at fault, if it is one.
    pub key: String,
    /// The values that would be accepted; may be empty.
    pub only: &'static str,
}

impl FolderFault {
    /// A fault of the file at `path`.
    #[must_use]
    pub fn new(path: &str, fault: Fault<'_>) -> Self {
        let Fault { error, key, only } = fault;
        // Without memory for words there is still the error.
        let spelled = |text| copied(text).unwrap_or_default();
        Self { file: spelled(path), error, key: spelled(key), only }
    }

    /// Returns true if the folder lacks a file that the model needs.
    #[must_use]
    pub const fn is_missing_file(&self) -> bool {
        matches!(self.error.kind(), ErrorKind::MissingMetadata) && self.key.is_empty()
    }
}

/// Of memory, and of no file.
impl From<Error> for FolderFault {
    fn from(error: Error) -> Self {
        Self { file: String::new(), error, key: String::new(), only: "" }
    }
}

impl fmt::Display for FolderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, error, key, only } = self;
        write!(f, "{file}: {}", Fault { error: *error, key, only })
    }
}

/// A result that says which file of the folder is at fault.
pub type FolderResult<T> = core::result::Result<T, FolderFault>;

/// The result of `read` on the object at `path`; `None` if there is none.
pub(super) fn object<R>(
    texts: Texts<'_, '_>,
    path: &str,
    read: impl FnOnce(&Object<'_>) -> FolderResult<R>,
) -> FolderResult<Option<R>> {
    let fault = |fault| FolderFault::new(path, fault);
    let Some(text) = texts(path).map_err(|error| fault(Fault::from_error(error)))? else {
        return Ok(None);
    };
    let value = Value::parse(&text, 0).map_err(|error| fault(Fault::from_error(error)))?;
    let object = Object::new(value).map_err(fault)?;
    read(&object).map(Some)
}
