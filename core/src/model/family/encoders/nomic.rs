//! NomicBERT, with settings as written by transformers and by the hub's own code, which uses
//! GPT-2's names: BERT with rotary positions, and gates or, in the second of every few layers, a
//! mixture of experts.

use super::model::{FamilyBiases, FamilyModel};
use crate::limit::Limit;
use crate::model::config::{Activation, Config, Embedding, FeedForward, Mixture, Rope, Rotary};
use crate::model::family::settings::{
    Activations, HeadSizes, Kinds, Settings, SizeNames, UsualHeads,
};
use crate::model::family::tensors::{Names, Tensor};
use crate::text::json::{Read, Value};

macro_rules! names {
    ($($further:expr),* $(,)?) => {
        Names {
            layers: "encoder.layers.",
            tensors: &[
                (Tensor::Embeddings, "embeddings.word_embeddings"),
                (Tensor::TokenTypes, "embeddings.token_type_embeddings"),
                (Tensor::EmbeddingNorm, "emb_ln"),
                (Tensor::QueryKeyValue, ".attn.Wqkv"),
                (Tensor::AttentionOutput, ".attn.out_proj"),
                (Tensor::AttentionNorm, ".norm1"),
                (Tensor::Down, ".mlp.fc2"),
                (Tensor::FeedForwardNorm, ".norm2"),
                $($further,)*
            ],
        }
    };
}

const NAMES: Names = names!((Tensor::Up, ".mlp.fc11"), (Tensor::Gate, ".mlp.fc12"));

const NAMES_WITHOUT_GATES: Names = names!(
    (Tensor::Up, ".mlp.fc1"),
    (Tensor::Router, ".mlp.router.layer"),
    (Tensor::ExpertsUp, ".mlp.experts.mlp.w1"),
    // This project's own name, in converted files.
    (Tensor::ExpertsDown, ".mlp.experts.mlp.w2_transposed"),
    (Tensor::ExpertsDownTransposed, ".mlp.experts.mlp.w2"),
    (Tensor::ExpertsBias, ".mlp.experts"),
);

pub(super) const HUB: SizeNames = SizeNames {
    layers: "n_layer",
    hidden: "n_embd",
    heads: "n_head",
    intermediate: "n_inner",
    positions: Some("n_positions"),
};

const GATES: Activations = &[("swiglu", Activation::Silu), ("geglu", Activation::Gelu)];
pub(super) const ACTIVATION: &str = "activation_function";
/// The activation of layers without gates.
pub(super) const WITHOUT_GATE: &str = "gelu";
pub(super) const EPSILON: &str = "layer_norm_epsilon";
pub(super) const BASE: &str = "rotary_emb_base";
pub(super) const EXPERTS: &str = "num_experts";
pub(super) const EXPERTS_USED: &str = "moe_top_k";
pub(super) const EXPERTS_EVERY: &str = "moe_every_n_layers";
/// Biases of the attention, and of the layers of the feed-forward part.
pub(super) const BIASES: [&str; 3] = ["qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"];
const OF_GATES: Activations =
    &[("silu", Activation::Silu), ("swish", Activation::Silu), ("gelu", Activation::Gelu)];

/// Settings of execution in the hub's code, of training, and of a pooler that embeddings do without.
const IRRELEVANT: &[&str] = &[
    "add_pooling_layer",
    "auto_map",
    "dense_seq_output",
    "fused_bias_fc",
    "fused_dropout_add_ln",
    "pad_vocab_size_multiple",
    "pad_vocab_to_multiple_of",
    "reorder_and_upcast_attn",
    "use_flash_attn",
    "use_xentropy",
    "last_layer_subset",
    "mlp_checkpoint_lvl",
    "moe_impl",
    "moe_resid_pdrop",
    "router_aux_loss_coef",
];

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["layer_types"])?;
    settings.off(&["is_decoder"])?;
    let is_hub = settings.object.get("n_embd").is_some();
    let (config, biases) = if is_hub { hub(settings)? } else { native(settings)? };
    let types = settings.object.integer("type_vocab_size")?.unwrap_or(2);
    let config = Config {
        embedding: Embedding { positions: None, token_types: types > 0, ..config.embedding },
        ..config
    };
    let names = match config.feed_forward {
        FeedForward::Gated(_) => &NAMES,
        FeedForward::Plain(_) | FeedForward::Mixed(_) => &NAMES_WITHOUT_GATES,
    };
    Ok(FamilyModel { family: "", config, names, biases, classifier: None })
}

const NO_LINEAR: FamilyBiases = FamilyBiases { norms: true, ..FamilyBiases::NONE };

