//! ModernBERT, with settings as spelled by the hub and by transformers 5.

use super::model::{ClassifierModel, FamilyBiases, FamilyModel};
use crate::model::config::{
    Activation, Attention, Config, Embedding, FeedForward, Order, Rotary, Window,
};
use crate::model::family::settings::{
    Activations, HeadSizes, Kinds, RotaryRules, Settings, SizeNames, rotary_alone,
};
use crate::model::family::tensors::{Names, Tensor};
use crate::model::head::dense::DenseActivation;
use crate::model::head::pooling::PoolingMode;
use crate::text::json::Read;

const NAMES: Names = Names {
    layers: "layers.",
    tensors: &[
        (Tensor::Embeddings, "embeddings.tok_embeddings"),
        (Tensor::EmbeddingNorm, "embeddings.norm"),
        (Tensor::Norm, "final_norm"),
        (Tensor::AttentionNorm, ".attn_norm"),
        (Tensor::QueryKeyValue, ".attn.Wqkv"),
        (Tensor::AttentionOutput, ".attn.Wo"),
        (Tensor::FeedForwardNorm, ".mlp_norm"),
        (Tensor::GateUp, ".mlp.Wi"),
        (Tensor::Down, ".mlp.Wo"),
    ],
};

const ACTIVATIONS: Activations = &[
    ("gelu", Activation::Gelu),
    ("gelu_python", Activation::Gelu),
    ("gelu_new", Activation::GeluTanh),
    ("gelu_fast", Activation::GeluTanh),
    ("gelu_pytorch_tanh", Activation::GeluTanh),
    ("relu", Activation::Relu),
    ("silu", Activation::Silu),
    ("swish", Activation::Silu),
];

const ONLY_GELU: Activations = &[("gelu", Activation::Gelu)];

/// Settings of training, of the head for masked words, and of execution.
const IRRELEVANT: &[&str] = &[
    "decoder_bias",
    "deterministic_flash_attn",
    "initializer_cutoff_factor",
    // Files have it in addition to `norm_eps`, which is the one that counts.
    "layer_norm_eps",
    "mlp_dropout",
    "reference_compile",
    "repad_logits_with_grad",
    "sparse_pred_ignore_index",
    "sparse_prediction",
];

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map"])?;
    settings.off(&["is_decoder"])?;
    // Files of older versions contain "absolute" although positions are rotary.
    settings.only("position_embedding_type", "only absolute is honoured", &["absolute"])?;
    settings.known(IRRELEVANT);
    let sized = settings.sized(&SizeNames::USUAL, Config::BERT)?;
    settings.even_heads(&SizeNames::USUAL, &sized)?;
    let only = "only gelu, gelu_new, relu and silu are honoured";
    let usual = Activation::Gelu;
    let activation = settings.activation("hidden_activation", usual, ACTIVATIONS, only)?;
    let config = Config {
        embedding: Embedding { positions: None, token_types: false, ..sized.embedding },
        rotary: Some(rotary(settings, &sized)?),
        attention: Attention { window: window(settings, &sized)?, ..sized.attention },
        order: Order::Pre,
        epsilon: settings.positive("norm_eps")?.unwrap_or(1e-5),
        feed_forward: FeedForward::Gated(activation),
        first_norm: false,
        final_norm: true,
        ..sized
    };
    let attention = settings.truth("attention_bias", false)?;
    let feed_forward = settings.truth("mlp_bias", false)?;
    Ok(FamilyModel {
        family: "",
        config,
        names: &NAMES,
        biases: FamilyBiases {
            attention,
            output: attention,
            up: feed_forward,
            down: feed_forward,
            norms: settings.truth("norm_bias", false)?,
        },
        classifier: classifier(settings)?,
    })
}

/// Periodic layers, starting with the first, have no window; in the others it extends by half of
/// `local_attention` to each side.
fn window<'t>(settings: &Settings<'_, 't>, config: &Config) -> Read<'t, Option<Window>> {
    let reach = settings.optional("local_attention")?.unwrap_or(128) / 2;
    let every = settings.optional("global_attn_every_n_layers")?.unwrap_or(3);
    let usual = Some(Window::all_but(reach, every, 0));
    Ok(settings.windows(config.layers, reach)?.unwrap_or(usual))
}

fn rotary<'t>(settings: &Settings<'_, 't>, config: &Config) -> Read<'t, Rotary> {
    let sizes = HeadSizes::new(config);
    settings.even_head(sizes)?;
    let global = settings.positive("global_rope_theta")?.unwrap_or(160_000.0);
    // Null stands for the base of the other layers; a missing member has a different default.
    let has_local = settings.object.value().member("local_rope_theta").is_some();
    let usual = if has_local { global } else { 10_000.0 };
    let local = settings.positive("local_rope_theta")?.unwrap_or(usual);
    let Some(said) = settings.rope_object()? else {
        return Ok(Rotary { global: sizes.rope(global), local: sizes.rope(local) });
    };
    let of = |name, base| match said.object(name)? {
        Some(said) => {
            let rules = RotaryRules { base, kinds: Kinds::Encoders };
            Ok(rotary_alone(&said, sizes, rules)?.rope(sizes.positions))
        }
        None => Ok(sizes.rope(base)),
    };
    let rotary =
        Rotary { global: of("full_attention", global)?, local: of("sliding_attention", local)? };
    said.finish(&[])?;
    Ok(rotary)
}

/// The classification head.
fn classifier<'t>(settings: &Settings<'_, 't>) -> Read<'t, Option<ClassifierModel>> {
    if !settings.classifies()? {
        settings.known(&["classifier_activation", "classifier_bias", "classifier_pooling"]);
        return Ok(None);
    }
    settings.off(&["classifier_bias"])?;
    let only = "only gelu is honoured";
    settings.activation("classifier_activation", Activation::Gelu, ONLY_GELU, only)?;
    let pooling = match settings.object.get("classifier_pooling") {
        None => PoolingMode::First,
        Some(name) if name.is_text("cls") => PoolingMode::First,
        Some(name) if name.is_text("mean") => PoolingMode::Mean,
        Some(_) => {
            let only = "only cls and mean are honoured";
            return Err(settings.object.unsupported("classifier_pooling", only));
        }
    };
    Ok(Some(ClassifierModel {
        pooling,
        hidden: Some("head.dense"),
        // `classifier_bias` refers to this layer.
        hidden_bias: false,
        activation: DenseActivation::Gelu,
        norm: Some("head.norm"),
        norm_bias: settings.truth("norm_bias", false)?,
        ..ClassifierModel::BERT
    }))
}
