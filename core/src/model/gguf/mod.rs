//! Models in GGUF files: their sizes in the words of GGUF's metadata, and what their tensors are called there.

mod decoder;
mod encoder;

pub use decoder::{gguf_llama_config, gguf_pools_last_token};
pub use encoder::{gguf_bert_config, gguf_bert_tensor};

use crate::event::Value;
use crate::format::gguf::Gguf;

/// The longest key that is put together.
const MAX_KEY_BYTES: usize = 128;

/// What the file says of its architecture under `key`, which stands behind the architecture's name and a point.
fn value_of<'a>(file: &Gguf<'a>, architecture: &str, key: &str) -> Option<Value<'a>> {
    // What does not fit is not found.
    let mut name = heapless::String::<MAX_KEY_BYTES>::new();
    for part in [architecture, ".", key] {
        name.push_str(part).ok()?;
    }
    file.value(&name)
}

/// The name of the file's architecture, `llama` or `bert` for example.
pub fn gguf_architecture<'a>(file: &Gguf<'a>) -> Option<&'a str> {
    match file.value("general.architecture")? {
        Value::Text(name) => Some(name),
        _ => None,
    }
}
