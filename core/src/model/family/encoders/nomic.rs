//! NomicBERT, with settings as written by transformers and by the hub's own code, which uses
//! GPT-2's names: BERT with rotary positions and gates.

use super::model::{FamilyBiases, FamilyModel};
use crate::model::config::{Activation, Config, Embedding, FeedForward, Rope, Rotary};
use crate::model::family::settings::{
    Activations, HeadSizes, Kinds, Settings, SizeNames, UsualHeads,
};
use crate::model::family::tensors::{Names, Tensor};
use crate::text::json::{Read, Value};

const NAMES: Names = Names {
    layers: "encoder.layers.",
    tensors: &[
        (Tensor::Embeddings, "embeddings.word_embeddings"),
        (Tensor::TokenTypes, "embeddings.token_type_embeddings"),
        (Tensor::EmbeddingNorm, "emb_ln"),
        (Tensor::QueryKeyValue, ".attn.Wqkv"),
        (Tensor::AttentionOutput, ".attn.out_proj"),
        (Tensor::AttentionNorm, ".norm1"),
        (Tensor::Up, ".mlp.fc11"),
        (Tensor::Gate, ".mlp.fc12"),
        (Tensor::Down, ".mlp.fc2"),
        (Tensor::FeedForwardNorm, ".norm2"),
    ],
};

const HUB: SizeNames = SizeNames {
    layers: "n_layer",
    hidden: "n_embd",
    heads: "n_head",
    intermediate: "n_inner",
    positions: Some("n_positions"),
};

const GATES: Activations = &[("swiglu", Activation::Silu), ("geglu", Activation::Gelu)];
const OF_GATES: Activations =
    &[("silu", Activation::Silu), ("swish", Activation::Silu), ("gelu", Activation::Gelu)];

/// Settings of execution in the hub's code, and of training.
const IRRELEVANT: &[&str] = &[
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
    Ok(FamilyModel { family: "", config, names: &NAMES, biases, classifier: None })
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
    Ok((with(sized, rope, activation, epsilon), NO_LINEAR))
}

fn hub<'t>(settings: &Settings<'_, 't>) -> Read<'t, (Config, FamilyBiases)> {
    settings.known(IRRELEVANT);
    reject_hub_options(settings)?;
    let sized = settings.sized(&HUB, Config::BERT)?;
    settings.even_heads(&HUB, &sized)?;
    let only = "only swiglu and geglu are honoured";
    let activation = settings.activation("activation_function", Activation::Silu, GATES, only)?;
    let sizes = HeadSizes::new(&sized);
    settings.even_head(sizes)?;
    let rope = sizes.rope(settings.positive("rotary_emb_base")?.unwrap_or(10_000.0));
    let epsilon = settings.positive("layer_norm_epsilon")?.unwrap_or(1e-5);
    let mut config = with(sized, rope, activation, epsilon);
    // Scaling changes nothing up to the positions that the model was trained on.
    let trained = settings.optional("max_trained_positions")?;
    if settings.positive("rotary_scaling_factor")?.is_some() {
        config.positions = config.positions.min(trained.unwrap_or(usize::MAX));
    }
    let biases = FamilyBiases {
        attention: settings.truth("qkv_proj_bias", true)?,
        up: settings.truth("mlp_fc1_bias", true)?,
        down: settings.truth("mlp_fc2_bias", true)?,
        ..NO_LINEAR
    };
    Ok((config, biases))
}

fn with(config: Config, rope: Rope, activation: Activation, epsilon: f32) -> Config {
    let rotary = Some(Rotary { global: rope, local: rope });
    Config { rotary, epsilon, feed_forward: FeedForward::Gated(activation), ..config }
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
        "ffn_div",
    ])?;
    settings.absent(&["rotary_emb_scale_base"])?;
    let one = |value: Value<'t>| value.as_f64() == Some(1.0);
    object.neutral("rotary_emb_fraction", "only whole heads (1) are turned", one)?;
    let yes = |value: Value<'t>| value.as_bool() == Some(true);
    object.neutral("scale_attn_weights", "only true is honoured", yes)?;
    let none = |value: Value<'t>| value.as_f64() == Some(0.0);
    for name in ["num_experts", "moe_every_n_layers"] {
        object.neutral(name, "experts are not honoured", none)?;
    }
    Ok(())
}
