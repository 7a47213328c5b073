//! Gemma 3's text model, of which EmbeddingGemma is made.

use super::model::{Biases, FamilyModel};
use super::rotary::{HeadSizes, read_rope};
use super::settings::{Activations, Settings, SizeNames};
use crate::model::config::{
    Activation, Attention, Config, Embedding, FeedForward, Mask, NormKind, Order, Rotary, Window,
};
use crate::model::family::tensors::{Names, Tensor, llama_names, sandwich_names};
use crate::text::json::Read;

const NAMES: Names = sandwich_names!("", []);

const TANH: Activations =
    &[("gelu_pytorch_tanh", Activation::GeluTanh), ("gelu_new", Activation::GeluTanh)];

/// The layers of a turn of which one sees all tokens.
const PATTERN: usize = 6;

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map", "attn_logit_softcapping", "final_logit_softcapping"])?;
    settings.known(&["is_decoder"]);
    let config = settings.shared_heads(settings.sized(&SizeNames::USUAL, Config::LLAMA)?)?;
    let only = "only gelu_pytorch_tanh is honoured";
    let usual = Activation::GeluTanh;
    let activation = settings.activation("hidden_activation", usual, TANH, only)?;
    settings.activation("hidden_act", usual, TANH, only)?;
    let mask = match settings.truth("use_bidirectional_attention", false)? {
        true => Mask::Full,
        false => Mask::Causal,
    };
    let scalar = settings.positive("query_pre_attn_scalar")?.unwrap_or(256.0);
    let has_bias = settings.truth("attention_bias", false)?;
    #[allow(clippy::cast_precision_loss)] // at most 2²⁴
    let scale = libm::sqrtf(config.hidden as f32);
    let config = Config {
        embedding: Embedding { scale, ..config.embedding },
        rotary: Some(rotary(settings, &config)?),
        attention: Attention {
            mask,
            window: window(settings, &config, mask)?,
            query_key_norm: true,
            scale: Some(1.0 / libm::sqrtf(scalar)),
        },
        order: Order::Sandwich,
        norm: NormKind::Rms { one_plus: true },
        epsilon: settings.positive("rms_norm_eps")?.unwrap_or(1e-6),
        feed_forward: FeedForward::Gated(activation),
        ..config
    };
    Ok(FamilyModel {
        family: "",
        config,
        names: &NAMES,
        biases: Biases { attention: has_bias, output: has_bias, ..Biases::NONE },
        classifier: None,
    })
}

/// The window of most layers: where tokens see both ways, half of it lies on each side.
fn window<'t>(
    settings: &Settings<'_, 't>,
    config: &Config,
    mask: Mask,
) -> Read<'t, Option<Window>> {
    let size = settings.optional("sliding_window")?.unwrap_or(4096);
    let reach = match mask {
        Mask::Full => size / 2,
        Mask::Causal => size - 1,
    };
    let every = settings.optional("sliding_window_pattern")?;
    let every = every.or(settings.optional("_sliding_window_pattern")?).unwrap_or(PATTERN);
    let usual = Some(Window { reach, every, first: every - 1 });
    Ok(settings.windows(config.layers, reach)?.unwrap_or(usual))
}

/// Layers with a window have a base of their own, and their positions are never scaled.
fn rotary<'t>(settings: &Settings<'_, 't>, config: &Config) -> Read<'t, Rotary> {
    let sizes = HeadSizes::of(config);
    settings.even_head(sizes)?;
    let base = settings.positive("rope_theta")?.unwrap_or(1e6);
    let local = settings.positive("rope_local_base_freq")?.unwrap_or(1e4);
    let usual = Rotary { global: sizes.rope(base), local: sizes.rope(local) };
    let Some(said) = settings.rope_object()? else { return Ok(usual) };
    let [full, sliding] = [said.object("full_attention")?, said.object("sliding_attention")?];
    let (Some(full), Some(sliding)) = (full, sliding) else {
        return Ok(Rotary { global: read_rope(&said, sizes, base, false)?, ..usual });
    };
    said.finish(&[])?;
    Ok(Rotary {
        global: read_rope(&full, sizes, base, false)?,
        local: read_rope(&sliding, sizes, local, false)?,
    })
}
