//! Descriptions of models: the code that reads what files say of the model in them. It sees formats
//! and the parts of a model; nothing that runs a model sees it.
//!
//! | part | reads |
//! |---|---|
//! | `gguf` | keys and tensor names of GGUF files |

#[cfg(feature = "gguf")]
pub mod gguf;
