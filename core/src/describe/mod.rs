//! Descriptions of models: the only code that interprets what files state about their model, as
//! plain data. It uses formats and the configuration of models; it depends on nothing that runs a
//! model, and allocates nothing.
//!
//! | part | reads |
//! |---|---|
//! | `bert` | the metadata of `.weights` and `.amb` files with a BERT encoder |
//! | [`folder`] | the texts of a Hugging Face folder, wherever they are stored |
//! | `gguf` | keys and tensor names of GGUF files |
//! | [`tokenizer`] | `tokenizer.json` |

mod bert;
pub mod folder;
pub mod gguf;
pub mod tokenizer;

pub use bert::BertConfig;
