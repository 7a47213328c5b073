//! Opening models: the kind of a file or folder, and the files beside its weights.
//!
//! | file | role |
//! |---|---|
//! | `reading` | how files are read: unknown settings, an adapter, the role of texts |
//! | `source` | where a model comes from: a path, bytes, the program |
//! | `content_digest` | a digest of a model's files |
//! | `folder` | models in folders as on Hugging Face |
//! | `causal` | a model that continues texts, and its source |
//! | `loaded_model` | the content of a source, detected once |
//! | `described_model` | encoders in folders and files that describe them |

pub(crate) mod causal;
mod content_digest;
pub(crate) mod described_model;
pub(crate) mod folder;
pub(crate) mod loaded_model;
pub mod reading;
pub mod source;
