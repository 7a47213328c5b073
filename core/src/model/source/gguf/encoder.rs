//! A BERT encoder in the words of GGUF, as llama.cpp's converter writes them.

use super::{ENCODER, GgufModel, gguf_model, value_of};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::model::config::BertConfig;
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
/// | `do_lower_case` | `tokenizer.ggml.normalizer.lowercase`, without an architecture before it |
///
/// What llama.cpp has no key for stands under `nanoembed.` and the key, such as
/// `nanoembed.normalize`; without it is as BERT has it: letters are made lower case, the embedding
/// has length 1.
///
/// # Errors
///
/// As [`gguf_model`]; [`ErrorKind::UnsupportedArchitecture`] for decoders too; otherwise as
/// [`BertConfig::from_metadata`].
pub fn gguf_bert_config(file: &Gguf<'_>) -> Result<BertConfig> {
    if gguf_model(file)? != GgufModel::Encoder {
        return Err(Error::without_offset(ErrorKind::UnsupportedArchitecture));
    }
    if gguf_bert_setting_at_fault(file).is_some() {
        return Err(Error::without_offset(ErrorKind::UnsupportedSetting));
    }
    BertConfig::from_values(|asked| {
        let key = match asked {
            "vocab_size" => return Some(Value::Unsigned(file.tokens().count() as u64)),
            "pooling" => {
                let pooling = match value_of(file, ENCODER, "pooling_type")? {
                    // Without pooling there is a vector for each token, of which the mean is an
                    // embedding.
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
            "do_lower_case" => return file.value("tokenizer.ggml.normalizer.lowercase"),
            "strip_accents" => {
                return file.value("tokenizer.ggml.normalizer.strip_accents").or(own(file, asked));
            }
            other => return own(file, other),
        };
        let theirs = value_of(file, ENCODER, key);
        match asked {
            "max_tokens" => own(file, asked).or(theirs),
            _ => theirs,
        }
    })
}

/// What is said under a key of this project's own.
fn own<'a>(file: &Gguf<'a>, key: &str) -> Option<Value<'a>> {
    value_of(file, "nanoembed", key)
}

/// A setting of an encoder in a GGUF file that is not done here.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GgufSetting<'a> {
    /// Its key.
    pub key: &'a str,
    /// Its value.
    pub value: Value<'a>,
    /// Whether other values of it would be honoured.
    pub is_known: bool,
}

/// The first setting of the model or its tokenizer that is not honoured, nor known to change
/// nothing.
#[must_use]
pub fn gguf_bert_setting_at_fault<'a>(file: &Gguf<'a>) -> Option<GgufSetting<'a>> {
    let heads = value_of(file, ENCODER, "attention.head_count");
    file.metadata().find_map(|(key, value)| {
        let judged = match key.split_once('.')? {
            ("bert", key) => judge_model_setting(key, value, heads),
            ("tokenizer", key) => judge_tokenizer_setting(key, value),
            _ => Judged::Honoured,
        };
        match judged {
            Judged::Honoured => None,
            judged => {
                Some(GgufSetting { key, value, is_known: judged == Judged::OtherValueNeeded })
            }
        }
    })
}

/// What becomes of a setting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    /// It is used, or changes nothing.
    Honoured,
    /// It would be used if it had another value.
    OtherValueNeeded,
    Unknown,
}

impl Judged {
    const fn honoured_if(is_neutral: bool) -> Self {
        if is_neutral { Self::Honoured } else { Self::OtherValueNeeded }
    }
}

fn judge_model_setting(key: &str, value: Value<'_>, heads: Option<Value<'_>>) -> Judged {
    match key {
        "block_count"
        | "context_length"
        | "embedding_length"
        | "feed_forward_length"
        | "attention.head_count"
        | "attention.layer_norm_epsilon"
        | "vocab_size"
        | "classifier.output_labels" => Judged::Honoured,
        "attention.head_count_kv" => Judged::honoured_if(Some(value) == heads),
        "attention.causal" => Judged::honoured_if(value == Value::Bool(false)),
        "pooling_type" => Judged::honoured_if(matches!(value, Value::Unsigned(0..=2))),
        _ => Judged::Unknown,
    }
}

fn judge_tokenizer_setting(key: &str, value: Value<'_>) -> Judged {
    let Some(key) = key.strip_prefix("ggml.") else {
        // Copies of what is said here, for other programs, and templates of chats.
        let is_copy = key == "huggingface.json" || key.starts_with("chat_template");
        return if is_copy { Judged::Honoured } else { Judged::Unknown };
    };
    let is = |truth| value == Value::Bool(truth);
    match key {
        "model" => Judged::honoured_if(value == Value::Text("bert")),
        // A `pre` is of byte pairs; spaces are nothing to WordPiece.
        "pre"
        | "tokens"
        | "token_type"
        | "scores"
        | "merges"
        | "token_type_count"
        | "add_space_prefix"
        | "remove_extra_whitespaces"
        | "bos_token_id"
        | "eos_token_id"
        | "eot_token_id"
        | "eom_token_id"
        | "unknown_token_id"
        | "seperator_token_id"
        | "padding_token_id"
        | "mask_token_id"
        | "cls_token_id"
        | "normalizer.lowercase"
        | "normalizer.strip_accents" => Judged::Honoured,
        "add_bos_token" | "add_eos_token" | "add_sep_token" => Judged::honoured_if(is(true)),
        _ => Judged::Unknown,
    }
}

/// What GGUF calls the parts of an encoder, and what Hugging Face does; `.weight` or `.bias`
/// follows.
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

/// Calls `found` with GGUF's name of the tensor that Hugging Face calls `name`; `None` if it is not
/// one of an encoder.
pub fn gguf_bert_tensor<T>(name: &str, found: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    // `rsplit_once` could panic for all that the linker knows.
    let dot = name.bytes().rposition(|byte| byte == b'.')?;
    let (part, kind) = (name.get(..dot)?, name.get(dot.saturating_add(1)..)?);
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
