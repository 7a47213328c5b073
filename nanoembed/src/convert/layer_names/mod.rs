//! What layers are called where: numbers in UQFF 0.x, names of Hugging Face in UQFF 1.x and
//! safetensors, names of ggml in GGUF.
//!
//! | file | role |
//! |---|---|
//! | `names_file` | numbers and names as a user gives them |
//! | `llama` | the names, order and shapes of Llama and its like |
//! | `rows` | the order of rows that GGUF has for rotary attention |
//! | `translated` | a GGUF file under the names of Hugging Face |

pub mod llama;
pub mod names_file;
pub mod rows;
pub mod translated;

pub use llama::Llama;
pub use names_file::NamesFile;
