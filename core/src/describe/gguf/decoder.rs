//! A decoder's sizes in GGUF's metadata.

use super::decoder_family::{biases, complete, has_windows, local_rope};
use super::key::Key;
use super::refusal::{GgufRefusal, Outcome};
use super::scaling::position_divisor;
use super::tokenizer::check_tokenizer;
use super::{GgufArchitecture, Keys, gguf_architecture, value_of};
use crate::error::Result;
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::model::config::rope::{Yarn, YarnSettings};
use crate::model::config::{Activation, Config, FeedForward, LlamaConfig, Rope, RopePairs, Rotary};
use crate::model::family::llama::{Biases, is_decoder_tensor_of};

/// The sizes of the decoder in a GGUF file; keys follow the name of the architecture.
///
/// | member | key |
/// |---|---|
/// | `n_vocab` | the number of tokens, or `vocab_size` without tokens |
/// | `n_embd`, `n_layers` | `embedding_length`, `block_count` |
/// | `max_seq_len` | `context_length`, or `attention.sliding_window` if that is less and all layers have it |
/// | `n_heads`, `n_kv_heads`, `head_dim` | `attention.head_count`, `attention.head_count_kv`, `attention.key_length` |
/// | `intermediate_size` | `feed_forward_length` |
/// | `rms_norm_eps` | `attention.layer_norm_rms_epsilon` |
/// | `rope_freq_base`, `rope_dimensions` | `rope.freq_base`, `rope.dimension_count` |
/// | `rope_scaling` | `rope.scaling.factor` or `rope.scale_linear`, for the scaling `linear` |
/// | `rope_original_positions` | `rope.scaling.original_context_length` |
/// | `rope_local_freq_base` | `rope.freq_base_swa` |
/// | `sliding_window`, `sliding_window_every` | `attention.sliding_window`, `attention.sliding_window_pattern` |
/// | `rope_attention_factor` | `rope.scaling.attn_factor`, times the one of YaRN |
///
/// # Errors
///
/// As [`gguf_model`](super::gguf_model);
/// [`UnsupportedArchitecture`](crate::ErrorKind::UnsupportedArchitecture) for encoders too;
/// [`UnsupportedSetting`](crate::ErrorKind::UnsupportedSetting) for keys and tensors that
/// [`gguf_refusal`] returns; otherwise as [`LlamaConfig::read`].
#[inline(never)] // so that it has its stack to itself
pub fn gguf_llama_config(file: &Gguf<'_>) -> Result<LlamaConfig> {
    config(file)?.map_err(|refusal| refusal.error())
}

/// The first key or tensor of a file with a decoder that is not supported: of its architecture or
/// tokenizer.
#[must_use]
pub fn gguf_refusal<'a>(file: &Gguf<'a>) -> Option<GgufRefusal<'a>> {
    config(file).ok()?.err()
}

