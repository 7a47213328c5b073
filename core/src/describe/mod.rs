//! Descriptions of models: the only code that reads what files state about the model in them, as
//! plain data. It sees formats and the parts of a model; nothing that runs a model sees it, and
//! nothing here allocates.
//!
//! | part | reads |
//! |---|---|
//! | `bert` | the metadata of `.weights` and `.amb` files with a BERT encoder |
//! | [`folder`] | the texts of a Hugging Face folder, wherever they are kept |
//! | `gguf` | keys and tensor names of GGUF files |
//! | [`tokenizer`] | `tokenizer.json`: how texts become ids, and ids texts |

mod bert;
pub mod folder;
#[cfg(feature = "gguf")]
pub mod gguf;
#[cfg(any(feature = "embd", feature = "pipeline"))]
pub mod tokenizer;

pub use bert::BertConfig;
