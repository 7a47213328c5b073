//! A decoder's sizes in the words of GGUF's metadata.

use super::{GgufModel, gguf_architecture, gguf_model, value_of};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::model::llama::{LlamaConfig, RopePairs};

/// The sizes of the decoder in a GGUF file; keys stand behind the name of the architecture.
///
/// | member | key |
/// |---|---|
/// | `n_vocab` | the number of tokens |
/// | `n_embd`, `n_layers`, `max_seq_len` | `embedding_length`, `block_count`, `context_length` |
/// | `n_heads`, `n_kv_heads`, `head_dim` | `attention.head_count`, `attention.head_count_kv`, `attention.key_length` |
/// | `intermediate_size` | `feed_forward_length` |
/// | `rms_norm_eps` | `attention.layer_norm_rms_epsilon` |
/// | `rope_freq_base`, `rope_scaling` | `rope.freq_base`, `rope.scaling.factor` |
///
/// # Errors
///
/// As [`gguf_model`]; [`ErrorKind::UnsupportedArchitecture`] for encoders too; otherwise as [`LlamaConfig::read`].
pub fn gguf_llama_config(file: &Gguf<'_>) -> Result<LlamaConfig> {
    let unsupported = Error::without_offset(ErrorKind::UnsupportedArchitecture);
    let is_decoder = gguf_model(file)? == GgufModel::Decoder;
    let architecture = gguf_architecture(file).filter(|_| is_decoder).ok_or(unsupported)?;
    #[allow(clippy::cast_precision_loss)] // sizes are far below 2⁵³
    let read = |member: &str| {
        let key = match member {
            "n_vocab" => return Some(file.tokens().count() as f64),
            "n_embd" => "embedding_length",
            "n_layers" => "block_count",
            "n_heads" => "attention.head_count",
            "n_kv_heads" => "attention.head_count_kv",
            "head_dim" => "attention.key_length",
            "max_seq_len" => "context_length",
            "intermediate_size" => "feed_forward_length",
            "rms_norm_eps" => "attention.layer_norm_rms_epsilon",
            "rope_freq_base" => "rope.freq_base",
            "rope_scaling" => "rope.scaling.factor",
            _ => return None,
        };
        match value_of(file, architecture, key)? {
            Value::Unsigned(number) => Some(number as f64),
            Value::Signed(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        }
    };
    // Only Llama's queries and keys were put in another order for GGUF.
    let pairs = if architecture == "llama" { RopePairs::Neighbours } else { RopePairs::Halves };
    LlamaConfig::read(read, pairs)
}

/// Whether the file says that its embeddings are the last token's hidden state (`pooling_type` 3).
#[must_use]
pub fn gguf_pools_last_token(file: &Gguf<'_>) -> bool {
    let pooling = gguf_architecture(file).and_then(|name| value_of(file, name, "pooling_type"));
    pooling == Some(Value::Unsigned(3))
}