fn config<'a>(file: &Gguf<'a>) -> Result<Outcome<'a, LlamaConfig>> {
    let mut settings = Keys::decoder(file)?;
    if let Err(refusal) = settings.read_decoder().and_then(|()| check_tokenizer(&settings)) {
        return Ok(Err(refusal));
    }
    for key in [
        Key::EmbeddingLength,
        Key::BlockCount,
        Key::HeadCount,
        Key::ContextLength,
        Key::FeedForwardLength,
    ] {
        if settings.number(key).is_none() {
            return Ok(Err(settings.refuse(key, "a number is needed here")));
        }
    }
    #[allow(clippy::cast_precision_loss)] // sizes are far below 2⁵³
    let read = |member: &str| {
        let key = match member {
            "n_vocab" => {
                let tokens = file.tokens().count() as f64;
                return settings
                    .number(Key::VocabularySize)
                    .filter(|_| tokens == 0.0)
                    .or(Some(tokens));
            }
            "max_seq_len" => {
                // Texts are limited to the window: beyond it, a token would attend to more here
                // than in the model.
                let window = settings.number(Key::SlidingWindow);
                let has_some = has_windows(settings.architecture);
                let window = window.filter(|it| *it > 0.0 && !has_some);
                let positions = settings.number(Key::ContextLength)?;
                return Some(window.map_or(positions, |window| window.min(positions)));
            }
            "n_embd" => Key::EmbeddingLength,
            "n_layers" => Key::BlockCount,
            "n_heads" => Key::HeadCount,
            "n_kv_heads" => Key::HeadCountKv,
            "head_dim" => Key::KeyLength,
            "intermediate_size" => Key::FeedForwardLength,
            "rms_norm_eps" => Key::RmsNormEpsilon,
            "rope_freq_base" => Key::RopeBase,
            "rope_dimensions" => Key::RopeDimensions,
            "rope_original_positions" => Key::RopeOriginalLength,
            _ => return None,
        };
        settings.number(key)
    };
    // Only Llama's queries and keys are reordered for GGUF.
    let is_llama = settings.architecture == GgufArchitecture::Llama.name();
    let pairs = if is_llama { RopePairs::Neighbours } else { RopePairs::Halves };
    let config = match complete(&settings, LlamaConfig::read(read, pairs)?) {
        Ok(config) => config,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let checked = check(&settings, &config)
        .and_then(|()| rope(file, &settings, &config))
        .and_then(|rope| local_rope(&settings, &config, rope))
        .and_then(|rotary| {
            check_tensors(file, &config, biases(settings.architecture)).map(|()| rotary)
        });
    Ok(checked.map(|rotary| LlamaConfig { rotary: Some(rotary), ..config }))
}

/// Rejects unusual values of sizes that are not configurable.
fn check<'a>(settings: &Keys<'a>, config: &LlamaConfig) -> Outcome<'a, ()> {
    check_activation(settings, config)?;
    #[allow(clippy::cast_precision_loss)] // heads are small
    let head = config.head() as f64;
    if settings.number(Key::ValueLength).is_some_and(|length| length != head) {
        let reason = "only values as long as keys are honoured";
        return Err(settings.refuse(Key::ValueLength, reason));
    }
    let usual = f64::from(config.score_scale(&config.heads));
    let scale = settings.number(Key::AttentionScale).unwrap_or(0.0);
    if scale != 0.0 && (scale / usual - 1.0).abs() > 1e-6 {
        return Err(settings.refuse(Key::AttentionScale, "only 1 / √key_length is honoured"));
    }
    if !matches!(settings.number(Key::PoolingType), None | Some(0.0 | 1.0 | 3.0)) {
        let reason = "only the mean (1) and the last token (3) are honoured";
        return Err(settings.refuse(Key::PoolingType, reason));
    }
    let turns_parts = config.rotary.is_some_and(|Rotary { global: rope, .. }| {
        rope.pairs == RopePairs::Neighbours && rope.dimensions != config.head()
    });
    if turns_parts {
        let reason = "of this architecture only models that turn whole heads are known";
        return Err(settings.refuse(Key::RopeDimensions, reason));
    }
    Ok(())
}

/// Rejects an activation other than the architecture's.
fn check_activation<'a>(settings: &Keys<'a>, config: &LlamaConfig) -> Outcome<'a, ()> {
    const KEY: Key = Key::HiddenActivation;
    let (words, reason): (&[&str], _) = match config.feed_forward {
        FeedForward::Gated(Activation::GeluTanh) => {
            (&["gelu_pytorch_tanh", "gelu_tanh"], "only `gelu_pytorch_tanh` is honoured")
        }
        _ => (&["silu", "swiglu"], "only `silu` is honoured"),
    };
    match settings.value(KEY) {
        Some(value) if !words.iter().any(|word| value == Value::Text(word)) => {
            Err(settings.refuse(KEY, reason))
        }
        _ => Ok(()),
    }
}

/// Rejects tensors that a decoder with these settings would not use: they belong to another model.
fn check_tensors<'a>(file: &Gguf<'a>, config: &Config, biases: Biases) -> Outcome<'a, ()> {
    let mut tensors = file.tensors();
    match tensors.find(|tensor| !is_decoder_tensor_of(tensor.header().name, config, biases)) {
        Some(tensor) => {
            let header = tensor.header();
            Err(GgufRefusal::unused_tensor(header.name, header.offset))
        }
        None => Ok(()),
    }
}

