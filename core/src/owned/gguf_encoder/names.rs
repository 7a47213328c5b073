//! What GGUF calls the tensors of encoders: the same for all architectures, but for where norms
//! stand.

use crate::describe::gguf::GgufRefusal;
use crate::format::gguf::Gguf;
use crate::model::{Config, Names, Tensor};

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

/// Refuses tensors that a model of these settings would not use: with them another one is meant.
pub(super) fn check<'a>(
    file: &Gguf<'a>,
    names: &Names,
    config: &Config,
) -> Result<(), GgufRefusal<'a>> {
    match file.tensors().find(|tensor| !is_used(file, names, config, tensor.header().name)) {
        Some(tensor) => {
            let header = tensor.header();
            Err(GgufRefusal::of_tensor(header.name, header.offset))
        }
        None => Ok(()),
    }
}

fn is_used(file: &Gguf<'_>, names: &Names, config: &Config, name: &str) -> bool {
    let (part, is_bias) = match (name.strip_suffix(".weight"), name.strip_suffix(".bias")) {
        (Some(part), _) => (part, false),
        (None, Some(part)) => (part, true),
        (None, None) => return false,
    };
    let (layer, part) = match part.strip_prefix(names.layers) {
        Some(rest) => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        None => ("", part),
    };
    let is_of_layer = !layer.is_empty();
    if is_of_layer && !layer.parse::<usize>().is_ok_and(|layer| layer < config.layers) {
        return false;
    }
    let Some((tensor, _)) = names.tensors.iter().find(|(_, known)| *known == part) else {
        return OTHERS.contains(&name);
    };
    let is_fused = || {
        let fused = [names.layers, layer, ".attn_qkv.weight"].concat();
        file.tensor(&fused).is_some()
    };
    let is_lost = match tensor {
        Tensor::Embeddings | Tensor::Positions | Tensor::TokenTypes => is_bias,
        Tensor::Query | Tensor::Key | Tensor::Value => is_fused(),
        _ => false,
    };
    part.starts_with('.') == is_of_layer && tensor.is_in(config) && !is_lost
}
