//! A BERT encoder in the words of GGUF, as llama.cpp's converter writes them.

use super::{ENCODER, GgufModel, gguf_model, value_of};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::model::BertConfig;
use crate::model::weights::Name;

/// The sizes of the encoder in a GGUF file of the architecture `bert`.
///
/// | key of [`BertConfig::from_metadata`] | key behind `bert.` |
/// |---|---|
/// | `vocab_size` | the number of tokens |
/// | `num_layers`, `hidden_size` | `block_count`, `embedding_length` |
/// | `max_position_emb`, `max_tokens` | `context_length` |
/// | `num_attention_heads`, `layer_norm_eps` | `attention.head_count`, `attention.layer_norm_epsilon` |
/// | `intermediate_size` | `feed_forward_length` |
/// | `pooling` | `pooling_type`: 1 is the mean, 2 the first token |
///
/// What GGUF cannot say is as BERT has it: letters are made lower case, the embedding has length 1.
///
/// # Errors
///
/// As [`gguf_model`]; [`ErrorKind::UnsupportedArchitecture`] for decoders too; otherwise as [`BertConfig::from_metadata`].
pub fn gguf_bert_config(file: &Gguf<'_>) -> Result<BertConfig> {
    if gguf_model(file)? != GgufModel::Encoder {
        return Err(Error::without_offset(ErrorKind::UnsupportedArchitecture));
    }
    BertConfig::from_values(|key| {
        let key = match key {
            "vocab_size" => return Some(Value::Unsigned(file.tokens().count() as u64)),
            "pooling" => {
                let pooling = match value_of(file, ENCODER, "pooling_type")? {
                    // Without pooling there is a vector for each token, of which the mean is an embedding.
                    Value::Unsigned(0 | 1) => "mean",
                    Value::Unsigned(2) => "cls",
                    _ => "unknown",
                };
                return Some(Value::Text(pooling));
            }
            "num_layers" => "block_count",
            "hidden_size" => "embedding_length",
            "max_position_emb" | "max_tokens" => "context_length",
            "num_attention_heads" => "attention.head_count",
            "layer_norm_eps" => "attention.layer_norm_epsilon",
            "intermediate_size" => "feed_forward_length",
            _ => return None,
        };
        value_of(file, ENCODER, key)
    })
}

/// What GGUF calls the parts of an encoder, and what Hugging Face does; `.weight` or `.bias` follows.
const PARTS: [(&str, &str); 12] = [
    ("embeddings.word_embeddings", "token_embd"),
    ("embeddings.position_embeddings", "position_embd"),
    ("embeddings.token_type_embeddings", "token_types"),
    ("embeddings.LayerNorm", "token_embd_norm"),
    ("attention.self.query", "attn_q"),
    ("attention.self.key", "attn_k"),
    ("attention.self.value", "attn_v"),
    ("attention.output.dense", "attn_output"),
    ("attention.output.LayerNorm", "attn_output_norm"),
    ("intermediate.dense", "ffn_up"),
    ("output.dense", "ffn_down"),
    ("output.LayerNorm", "layer_output_norm"),
];

/// Calls `found` with GGUF's name of the tensor that Hugging Face calls `name`; `None` if it is not one of an encoder.
pub fn gguf_bert_tensor<T>(name: &str, found: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let (part, kind) = name.rsplit_once('.')?;
    let (layer, part) = match part.strip_prefix("encoder.layer.") {
        Some(part) => {
            let (layer, part) = part.split_once('.')?;
            (Some(layer), part)
        }
        None => (None, part),
    };
    let (_, renamed) = PARTS.into_iter().find(|(known, _)| *known == part)?;
    let mut name = Name::new("");
    if let Some(layer) = layer {
        ["blk.", layer, "."].into_iter().for_each(|text| name.push(text));
    }
    [renamed, ".", kind].into_iter().for_each(|text| name.push(text));
    found(name.as_str())
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::*;

    fn renamed(name: &str) -> Option<String> {
        gguf_bert_tensor(name, |name| Some(name.into()))
    }

    #[test]
    fn tensors_are_called_as_llama_cpp_does() {
        let names = [
            ("embeddings.word_embeddings.weight", "token_embd.weight"),
            ("embeddings.LayerNorm.bias", "token_embd_norm.bias"),
            ("encoder.layer.0.attention.self.query.weight", "blk.0.attn_q.weight"),
            ("encoder.layer.11.output.LayerNorm.bias", "blk.11.layer_output_norm.bias"),
        ];
        for (ours, theirs) in names {
            assert_eq!(renamed(ours).as_deref(), Some(theirs));
        }
        for none in
            ["pooler.dense.weight", "encoder.layer.0.weight", "encoder.layer.", "weight", ""]
        {
            assert_eq!(renamed(none), None, "{none}");
        }
    }
}