fn native<'t>(settings: &Settings<'_, 't>) -> Read<'t, (Config, FamilyBiases)> {
    settings.known(&["auto_map"]);
    let sized = settings.sized(&SizeNames::USUAL, Config::BERT)?;
    let sized = settings.shared_heads(sized, UsualHeads::EVEN)?;
    settings.even_heads(&SizeNames::USUAL, &sized)?;
    let only = "only silu and gelu are honoured";
    let activation = settings.activation("hidden_act", Activation::Silu, OF_GATES, only)?;
    let rope = settings.rope(HeadSizes::new(&sized), 1000.0, Kinds::Encoders)?;
    let epsilon = settings.positive("layer_norm_eps")?.unwrap_or(1e-12);
    Ok((with(sized, rope, FeedForward::Gated(activation), epsilon), NO_LINEAR))
}

fn hub<'t>(settings: &Settings<'_, 't>) -> Read<'t, (Config, FamilyBiases)> {
    settings.known(IRRELEVANT);
    reject_hub_options(settings)?;
    let sized = settings.sized(&HUB, Config::BERT)?;
    settings.even_heads(&HUB, &sized)?;
    let feed_forward = feed_forward(settings)?;
    let sizes = HeadSizes::new(&sized);
    settings.even_head(sizes)?;
    let rope = sizes.rope(settings.positive(BASE)?.unwrap_or(10_000.0));
    let epsilon = settings.positive(EPSILON)?.unwrap_or(1e-5);
    let mut config = with(sized, rope, feed_forward, epsilon);
    // Scaling changes nothing up to the positions that the model was trained on.
    let trained = settings.optional("max_trained_positions")?;
    if settings.positive("rotary_scaling_factor")?.is_some() {
        config.positions = config.positions.min(trained.unwrap_or(usize::MAX));
    }
    let [attention, up, down] = BIASES.map(|name| settings.truth(name, true));
    let (attention, up, down) = (attention?, up?, down?);
    let biases = FamilyBiases { attention, output: attention, up, down, ..NO_LINEAR };
    Ok((config, biases))
}

fn with(config: Config, rope: Rope, feed_forward: FeedForward, epsilon: f32) -> Config {
    let rotary = Some(Rotary { global: rope, local: rope });
    Config { rotary, epsilon, feed_forward, ..config }
}

/// The feed-forward layer: gates, or plain layers, some with experts.
fn feed_forward<'t>(settings: &Settings<'_, 't>) -> Read<'t, FeedForward> {
    let object = settings.object;
    let activation = Activation::Gelu;
    let is_plain = object.get(ACTIVATION).is_some_and(|it| it.is_text(WITHOUT_GATE));
    let every = object.integer(EXPERTS_EVERY)?.unwrap_or(0);
    // With a shorter period no layer has experts.
    if every < 2 {
        settings.known(&[EXPERTS, EXPERTS_USED]);
        if is_plain {
            return Ok(FeedForward::Plain(activation));
        }
        let only = "only swiglu, geglu and gelu are honoured";
        return Ok(FeedForward::Gated(settings.activation(
            ACTIVATION,
            Activation::Silu,
            GATES,
            only,
        )?));
    }
    if !is_plain {
        return Err(object.unsupported(ACTIVATION, "only gelu is honoured with experts"));
    }
    let (experts, used) = (settings.size(EXPERTS)?, settings.size(EXPERTS_USED)?);
    if used > experts {
        return Err(object.bad(EXPERTS_USED, "there are not as many experts"));
    }
    let every = settings.limited(EXPERTS_EVERY, Limit::LAYERS)?.unwrap_or(0);
    Ok(FeedForward::Mixed(Mixture { activation, experts, used, every }))
}

fn reject_hub_options<'t>(settings: &Settings<'_, 't>) -> Read<'t, ()> {
    let object = settings.object;
    settings.off(&[
        "causal",
        "parallel_block",
        "parallel_block_tied_norm",
        "prenorm",
        "rotary_emb_interleaved",
        "scale_attn_by_inverse_layer_idx",
        "use_rms_norm",
        "expert_choice_router",
        "moe_normalize_expert_weights",
    ])?;
    settings.numbers(1.0, "only 1 is honoured", &["ffn_div"])?;
    settings.absent(&["rotary_emb_scale_base"])?;
    let one = |value: Value<'t>| value.as_f64() == Some(1.0);
    object.neutral("rotary_emb_fraction", "only whole heads (1) are turned", one)?;
    let yes = |value: Value<'t>| value.as_bool() == Some(true);
    object.neutral("scale_attn_weights", "only true is honoured", yes)?;
    let none = |value: Value<'t>| value.as_f64() == Some(0.0);
    object.neutral("num_shared_experts", "shared experts are not honoured", none)
}