/// The rotary positions, with llama.cpp's interpretation of the keys.
fn rope<'a>(file: &Gguf<'a>, settings: &Keys<'a>, config: &LlamaConfig) -> Outcome<'a, Rope> {
    let number = |key| settings.number(key).filter(|number| *number != 0.0);
    let Some(Rotary { global: mut rope, .. }) = config.rotary else {
        return Err(GgufRefusal::missing(Key::RopeBase.name()));
    };
    let mut attention = number(Key::RopeAttentionFactor).unwrap_or(1.0);
    let said = number(Key::RopeScalingFactor).or(number(Key::RopeScale));
    let (kind, factor) = (settings.word(Key::RopeScalingType), said.unwrap_or(1.0));
    match (position_divisor(kind, said), kind) {
        #[allow(clippy::cast_possible_truncation)] // models are not this precise
        (Some(divisor), _) => rope.position_divisor = divisor as f32,
        (None, Some("yarn")) => {
            #[allow(clippy::cast_precision_loss)] // far below 2²⁴
            let yarn = YarnSettings {
                factor,
                original_positions: rope.original_positions as f64,
                beta_fast: number(Key::YarnBetaFast).unwrap_or(32.0),
                beta_slow: number(Key::YarnBetaSlow).unwrap_or(1.0),
                truncate: true,
            };
            let found = Yarn::new(&yarn, rope.dimensions, rope.base);
            let bad = || settings.refuse(Key::RopeScalingType, "its numbers make no sense");
            rope.yarn = Some(found.ok_or_else(bad)?);
            let usual = Yarn::attention_factor(factor, 1.0);
            attention *= usual;
            // Readers disagree on whether it replaces or multiplies YaRN's factor.
            let own = number(Key::YarnAttentionFactor).unwrap_or(usual);
            if own != 1.0 && (own / usual - 1.0).abs() > 1e-4 {
                let reason = "only 1 and the usual factor of YaRN are honoured";
                return Err(settings.refuse(Key::YarnAttentionFactor, reason));
            }
        }
        (None, Some("longrope")) => {
            if factor != 1.0 {
                let reason = "beside longrope it is not honoured";
                return Err(settings.refuse(Key::RopeScalingFactor, reason));
            }
            if file.tensor("rope_factors_short.weight").is_none() {
                let reason = "the factors of longrope are not in the file";
                return Err(settings.refuse(Key::RopeScalingType, reason));
            }
        }
        (None, _) => {
            let reason = "only none, linear, yarn and longrope are honoured";
            return Err(settings.refuse(Key::RopeScalingType, reason));
        }
    }
    #[allow(clippy::cast_possible_truncation)] // models are not this precise
    {
        rope.attention_factor = attention as f32;
    }
    let good = |value: f32| value.is_finite() && value > 0.0;
    if good(rope.position_divisor) && good(rope.attention_factor) {
        Ok(rope)
    } else {
        Err(settings.refuse(Key::RopeScalingFactor, "it makes no sense"))
    }
}

/// Returns true if the file says how the states of a decoder are pooled: it is made for embeddings.
#[must_use]
pub fn gguf_names_pooling(file: &Gguf<'_>) -> bool {
    let pooling = gguf_architecture(file).and_then(|name| value_of(file, name, Key::PoolingType));
    pooling.is_some_and(|pooling| pooling != Value::Unsigned(0))
}

/// Returns true if the embedding of a decoder is the last token's hidden state: `pooling_type` is
/// 3, or missing, for which llama.cpp has the same default.
#[must_use]
pub fn gguf_pools_last_token(file: &Gguf<'_>) -> bool {
    let Some(name) = gguf_architecture(file) else { return false };
    match value_of(file, name, Key::PoolingType) {
        None => GgufArchitecture::from_name(name).is_some_and(GgufArchitecture::is_decoder),
        Some(pooling) => pooling == Value::Unsigned(3),
    }
}
