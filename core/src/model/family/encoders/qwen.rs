//! Qwen 2 and 3, whose last token's vector is the text's, and what they share with Llama.

use super::model::{Biases, FamilyModel};
use super::rotary::HeadSizes;
use super::settings::{OF_LLAMA, Settings, SizeNames};
use crate::model::config::{Activation, Attention, Config, FeedForward, Rotary, Window};
use crate::model::family::tensors::{Names, Tensor, llama_names};
use crate::text::json::Read;

const NAMES: Names = llama_names!("", [(Tensor::FeedForwardNorm, ".post_attention_layernorm")]);

pub(super) fn read_2<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    // Queries, keys and values have biases, and nothing else, whatever this says.
    settings.known(&["attention_bias"]);
    let found = read(settings)?;
    Ok(FamilyModel { biases: Biases { attention: true, ..Biases::NONE }, ..found })
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
    let window = window(settings, found.config.layers)?;
    let attention = Attention { window, ..found.config.attention };
    Ok(FamilyModel { config: Config { attention, ..found.config }, ..found })
}

/// The window of the layers that are listed, or of those from `max_window_layers` on.
fn window<'t>(settings: &Settings<'_, 't>, layers: usize) -> Read<'t, Option<Window>> {
    /// What the families' code takes where nothing is said.
    const SIZE: usize = 4096;
    const LAYERS_WITHOUT: u64 = 28;
    let size = settings.optional("sliding_window")?.unwrap_or(SIZE);
    let without = settings.object.integer("max_window_layers")?.unwrap_or(LAYERS_WITHOUT);
    if !settings.truth("use_sliding_window", false)? {
        settings.only_full()?;
        return Ok(None);
    }
    let reach = size.saturating_sub(1);
    if let Some(listed) = settings.windows(layers, reach)? {
        return Ok(listed);
    }
    let have_window = || (0..layers as u64).map(|layer| layer >= without);
    Window::of_layers(reach, layers, have_window).ok_or_else(|| {
        let only = "a window is honoured in all layers, in none, or in all but one in so many";
        settings.object.unsupported("max_window_layers", only)
    })
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
