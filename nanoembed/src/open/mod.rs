//! Opening models: the kind of a file or folder, and the files beside its weights.
//!
//! | file | role |
//! |---|---|
//! | `source` | where a model comes from: a path, bytes, the program |
//! | `folder` | models in folders as on Hugging Face |
//! | `causal` | a model that continues texts, and the files it borrows from |
//! | `loaded_model` | its content, detected once |
//! | `text_source` | models of texts in folders and files |

pub(crate) mod causal;
pub(crate) mod folder;
pub(crate) mod loaded_model;
pub mod source;
pub(crate) mod text_source;
