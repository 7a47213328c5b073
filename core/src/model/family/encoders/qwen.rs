//! Qwen 2 and 3, which pool the last token, and their common part with Llama.

use super::model::{ClassifierModel, FamilyBiases, FamilyModel};
use crate::model::config::{Attention, Config, LayerSet, Mask, QueryKeyNorm, Rotary, Window};
use crate::model::family::settings::{LlamaUsual, Settings, Usual, UsualHeads};
use crate::model::family::tensors::{Names, Tensor, llama_names};
use crate::text::json::Read;

const NAMES: Names = llama_names!("", [(Tensor::FeedForwardNorm, ".post_attention_layernorm")]);

pub(super) fn read_2<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    // Exactly queries, keys and values have biases, regardless of this member.
    settings.known(&["attention_bias"]);
    let found = read(settings, UsualHeads { size: Usual::Even, key_value: Usual::Needed })?;
    Ok(FamilyModel { biases: FamilyBiases { attention: true, ..FamilyBiases::NONE }, ..found })
}

pub(super) fn read_3<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    let found = read(settings, UsualHeads::NEEDED)?;
    let attention =
        Attention { query_key_norm: Some(QueryKeyNorm::Head), ..found.config.attention };
    Ok(FamilyModel { config: Config { attention, ..found.config }, ..found })
}

/// The common part of both.
fn read<'t>(settings: &Settings<'_, 't>, heads: UsualHeads) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map"])?;
    settings.known(&["is_decoder"]);
    let usual = LlamaUsual { heads, ..LlamaUsual::encoder(10_000.0, 1e-6) };
    let found = llama_like(settings, usual)?;
    let window = window(settings, found.config.layers)?;
    let mask = mask(settings, window.is_some())?;
    let attention = Attention { window, mask, ..found.config.attention };
    let config = Config { attention, ..found.config };
    Ok(FamilyModel { config, classifier: Some(classifier(settings)?), ..found })
}

/// The head of classifiers and of causal models.
fn classifier<'t>(settings: &Settings<'_, 't>) -> Read<'t, ClassifierModel> {
    const PADDING: &str = "pad_token_id";
    let padding = settings.object.integer(PADDING)?;
    let bad = |_| settings.object.bad(PADDING, "a token is needed");
    Ok(ClassifierModel {
        padding: padding.map(u32::try_from).transpose().map_err(bad)?,
        is_tied: settings.truth("tie_word_embeddings", false)?,
        ..ClassifierModel::CAUSAL
    })
}

/// The mask: full if the file turns the causal mask off.
fn mask<'t>(settings: &Settings<'_, 't>, has_window: bool) -> Read<'t, Mask> {
    const CAUSAL: &str = "is_causal";
    match settings.truth(CAUSAL, true)? {
        true => Ok(Mask::Causal),
        false if has_window => {
            Err(settings.object.unsupported(CAUSAL, "only true is honoured beside a window"))
        }
        false => Ok(Mask::Full),
    }
}

/// The window of the listed layers, or of those from `max_window_layers` on.
fn window<'t>(settings: &Settings<'_, 't>, layers: usize) -> Read<'t, Option<Window>> {
    /// The default in the families' code.
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
    let have_window = LayerSet::from_flags((0..layers as u64).map(|layer| layer >= without))
        .ok_or_else(|| {
            settings.object.unsupported("use_sliding_window", "only in up to 1024 layers")
        })?;
    Ok(Window::from_layers(reach, layers, &have_window))
}

/// Llama under names without a prefix.
pub(super) fn llama_like<'t>(
    settings: &Settings<'_, 't>,
    usual: LlamaUsual,
) -> Read<'t, FamilyModel> {
    settings.off(&["mlp_bias"])?;
    let (config, rotary) = settings.llama(usual)?;
    let rope = rotary.rope(config.positions);
    let has_bias = settings.truth("attention_bias", false)?;
    Ok(FamilyModel {
        family: "",
        config: Config { rotary: Some(Rotary { global: rope, local: rope }), ..config },
        names: &NAMES,
        biases: FamilyBiases { attention: has_bias, output: has_bias, ..FamilyBiases::NONE },
        classifier: None,
    })
}
