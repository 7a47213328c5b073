//! EmbeddingGemma 2: Gemma's encoder with a further input of each layer, whose full layers have
//! heads of their own.
//!
//! | `embedding_gemma2_text` | `embedding_gemma2` |
//! |---|---|
//! | the text model alone | its settings are in `text_config` |
//! | | towers for images and sounds, not used; both members may be null |
//! | | tokens that stand for such input have the vector of padding |

use super::model::{FamilyBiases, FamilyModel};
use crate::kernel::root;
use crate::model::config::{
    Activation, Attention, Config, Embedding, FeedForward, Heads, Mask, NormKind, Order,
    Placeholders, QueryKeyNorm, Rotary,
};
use crate::model::family::settings::{
    HeadSizes, Kinds, OF_GEMMA, Settings, SizeNames, Usual, UsualHeads, irrelevant,
};
use crate::model::family::tensors::{Names, Tensor, llama_names, sandwich_names};
use crate::text::json::{Object, Read};

const NAMES: Names = sandwich_names!(
    "",
    [
        (Tensor::PerLayerInput, "ple.per_layer_model_projection"),
        (Tensor::PerLayerInputNorm, "ple.per_layer_projection_norm"),
        (Tensor::PerLayerGate, ".ple_block.per_layer_input_gate"),
        (Tensor::PerLayerProjection, ".ple_block.per_layer_projection"),
        (Tensor::PerLayerNorm, ".ple_block.post_per_layer_input_norm"),
        (Tensor::LayerScale, ".layer_scalar"),
        (Tensor::FinalProjection, "embedding_projection"),
    ]
);

pub(super) const FULL: &str = "embedding_gemma2";
pub(super) const TEXT: &str = "embedding_gemma2_text";
pub(super) const BY_LAYERS: &str = "per_layer_config";
pub(super) const PER_LAYER: &str = "hidden_size_per_layer_input";
pub(super) const PROJECTION: &str = "embedding_dim";

/// The members of the full model about other kinds of input.
const TOWERS: &[&str] = &["vision_config", "audio_config"];

/// Tokens around such input, which are ordinary ones in texts.
const AROUND: &[&str] = &[
    "boi_token_id",
    "eoi_token_id",
    "boa_token_id",
    "eoa_token_id",
    "boi_token_index",
    "eoi_token_index",
    "boa_token_index",
    "eoa_token_index",
];

/// Tokens that stand for such input.
const PLACEHOLDERS: [&str; 3] = ["image_token_id", "audio_token_id", "video_token_id"];

/// Reads the full model.
pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    const NAME: &str = "text_config";
    settings.absent(&["auto_map"])?;
    settings.known(TOWERS);
    settings.known(AROUND);
    let text = settings.object.needed(NAME, settings.object.object(NAME)?)?;
    let mut found = read_inner(&text)?;
    let mut ids = Placeholders::NONE.ids;
    for (id, name) in ids.iter_mut().zip(PLACEHOLDERS) {
        *id = token(settings, name)?.unwrap_or(*id);
    }
    let padding = token(&Settings { object: &text }, "pad_token_id")?.unwrap_or(0);
    if padding as usize >= found.config.vocabulary {
        return Err(text.bad("pad_token_id", "there is no such token"));
    }
    found.config.embedding.placeholders = Placeholders::new(ids, padding);
    Ok(found)
}

/// Reads the text model from the member of the full model's settings that describes it.
fn read_inner<'t>(text: &Object<'t>) -> Read<'t, FamilyModel> {
    let settings = Settings { object: text };
    settings.only("model_type", "only embedding_gemma2_text is honoured", &[TEXT])?;
    settings.reject_unsupported()?;
    settings.known(&["tie_word_embeddings", "bos_token_id", "eos_token_id"]);
    let found = read_text(&settings)?;
    text.finish(irrelevant::CONFIG)?;
    Ok(found)
}

