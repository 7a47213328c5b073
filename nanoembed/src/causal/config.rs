//! A decoder's `config.json`, and the same as the members of an AMB configuration.

use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::model::llama::{LISTED_LAYERS, LlamaConfig, Rope};
use nanoembed_core::model::{
    Activation, DecoderModel, FeedForward, LayerSet, NormKind, Order, Window, WindowLayers,
    read_decoder_config,
};
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::folder::json_text::JsonText;
use crate::json_float::json_float;

/// Applies `take` to the decoder that the `config.json` at `path` describes.
pub(crate) fn read<R>(path: &Path, take: impl FnOnce(&DecoderModel<'_>) -> Result<R>) -> Result<R> {
    let file = JsonText::open(path)?;
    take(&read_decoder_config(file.value()?).map_err(|fault| file.failure(fault))?)
}

/// The members of an AMB configuration of a model of this `architecture`; `has_long_factors` says
/// whether its frequencies are divided by one list for short texts and another one for long texts.
pub(super) fn members(
    config: &LlamaConfig,
    architecture: &str,
    has_long_factors: bool,
) -> Result<Map<String, Value>, ErrorKind> {
    let rotary = config.rotary.ok_or(ErrorKind::MissingMetadata)?;
    let has_gelu = config.feed_forward == FeedForward::Gated(Activation::GeluTanh);
    let own = [
        ("architecture", json!(architecture)),
        ("n_vocab", json!(config.vocabulary)),
        ("n_embd", json!(config.hidden)),
        ("n_layers", json!(config.layers)),
        ("n_heads", json!(config.heads.query)),
        ("n_kv_heads", json!(config.heads.key_value)),
        ("head_dim", json!(config.head())),
        ("max_seq_len", json!(config.positions)),
        ("is_rope", json!(true)),
        ("activation_fn", json!(if has_gelu { "geglu" } else { "swiglu" })),
        ("rms_norm_eps", json_float(config.epsilon)),
        ("intermediate_size", json!(config.intermediate)),
    ];
    let mut members = Map::new();
    let mut put = |member: &'static str, value| {
        members.insert(member.to_owned(), value);
    };
    for (member, value) in own {
        put(member, value);
    }
    let mut is = |member, is: bool| is.then(|| put(member, json!(1)));
    is("query_key_norm", config.attention.query_key_norm.is_some());
    is("end_norms", config.order == Order::Sandwich);
    is("norm_offset", config.norm == NormKind::Rms { one_plus: true });
    is("gelu_tanh", has_gelu);
    if config.embedding.scale != 1.0 {
        put("embedding_scale", json_float(config.embedding.scale));
    }
    if let Some(scale) = config.attention.scale {
        put("attention_scale", json_float(scale));
    }
    rotary_members(&rotary.global, has_long_factors, &mut put);
    if let Some(window) = config.attention.window {
        window_members(&window, config.layers, &mut put);
        put("rope_local_freq_base", json_float(rotary.local.base));
    }
    Ok(members)
}

/// Takes a member.
type Put<'p> = &'p mut dyn FnMut(&'static str, Value);

fn rotary_members(rope: &Rope, has_long_factors: bool, put: Put<'_>) {
    put("rope_freq_base", json_float(rope.base));
    put("rope_scaling", json_float(rope.position_divisor));
    put("rope_dimensions", json!(rope.dimensions));
    if rope.attention_factor != 1.0 {
        put("rope_attention_factor", json_float(rope.attention_factor));
    }
    if has_long_factors {
        put("rope_original_positions", json!(rope.original_positions));
    }
}

fn window_members(window: &Window, layers: usize, put: Put<'_>) {
    put("sliding_window", json!(window.reach.saturating_add(1)));
    match window.layers {
        WindowLayers::AllBut { every, first } => {
            put("sliding_window_every", json!(every));
            put("sliding_window_first", json!(first));
        }
        WindowLayers::Listed(listed) => {
            let words = listed.words().iter().take(layers.div_ceil(LayerSet::BITS));
            LISTED_LAYERS.iter().zip(words).for_each(|(name, bits)| put(name, json!(bits)));
        }
    }
}
