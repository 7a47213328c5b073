//! The names of tensors in Hugging Face's checkpoints and in GGUF files.

use super::Biases;
use crate::error::Result;
use crate::model::config::{Config, Order};
use crate::model::family::gguf_names::DECODER;
use crate::model::family::tensors::{Names, Tensor, llama_names, sandwich_names};
use crate::model::weights::Weights;

const HUGGING_FACE: Names = llama_names!(
    "model.",
    [
        (Tensor::Output, "lm_head"),
        (Tensor::Frequencies, "model.rope_freqs"),
        (Tensor::ShortFactors, "model.rope_factors_short"),
        (Tensor::LongFactors, "model.rope_factors_long"),
        (Tensor::QueryKeyValue, ".self_attn.qkv_proj"),
        (Tensor::FeedForwardNorm, ".post_attention_layernorm"),
        (Tensor::GateUp, ".mlp.gate_up_proj"),
    ]
);

/// As [`HUGGING_FACE`], with the norms of attention and feed-forward outputs: Gemma's.
const SANDWICH: Names = sandwich_names!(
    "model.",
    [(Tensor::Output, "lm_head"), (Tensor::Frequencies, "model.rope_freqs")]
);

/// The names that a file uses, determined by the token table.
pub(super) fn detect(weights: &(impl Weights + ?Sized), config: &Config) -> Result<&'static Names> {
    let is_gguf = DECODER.find(weights, (Tensor::Embeddings, ".weight"), 0)?.is_some();
    Ok(if is_gguf { &DECODER } else { hugging_face(config.order) })
}

/// Hugging Face's names in decoders with this order of norms.
#[must_use]
pub const fn hugging_face(order: Order) -> &'static Names {
    if matches!(order, Order::Sandwich) { &SANDWICH } else { &HUGGING_FACE }
}

/// Returns true if `name` is a decoder's tensor, in a file that has no encoder under GGUF's names.
#[must_use]
pub fn is_decoder_tensor(name: &str) -> bool {
    ["model.", "lm_head.", "token_embd.", "output", "blk."].iter().any(|it| name.starts_with(it))
}

/// Returns true if a decoder with these settings uses, or may omit, the tensor `name`, in the names
/// of Hugging Face or GGUF.
#[must_use]
pub fn is_decoder_tensor_of(name: &str, config: &Config, biases: Biases) -> bool {
    // Tables that are computed here.
    let is_table =
        ["rotary_emb.inv_freq", "attn_rot_embd.weight"].iter().any(|it| name.ends_with(it));
    let (inside, gguf) = match (name.strip_prefix("model.layers."), name.strip_prefix("blk.")) {
        (Some(rest), _) => (Some(rest), false),
        (None, rest) => (rest, true),
    };
    let names = if gguf { &DECODER } else { hugging_face(config.order) };
    let Some(inside) = inside else {
        let mut all = [&HUGGING_FACE, &DECODER].into_iter().flat_map(|names| names.tensors);
        return is_table
            || all.any(|(tensor, known)| is_weight(name, known) && tensor.is_in(config));
    };
    let digits = inside.find('.').unwrap_or(inside.len());
    let Some((layer, part)) = inside.split_at_checked(digits) else { return false };
    let is_layer = layer.parse::<usize>().is_ok_and(|layer| layer < config.layers);
    let is_known = |(tensor, known): &(Tensor, &str)| {
        let is_bias = part.strip_suffix(".bias") == Some(known);
        is_weight(part, known) && tensor.is_in(config) || is_bias && biases.has(*tensor)
    };
    is_layer && (is_table || names.tensors.iter().any(is_known))
}

fn is_weight(name: &str, known: &str) -> bool {
    name.strip_suffix(".weight") == Some(known)
}