/// A token's id.
fn token<'t>(settings: &Settings<'_, 't>, name: &'static str) -> Read<'t, Option<u32>> {
    let Some(id) = settings.object.integer(name)? else { return Ok(None) };
    let bad = |_| settings.object.bad(name, "a token's id is needed");
    u32::try_from(id).map(Some).map_err(bad)
}

/// Reads the text model.
pub(super) fn read_text<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map", "attn_logit_softcapping", "final_logit_softcapping"])?;
    settings.off(&["attention_bias", "is_decoder"])?;
    let config = settings.sized(&SizeNames::USUAL, Config::LLAMA)?;
    let config = settings.shared_heads(config, UsualHeads::NEEDED)?;
    let only = "only gelu_pytorch_tanh is honoured";
    let usual = Activation::GeluTanh;
    let activation = settings.activation("hidden_activation", usual, OF_GEMMA, only)?;
    let reach = settings.object.needed("sliding_window", settings.optional("sliding_window")?)?;
    let kinds = settings.windows(config.layers, reach)?;
    let window = settings.object.needed("layer_types", kinds)?;
    #[allow(clippy::cast_precision_loss)] // at most 2²⁴
    let scale = root::sqrt_f32(config.hidden as f32);
    let config = Config {
        embedding: Embedding { scale, ..config.embedding },
        attention: Attention {
            mask: Mask::Full,
            window,
            query_key_norm: Some(QueryKeyNorm::Head),
            value_norm: true,
            scale: Some(1.0),
        },
        order: Order::Sandwich,
        norm: NormKind::Rms { one_plus: false },
        epsilon: settings.positive("rms_norm_eps")?.unwrap_or(1e-6),
        feed_forward: FeedForward::Gated(activation),
        per_layer: Some(settings.size(PER_LAYER)?),
        final_projection: Some(settings.size(PROJECTION)?),
        ..config
    };
    let config = Config { global_heads: global_heads(settings, &config)?, ..config };
    let config = Config { rotary: Some(rotary(settings, &config)?), ..config };
    let biases = FamilyBiases::NONE;
    Ok(FamilyModel { family: "", config, names: &NAMES, biases, classifier: None })
}

/// The heads of layers without a window: `per_layer_config` has the same ones for all of these, and
/// names no other layers.
fn global_heads<'t>(settings: &Settings<'_, 't>, config: &Config) -> Read<'t, Option<Heads>> {
    const ONLY: &str = "only the same heads of all layers with full attention are honoured";
    let Some(by_layers) = settings.object.object(BY_LAYERS)? else { return Ok(None) };
    let Heads { size, key_value, .. } = config.heads;
    let usual = UsualHeads { size: Usual::Size(size), key_value: Usual::Size(key_value) };
    let unsupported = || settings.object.unsupported(BY_LAYERS, ONLY);
    let members = || by_layers.value().members();
    let full = (0..config.layers).filter(|layer| !config.has_window(*layer));
    let (mut found, mut left) = (None, members().count());
    for layer in full.take_while(|_| members().next().is_some()) {
        let own = members().find(|(name, _)| name.parse() == Ok(layer));
        let (_, own) = own.ok_or_else(unsupported)?;
        let own = Object::new(own)?;
        let heads = Settings { object: &own }.shared_heads(*config, usual)?.heads;
        own.finish(irrelevant::NONE)?;
        if *found.get_or_insert(heads) != heads {
            return Err(unsupported());
        }
        left = left.saturating_sub(1);
    }
    match left {
        0 => Ok(found.filter(|heads| *heads != config.heads)),
        _ => Err(unsupported()),
    }
}

/// The rotary positions, whose bases differ in layers with a window.
fn rotary<'t>(settings: &Settings<'_, 't>, config: &Config) -> Read<'t, Rotary> {
    let sizes = [false, true].map(|has_window| {
        let heads = *config.heads_of(has_window);
        HeadSizes::new(&Config { heads, ..*config })
    });
    let [global, local] = settings.rotary_by_layers(sizes, Kinds::Encoders)?;
    let [global, local] = [global, local].map(|rotary| rotary.rope(config.positions));
    Ok(Rotary { global, local })
}
