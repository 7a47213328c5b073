//! The names of tensors in GGUF files, as in llama.cpp: one per role, except for norms, whose names
//! express their position in a layer, and for T5, whose encoder has names of its own.

use super::tensors::{Names, Tensor};
use crate::model::config::{Config, Order};

/// The names that all models have, and those that only some have.
macro_rules! gguf_names {
    ($($further:expr),* $(,)?) => {
        Names {
            layers: "blk.",
            tensors: &[
                (Tensor::Embeddings, "token_embd"),
                (Tensor::EmbeddingNorm, "token_embd_norm"),
                (Tensor::Query, ".attn_q"),
                (Tensor::Key, ".attn_k"),
                (Tensor::Value, ".attn_v"),
                (Tensor::QueryKeyValue, ".attn_qkv"),
                (Tensor::AttentionOutput, ".attn_output"),
                (Tensor::Gate, ".ffn_gate"),
                (Tensor::Up, ".ffn_up"),
                (Tensor::Down, ".ffn_down"),
                $($further,)*
            ],
        }
    };
}

/// The names with norms before attention and feed-forward layer.
macro_rules! pre_names {
    ($($further:expr),* $(,)?) => {
        gguf_names!(
            (Tensor::Norm, "output_norm"),
            (Tensor::AttentionNorm, ".attn_norm"),
            (Tensor::QueryNorm, ".attn_q_norm"),
            (Tensor::KeyNorm, ".attn_k_norm"),
            (Tensor::AttentionEndNorm, ".post_attention_norm"),
            (Tensor::FeedForwardNorm, ".ffn_norm"),
            (Tensor::FeedForwardEndNorm, ".post_ffw_norm"),
            $($further,)*
        )
    };
}

/// The names in encoders with norms after the residual sums.
pub const POST: Names = gguf_names!(
    (Tensor::Positions, "position_embd"),
    (Tensor::TokenTypes, "token_types"),
    (Tensor::QueryNorm, ".attn_q_norm"),
    (Tensor::KeyNorm, ".attn_k_norm"),
    (Tensor::AttentionNorm, ".attn_output_norm"),
    (Tensor::AttentionEndNorm, ".attn_norm_2"),
    (Tensor::FeedForwardNorm, ".layer_output_norm"),
    (Tensor::Router, ".ffn_gate_inp"),
    (Tensor::ExpertsUp, ".ffn_up_exps"),
    (Tensor::ExpertsDown, ".ffn_down_exps"),
);

/// The names in encoders with norms before attention and feed-forward layer.
pub const PRE: Names = pre_names!();

/// The names in encoders whose layers have a further input.
pub const PER_LAYER: Names = pre_names!(
    (Tensor::PerLayerInput, "per_layer_model_proj"),
    (Tensor::PerLayerInputNorm, "per_layer_proj_norm"),
    (Tensor::PerLayerGate, ".inp_gate"),
    (Tensor::PerLayerProjection, ".proj"),
    (Tensor::PerLayerNorm, ".post_norm"),
    (Tensor::LayerScale, ".layer_output_scale"),
    (Tensor::FinalProjection, "output"),
);

/// The names in T5's encoder.
pub const T5: Names = Names {
    layers: "enc.blk.",
    tensors: &[
        (Tensor::Embeddings, "token_embd"),
        (Tensor::RelativeBias, ".attn_rel_b"),
        (Tensor::Norm, "enc.output_norm"),
        (Tensor::AttentionNorm, ".attn_norm"),
        (Tensor::Query, ".attn_q"),
        (Tensor::Key, ".attn_k"),
        (Tensor::Value, ".attn_v"),
        (Tensor::AttentionOutput, ".attn_o"),
        (Tensor::FeedForwardNorm, ".ffn_norm"),
        (Tensor::Gate, ".ffn_gate"),
        (Tensor::Up, ".ffn_up"),
        (Tensor::Down, ".ffn_down"),
    ],
};

/// The names in an encoder with these settings.
#[must_use]
pub const fn encoder(config: &Config) -> &'static Names {
    match config.order {
        Order::Post | Order::PostTwice => &POST,
        _ if config.per_layer.is_some() => &PER_LAYER,
        Order::Pre if config.relative.is_some() => &T5,
        Order::Pre | Order::Sandwich => &PRE,
    }
}

/// The names in decoders.
pub const DECODER: Names = pre_names!(
    (Tensor::Output, "output"),
    (Tensor::Frequencies, "rope_freqs"),
    (Tensor::ShortFactors, "rope_factors_short"),
    (Tensor::LongFactors, "rope_factors_long"),
    (Tensor::GateUp, ".ffn_gate_up"),
);
