//! A BERT encoder in GGUF's metadata, as llama.cpp's converter writes it.

use super::key::{Found, Key, PROMPTS, Rule};
use super::tensors::gguf_bert_tensor_at_fault;
use super::value::text;
use super::{GgufArchitecture, GgufModel, gguf_model, value_of};
use crate::describe::BertConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;

/// The sizes of the encoder in a GGUF file of the architecture `bert`.
///
/// | key of [`BertConfig::from_metadata`] | key after `bert.` |
/// |---|---|
/// | `vocab_size` | the number of tokens |
/// | `num_layers`, `hidden_size` | `block_count`, `embedding_length` |
/// | `max_position_emb`, `max_tokens` | `context_length` |
/// | `num_attention_heads`, `layer_norm_eps` | `attention.head_count`, `attention.layer_norm_epsilon` |
/// | `intermediate_size` | `feed_forward_length` |
/// | `pooling` | `pooling_type`: 1 is the mean, 2 the first token |
/// | `do_lower_case` | `tokenizer.ggml.normalizer.lowercase`, without an architecture before it |
///
/// Settings for which llama.cpp has no key are stored under `nanoembed.` and the key, such as
/// `nanoembed.normalize`. Their defaults are BERT's: texts are converted to lower case, embeddings
/// have length 1.
///
/// # Errors
///
/// As [`gguf_model`]; [`ErrorKind::UnsupportedArchitecture`] for decoders too;
/// [`ErrorKind::UnsupportedSetting`] for settings and tensors that [`gguf_bert_setting_at_fault`]
/// or [`gguf_bert_tensor_at_fault`] return; otherwise as [`BertConfig::from_metadata`].
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
    BertConfig::from_values(|asked| match asked {
        "vocab_size" => Some(Value::Unsigned(file.tokens().count() as u64)),
        "pooling" => {
            let pooling = match model_value(file, Key::PoolingType)? {
                // Without pooling there is a vector for each token; their mean is used as
                // embedding.
                Value::Unsigned(0 | 1) => "mean",
                Value::Unsigned(2) => "cls",
                _ => "unknown",
            };
            Some(Value::Text(pooling))
        }
        "num_layers" => model_value(file, Key::BlockCount),
        "hidden_size" => model_value(file, Key::EmbeddingLength),
        "max_position_emb" => model_value(file, Key::ContextLength),
        "num_attention_heads" => model_value(file, Key::HeadCount),
        "layer_norm_eps" => model_value(file, Key::LayerNormEpsilon),
        "intermediate_size" => model_value(file, Key::FeedForwardLength),
        "do_lower_case" => file_value(file, Key::LowerCase),
        "strip_accents" => {
            file_value(file, Key::StripAccents).or(file_value(file, Key::OwnStripAccents))
        }
        "max_tokens" => {
            file_value(file, Key::OwnMaxTokens).or(model_value(file, Key::ContextLength))
        }
        "embedding_dim" => file_value(file, Key::OwnDimensions),
        "normalize" => file_value(file, Key::OwnNormalize),
        "split_ideographs" => file_value(file, Key::OwnSplitIdeographs),
        "wordpiece_added_tokens" => file_value(file, Key::OwnAddedTokens),
        "default_prompt_name" => file_value(file, Key::OwnDefaultPrompt),
        _ => None,
    })
}

/// The value of a key of the model.
fn model_value<'a>(file: &Gguf<'a>, key: Key) -> Option<Value<'a>> {
    value_of(file, GgufArchitecture::Bert.name(), key)
}

/// The value of a key without an architecture.
fn file_value<'a>(file: &Gguf<'a>, key: Key) -> Option<Value<'a>> {
    file.value(key.name())
}

/// An unsupported setting of an encoder in a GGUF file.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GgufSetting<'a> {
    /// Its key.
    pub key: &'a str,
    /// Its value.
    pub value: Value<'a>,
    /// True if other values of it are supported.
    pub is_known: bool,
}

/// The first unsupported setting of the model or its tokenizer.
#[must_use]
pub fn gguf_bert_setting_at_fault<'a>(file: &Gguf<'a>) -> Option<GgufSetting<'a>> {
    let architecture = GgufArchitecture::Bert.name();
    let heads = model_value(file, Key::HeadCount);
    file.metadata().find_map(|(key, value)| {
        let is_known = match Key::find(key, architecture) {
            Found::Known(Key::HeadCountKv) if Some(value) != heads => true,
            Found::Known(known) => match known.row().bert {
                Rule::Only(is_done, _) if is_done(value) => return None,
                Rule::Only(..) => true,
                Rule::Unknown => false,
                _ => return None,
            },
            Found::Unknown => false,
            Found::Foreign if key.starts_with(PROMPTS) && text(value).is_none() => true,
            Found::Foreign => return None,
        };
        Some(GgufSetting { key, value, is_known })
    })
}
