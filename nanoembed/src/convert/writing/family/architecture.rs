//! The architecture of an encoder that is written, which must be as llama.cpp computes it.

use nanoembed_core::describe::gguf::{GgufArchitecture, T5_DISTANCE, window_pattern};
use nanoembed_core::model::config::Rope;
use nanoembed_core::model::{Activation, Config, FamilyModel, FeedForward, Mask};

use crate::error::{Error, Result};

/// True if the settings are BERT's, without other kinds of activations.
pub(super) fn is_plain_bert(config: &Config) -> bool {
    config.feed_forward == FeedForward::Plain(Activation::Gelu)
}

/// Returns true if a folder with a model of this type may have an encoder that is written. Of types
/// that may be decoders only folders with modules have one.
pub(super) fn may_have(kind: &str, has_modules: bool) -> bool {
    let is_decoder = GgufArchitecture::from_decoder_type(kind).is_some();
    GgufArchitecture::from_encoder_type(kind).is_some() && (has_modules || !is_decoder)
}

/// The architecture of a model, which must be as llama.cpp computes it.
pub(super) fn find(
    model: &FamilyModel,
    refuse: &dyn Fn(String) -> Error,
) -> Result<GgufArchitecture> {
    let unknown = || refuse(format!("llama.cpp knows no models of type `{}`", model.family));
    let found = GgufArchitecture::from_encoder(model.family, &model.config);
    let found = found.ok_or_else(unknown)?;
    match difference(found, &model.config) {
        None => Ok(found),
        Some(what) => Err(refuse(format!(
            "{what}, for which GGUF has no words in models of the architecture `{}`",
            found.name()
        ))),
    }
}

/// The part of a model that llama.cpp would compute otherwise.
fn difference(architecture: GgufArchitecture, config: &Config) -> Option<&'static str> {
    use GgufArchitecture as A;
    let gate = |activations: &[Activation]| match config.feed_forward {
        FeedForward::Gated(activation) => activations.contains(&activation),
        FeedForward::Plain(_) | FeedForward::Mixed(_) => false,
    };
    let activation_fits = match architecture {
        A::Bert => matches!(
            config.feed_forward,
            FeedForward::Plain(Activation::Gelu | Activation::GeluTanh)
        ),
        A::JinaBertV3 => config.feed_forward == FeedForward::Plain(Activation::Gelu),
        A::NomicBertMoe => config.feed_forward.activation() == Activation::Gelu,
        A::JinaBertV2 => gate(&[Activation::Gelu]),
        A::ModernBert => gate(&[Activation::Gelu, Activation::Silu]),
        A::GemmaEmbedding | A::GemmaEmbedding2 => gate(&[Activation::GeluTanh]),
        A::T5Encoder => {
            gate(&[Activation::GeluTanh])
                || config.feed_forward == FeedForward::Plain(Activation::Relu)
        }
        _ => gate(&[Activation::Silu]),
    };
    let mask = if architecture == A::Qwen3 { Mask::Causal } else { Mask::Full };
    let is_turned_plainly = |rope: &Rope| {
        rope.position_divisor == 1.0 && rope.yarn.is_none() && rope.attention_factor == 1.0
    };
    let ropes = config.rotary.iter().flat_map(|rotary| [&rotary.global, &rotary.local]);
    let is_gemma = matches!(architecture, A::GemmaEmbedding | A::GemmaEmbedding2);
    let has_list = architecture == A::GemmaEmbedding2;
    let windows_fit = config.attention.window.is_none()
        || has_list
        || window_pattern(architecture, config).is_some();
    let needs_window = is_gemma && config.attention.window.is_none();
    let has_whole_heads = config.heads.width() == config.hidden;
    let may_have_others = is_gemma || matches!(architecture, A::Qwen3 | A::T5Encoder);
    let distance_fits = config.buckets().is_none_or(|it| it.distance == T5_DISTANCE);
    let checks = [
        (activation_fits, "the model has another activation"),
        (config.attention.mask == mask, "the model has another attention mask"),
        (ropes.into_iter().all(is_turned_plainly), "the model scales its rotary positions"),
        (distance_fits, "the model has another distance of relative positions"),
        (windows_fit && !needs_window, "the model has other windows"),
        (has_whole_heads || may_have_others, "the model has heads of another size"),
    ];
    checks.into_iter().find(|(fits, _)| !fits).map(|(_, what)| what)
}
