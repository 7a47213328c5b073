//! Qwen 2 and 3, whose last token's vector is the text's, and what they share with Llama.

use super::model::{Biases, FamilyModel};
use super::rotary::HeadSizes;
use super::settings::{OF_LLAMA, Settings, SizeNames};
use crate::model::config::{Activation, Attention, Config, FeedForward, Rotary};
use crate::model::family::tensors::{Names, Tensor, llama_names};
use crate::text::json::Read;

const NAMES: Names = llama_names!("", [(Tensor::FeedForwardNorm, ".post_attention_layernorm")]);

pub(super) fn read_2<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    let found = read(settings)?;
    let biases = Biases { attention: true, ..found.biases };
    Ok(FamilyModel { biases, ..found })
}

pub(super) fn read_3<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    let found = read(settings)?;
    let attention = Attention { query_key_norm: true, ..found.config.attention };
    Ok(FamilyModel { config: Config { attention, ..found.config }, ..found })
}

/// What both have in common.
fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map"])?;
    settings.known(&["is_decoder"]);
    let found = llama_like(settings, 10_000.0, 1e-6)?;
    let mut config = found.config;
    // Texts are never longer than a window that some layers have, and see all of it.
    let window = settings.optional("sliding_window")?;
    settings.known(&["max_window_layers"]);
    if settings.truth("use_sliding_window", false)? {
        config.positions = config.positions.min(window.unwrap_or(usize::MAX));
    }
    Ok(FamilyModel { config, ..found })
}

/// Llama under names without a prefix, and heads of any size.
pub(super) fn llama_like<'t>(
    settings: &Settings<'_, 't>,
    base: f32,
    epsilon: f32,
) -> Read<'t, FamilyModel> {
    settings.off(&["mlp_bias"])?;
    let config = settings.shared_heads(settings.sized(&SizeNames::USUAL, Config::LLAMA)?)?;
    let only = "only silu is honoured";
    let activation = settings.activation("hidden_act", Activation::Silu, OF_LLAMA, only)?;
    settings.object.neutral("layer_types", "only full_attention is honoured", |list| {
        list.items().all(|kind| kind.is_text("full_attention"))
    })?;
    let rope = settings.rope(HeadSizes::of(&config), base, false)?;
    let has_bias = settings.truth("attention_bias", false)?;
    Ok(FamilyModel {
        family: "",
        config: Config {
            rotary: Some(Rotary { global: rope, local: rope }),
            epsilon: settings.positive("rms_norm_eps")?.unwrap_or(epsilon),
            feed_forward: FeedForward::Gated(activation),
            ..config
        },
        names: &NAMES,
        biases: Biases { attention: has_bias, output: has_bias, ..Biases::NONE },
        classifier: None,
    })
}
