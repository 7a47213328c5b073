//! Names of layers: numbers in UQFF 0.x, names of Hugging Face in UQFF 1.x and safetensors, names
//! of ggml in GGUF.
//!
//! | file | role |
//! |---|---|
//! | `names_file` | numbers and names as a user gives them |
//! | `llama` | the names, order and shapes of Llama and its like |
//! | `embedder` | the same of the embedding models that mistral.rs has |
//! | `numbering` | the names of numbered layers, wherever they come from |
//! | `rows` | the order of rows that GGUF has for rotary attention |
//! | `tensorflow` | names of norms in checkpoints that came from TensorFlow |
//! | `token_table` | the prefix of all names in a checkpoint |
//! | `translation` | a GGUF file under the names of Hugging Face |

pub mod embedder;
pub mod llama;
pub mod names_file;
mod numbering;
pub mod rows;
pub mod tensorflow;
mod token_table;
pub mod translation;

pub use embedder::Embedder;
pub use llama::Llama;
pub use names_file::NamesFile;
pub use numbering::LayerNumbering;
pub(crate) use token_table::token_table;
