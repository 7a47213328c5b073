//! A BERT encoder in the words of GGUF, as llama.cpp's converter writes them.

use super::encoder_tensors::gguf_bert_tensor_at_fault;
use super::{ENCODER, GgufModel, gguf_model, value_of};
use crate::describe::BertConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;

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
/// | `do_lower_case` | `tokenizer.ggml.normalizer.lowercase`, without an architecture before it |
///
/// What llama.cpp has no key for stands under `nanoembed.` and the key, such as
/// `nanoembed.normalize`; without it is as BERT has it: letters are made lower case, the embedding
/// has length 1.
///
/// # Errors
///
/// As [`gguf_model`]; [`ErrorKind::UnsupportedArchitecture`] for decoders too;
/// [`ErrorKind::UnsupportedSetting`] for what [`gguf_bert_setting_at_fault`] or
/// [`gguf_bert_tensor_at_fault`] name; otherwise as
/// [`BertConfig::from_metadata`].
pub fn gguf_bert_config(file: &Gguf<'_>) -> Result<BertConfig> {
    if gguf_model(file)? != GgufModel::Encoder {
        return Err(Error::without_offset(ErrorKind::UnsupportedArchitecture));
    }
    if gguf_bert_setting_at_fault(file).is_some() {
        return Err(Error::without_offset(ErrorKind::UnsupportedSetting));
    }
    if let Some(refusal) = gguf_bert_tensor_at_fault(file) {
        return Err(refusal.error());
    }
    BertConfig::from_values(|asked| match place(asked) {
        Place::Tokens => Some(Value::Unsigned(file.tokens().count() as u64)),
        Place::Pooling => {
            let pooling = match value_of(file, ENCODER, "pooling_type")? {
                // Without pooling there is a vector for each token, of which the mean is an
                // embedding.
                Value::Unsigned(0 | 1) => "mean",
                Value::Unsigned(2) => "cls",
                _ => "unknown",
            };
            Some(Value::Text(pooling))
        }
        Place::Architecture(key) => value_of(file, ENCODER, key),
        Place::Tokenizer(key) => file.value(key),
        Place::Own => own(file, asked),
        Place::OwnOr(key) => own(file, asked).or(value_of(file, ENCODER, key)),
        Place::TokenizerOrOwn(key) => file.value(key).or(own(file, asked)),
    })
}

/// Where a setting of [`BertConfig`] stands.
enum Place {
    /// It is the number of tokens.
    Tokens,
    /// Behind the architecture's name, as a number of llama.cpp's.
    Pooling,
    /// Behind the architecture's name.
    Architecture(&'static str),
    /// Under this key of the tokenizer.
    Tokenizer(&'static str),
    /// Behind this project's name.
    Own,
    /// The same, or behind the architecture's name.
    OwnOr(&'static str),
    /// Under this key of the tokenizer, or behind this project's name.
    TokenizerOrOwn(&'static str),
}

/// Where the setting stands that [`BertConfig::from_values`] asks for by this key.
fn place(asked: &str) -> Place {
    match asked {
        "vocab_size" => Place::Tokens,
        "pooling" => Place::Pooling,
        "num_layers" => Place::Architecture("block_count"),
        "hidden_size" => Place::Architecture("embedding_length"),
        "max_position_emb" => Place::Architecture("context_length"),
        "num_attention_heads" => Place::Architecture("attention.head_count"),
        "layer_norm_eps" => Place::Architecture("attention.layer_norm_epsilon"),
        "intermediate_size" => Place::Architecture("feed_forward_length"),
        "do_lower_case" => Place::Tokenizer("tokenizer.ggml.normalizer.lowercase"),
        "strip_accents" => Place::TokenizerOrOwn("tokenizer.ggml.normalizer.strip_accents"),
        "max_tokens" => Place::OwnOr("context_length"),
        _ => Place::Own,
    }
}

/// Behind this project's name, before what a file that was converted said of itself: it is for
/// people.
pub(crate) const FURTHER: &str = "metadata.";

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
            ("nanoembed", key) => judge_own_setting(key, value),
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

/// Of this project's own keys those are used that [`place`] finds there, and those of prompts.
fn judge_own_setting(key: &str, value: Value<'_>) -> Judged {
    let is_text = matches!(value, Value::Text(_));
    let is_own = matches!(place(key), Place::Own | Place::OwnOr(_) | Place::TokenizerOrOwn(_));
    match key {
        "hidden_act" => Judged::honoured_if(value == Value::Text("gelu")),
        "include_prompt" => Judged::honoured_if(is_text || matches!(value, Value::Bool(_))),
        "wordpiece_added_tokens" | "default_prompt_name" | "similarity_fn_name" => {
            Judged::honoured_if(is_text)
        }
        _ if key.starts_with("prompt.") => Judged::honoured_if(is_text),
        _ if key.starts_with(FURTHER) => Judged::Honoured,
        _ if is_own && BertConfig::KEYS.contains(&key) => Judged::Honoured,
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
