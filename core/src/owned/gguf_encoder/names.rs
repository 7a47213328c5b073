//! What GGUF calls the tensors of encoders: the same for all architectures, but for where norms
//! stand.

use crate::format::gguf::Gguf;
use crate::model::{GgufRefusal, Names, Tensor};

/// Those of models with norms behind the residual sums.
pub(super) const POST: Names = Names {
    layers: "blk.",
    tensors: &[
        (Tensor::Embeddings, "token_embd"),
        (Tensor::Positions, "position_embd"),
        (Tensor::TokenTypes, "token_types"),
        (Tensor::EmbeddingNorm, "token_embd_norm"),
        (Tensor::QueryKeyValue, ".attn_qkv"),
        (Tensor::Query, ".attn_q"),
        (Tensor::Key, ".attn_k"),
        (Tensor::Value, ".attn_v"),
        (Tensor::AttentionOutput, ".attn_output"),
        (Tensor::AttentionNorm, ".attn_output_norm"),
        (Tensor::Gate, ".ffn_gate"),
        (Tensor::Up, ".ffn_up"),
        (Tensor::Down, ".ffn_down"),
        (Tensor::FeedForwardNorm, ".layer_output_norm"),
    ],
};

/// Those of models with norms before attention and feed-forward layer.
pub(super) const PRE: Names = Names {
    layers: "blk.",
    tensors: &[
        (Tensor::Embeddings, "token_embd"),
        (Tensor::EmbeddingNorm, "token_embd_norm"),
        (Tensor::Norm, "output_norm"),
        (Tensor::AttentionNorm, ".attn_norm"),
        (Tensor::QueryKeyValue, ".attn_qkv"),
        (Tensor::Query, ".attn_q"),
        (Tensor::Key, ".attn_k"),
        (Tensor::Value, ".attn_v"),
        (Tensor::QueryNorm, ".attn_q_norm"),
        (Tensor::KeyNorm, ".attn_k_norm"),
        (Tensor::AttentionOutput, ".attn_output"),
        (Tensor::AttentionEndNorm, ".post_attention_norm"),
        (Tensor::FeedForwardNorm, ".ffn_norm"),
        (Tensor::Gate, ".ffn_gate"),
        (Tensor::Up, ".ffn_up"),
        (Tensor::Down, ".ffn_down"),
        (Tensor::FeedForwardEndNorm, ".post_ffw_norm"),
    ],
};

/// Tensors that are used by other names, or by models that continue texts alone.
const OTHERS: [&str; 3] = ["dense_2.weight", "dense_3.weight", "output.weight"];

/// Refuses tensors that a model of so many layers would not use: with them another one is meant.
pub(super) fn check<'a>(
    file: &Gguf<'a>,
    names: &Names,
    layers: usize,
) -> Result<(), GgufRefusal<'a>> {
    let is_known = |name: &str| {
        let part = name.strip_suffix(".weight").or_else(|| name.strip_suffix(".bias"));
        let Some(part) = part else { return false };
        let known = |part: &str| names.tensors.iter().any(|(_, known)| *known == part);
        match part.strip_prefix(names.layers) {
            Some(rest) => {
                let (number, _) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
                let is_in = number.parse::<usize>().is_ok_and(|number| number < layers);
                is_in && known(rest.trim_start_matches(|c: char| c.is_ascii_digit()))
            }
            None => known(part) || OTHERS.contains(&name),
        }
    };
    match file.tensors().find(|tensor| !is_known(tensor.header().name)) {
        Some(tensor) => {
            let header = tensor.header();
            let reason = "no model that is known here uses such a tensor";
            Err(GgufRefusal::at(header.name, header.offset, reason))
        }
        None => Ok(()),
    }
}
