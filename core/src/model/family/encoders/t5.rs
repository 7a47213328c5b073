//! T5's encoder: RMS norms before attention and feed-forward layer, scores that are not scaled, and
//! relative position buckets, of which there is one table, in the first layer. Neither the model nor
//! its settings limit the number of positions.

use super::model::{FamilyBiases, FamilyModel};
use crate::limit::Limit;
use crate::model::config::{Activation, Config, FeedForward, Mask, Relative, RelativeBuckets};
use crate::model::family::settings::{Settings, SizeNames};
use crate::model::family::tensors::{Names, Tensor};
use crate::text::json::Read;

const NAMES: Names = Names {
    layers: "encoder.block.",
    tensors: &[
        (Tensor::Embeddings, "shared"),
        (Tensor::Embeddings, "encoder.embed_tokens"),
        (Tensor::RelativeBias, ".layer.0.SelfAttention.relative_attention_bias"),
        (Tensor::Norm, "encoder.final_layer_norm"),
        (Tensor::AttentionNorm, ".layer.0.layer_norm"),
        (Tensor::Query, ".layer.0.SelfAttention.q"),
        (Tensor::Key, ".layer.0.SelfAttention.k"),
        (Tensor::Value, ".layer.0.SelfAttention.v"),
        (Tensor::AttentionOutput, ".layer.0.SelfAttention.o"),
        (Tensor::FeedForwardNorm, ".layer.1.layer_norm"),
        (Tensor::Up, ".layer.1.DenseReluDense.wi"),
        // Beside a gate.
        (Tensor::Up, ".layer.1.DenseReluDense.wi_1"),
        (Tensor::Gate, ".layer.1.DenseReluDense.wi_0"),
        (Tensor::Down, ".layer.1.DenseReluDense.wo"),
    ],
};

pub(super) const SIZES: SizeNames = SizeNames {
    layers: "num_layers",
    hidden: "d_model",
    heads: "num_heads",
    intermediate: "d_ff",
    positions: None,
};

pub(super) const HEAD: &str = "d_kv";
pub(super) const EPSILON: &str = "layer_norm_epsilon";
pub(super) const BUCKETS: &str = "relative_attention_num_buckets";
pub(super) const DISTANCE: &str = "relative_attention_max_distance";
pub(super) const PROJECTION: &str = "feed_forward_proj";

/// The values of `feed_forward_proj`, their meaning, and the name of the activation, which files may
/// state, too. `gated-gelu` stands for the approximation.
pub(super) const PROJECTIONS: &[(&str, FeedForward, &str)] = &[
    ("relu", FeedForward::Plain(Activation::Relu), "relu"),
    ("gated-gelu", FeedForward::Gated(Activation::GeluTanh), "gelu_new"),
    ("gated-silu", FeedForward::Gated(Activation::Silu), "silu"),
];

/// Settings of training and of the decoder, and a number of positions that the model's code does not
/// use.
const IRRELEVANT: &[&str] =
    &["dropout_rate", "n_positions", "num_decoder_layers", "scale_decoder_outputs"];

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map", "layer_types"])?;
    settings.off(&["is_decoder"])?;
    settings.known(IRRELEVANT);
    let mut config = settings.sized(&SIZES, Config::LLAMA)?;
    config.heads.size = settings.optional(HEAD)?.unwrap_or(64);
    if config.heads.width() > Limit::SIZE.most {
        return Err(settings.object.bad(HEAD, "it does not fit the other sizes"));
    }
    config.attention.mask = Mask::Full;
    config.attention.scale = Some(1.0);
    config.relative = Some(Relative::Buckets(buckets(settings)?));
    config.epsilon = settings.positive(EPSILON)?.unwrap_or(1e-6);
    config.feed_forward = feed_forward(settings)?;
    let biases = FamilyBiases::NONE;
    Ok(FamilyModel { family: "", config, names: &NAMES, biases, classifier: None })
}

fn feed_forward<'t>(settings: &Settings<'_, 't>) -> Read<'t, FeedForward> {
    const IS_GATED: &str = "is_gated_act";
    let said = settings.object.get(PROJECTION);
    let is_said = |name| said.map_or(name == "relu", |said| said.is_text(name));
    let only = "only relu, gated-gelu and gated-silu are honoured";
    let unknown = || settings.object.unsupported(PROJECTION, only);
    let found = PROJECTIONS.iter().find(|(name, ..)| is_said(name));
    let (_, feed_forward, activation) = found.ok_or_else(unknown)?;
    let is_gated = matches!(feed_forward, FeedForward::Gated(_));
    let only = "`feed_forward_proj` says something else";
    settings.only("dense_act_fn", only, &[activation])?;
    match settings.truth(IS_GATED, is_gated)? == is_gated {
        true => Ok(*feed_forward),
        false => Err(settings.object.unsupported(IS_GATED, only)),
    }
}

fn buckets<'t>(settings: &Settings<'_, 't>) -> Read<'t, RelativeBuckets> {
    let buckets = settings.optional(BUCKETS)?.unwrap_or(32);
    let distance = settings.optional(DISTANCE)?.unwrap_or(128);
    let bad = || settings.object.bad(BUCKETS, "no bucket is left for far keys");
    RelativeBuckets::new(buckets, distance).ok_or_else(bad)
}
