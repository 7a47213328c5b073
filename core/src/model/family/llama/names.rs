//! What the tensors are called: by Hugging Face, or in GGUF files.

use crate::error::Result;
use crate::model::weights::{Matrix, Name, Weights};

/// A tensor of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum Tensor {
    Embeddings,
    Norm,
    Output,
    Frequencies,
    ShortFactors,
    LongFactors,
    AttentionNorm,
    Query,
    QueryBias,
    Key,
    KeyBias,
    Value,
    ValueBias,
    QueryKeyValue,
    AttentionOutput,
    FeedForwardNorm,
    Gate,
    Up,
    GateUp,
    Down,
}

impl Tensor {
    const ALL: [Self; 20] = [
        Self::Embeddings,
        Self::Norm,
        Self::Output,
        Self::Frequencies,
        Self::ShortFactors,
        Self::LongFactors,
        Self::AttentionNorm,
        Self::Query,
        Self::QueryBias,
        Self::Key,
        Self::KeyBias,
        Self::Value,
        Self::ValueBias,
        Self::QueryKeyValue,
        Self::AttentionOutput,
        Self::FeedForwardNorm,
        Self::Gate,
        Self::Up,
        Self::GateUp,
        Self::Down,
    ];

    /// The bias that a linear layer may have.
    pub(in crate::model) const fn bias(self) -> Option<Self> {
        match self {
            Self::Query => Some(Self::QueryBias),
            Self::Key => Some(Self::KeyBias),
            Self::Value => Some(Self::ValueBias),
            _ => None,
        }
    }

    /// The names of Hugging Face and of GGUF; those that begin with a point belong to a layer.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Embeddings => ("model.embed_tokens.weight", "token_embd.weight"),
            Self::Norm => ("model.norm.weight", "output_norm.weight"),
            Self::Output => ("lm_head.weight", "output.weight"),
            Self::Frequencies => ("model.rope_freqs.weight", "rope_freqs.weight"),
            Self::ShortFactors => ("model.rope_factors_short.weight", "rope_factors_short.weight"),
            Self::LongFactors => ("model.rope_factors_long.weight", "rope_factors_long.weight"),
            Self::AttentionNorm => (".input_layernorm.weight", ".attn_norm.weight"),
            Self::Query => (".self_attn.q_proj.weight", ".attn_q.weight"),
            Self::QueryBias => (".self_attn.q_proj.bias", ".attn_q.bias"),
            Self::Key => (".self_attn.k_proj.weight", ".attn_k.weight"),
            Self::KeyBias => (".self_attn.k_proj.bias", ".attn_k.bias"),
            Self::Value => (".self_attn.v_proj.weight", ".attn_v.weight"),
            Self::ValueBias => (".self_attn.v_proj.bias", ".attn_v.bias"),
            Self::QueryKeyValue => (".self_attn.qkv_proj.weight", ".attn_qkv.weight"),
            Self::AttentionOutput => (".self_attn.o_proj.weight", ".attn_output.weight"),
            Self::FeedForwardNorm => (".post_attention_layernorm.weight", ".ffn_norm.weight"),
            Self::Gate => (".mlp.gate_proj.weight", ".ffn_gate.weight"),
            Self::Up => (".mlp.up_proj.weight", ".ffn_up.weight"),
            Self::GateUp => (".mlp.gate_up_proj.weight", ".ffn_gate_up.weight"),
            Self::Down => (".mlp.down_proj.weight", ".ffn_down.weight"),
        }
    }
}

/// Whether a tensor that is called so is one of a decoder's, of a file that has no encoder under
/// GGUF's names.
#[must_use]
pub fn is_decoder_tensor(name: &str) -> bool {
    ["model.", "lm_head.", "token_embd.", "output", "blk."].iter().any(|it| name.starts_with(it))
}

/// Whether a decoder of so many layers uses a tensor that is called so, by Hugging Face or in GGUF,
/// or may do without it.
#[must_use]
pub fn is_decoder_tensor_of(name: &str, layers: usize) -> bool {
    // Tables that are computed here.
    let is_table =
        ["rotary_emb.inv_freq", "attn_rot_embd.weight"].iter().any(|it| name.ends_with(it));
    let (inside, gguf) = match (name.strip_prefix("model.layers."), name.strip_prefix("blk.")) {
        (Some(rest), _) => (Some(rest), false),
        (None, rest) => (rest, true),
    };
    let Some(inside) = inside else {
        let mut all = Tensor::ALL.iter().map(|tensor| tensor.names());
        return is_table || all.any(|(theirs, ggml)| name == theirs || name == ggml);
    };
    let digits = inside.find('.').unwrap_or(inside.len());
    let Some((layer, part)) = inside.split_at_checked(digits) else { return false };
    let is_layer = layer.parse::<usize>().is_ok_and(|layer| layer < layers);
    let names = |tensor: &Tensor| if gguf { tensor.names().1 } else { tensor.names().0 };
    is_layer && (is_table || Tensor::ALL.iter().any(|tensor| names(tensor) == part))
}

/// Whose names a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum Names {
    HuggingFace,
    Gguf,
}

impl Names {
    /// Told by the name of the embeddings.
    pub(in crate::model) fn detect(weights: &(impl Weights + ?Sized)) -> Result<Self> {
        let (_, gguf) = Tensor::Embeddings.names();
        Ok(if weights.matrix(gguf)?.is_some() { Self::Gguf } else { Self::HuggingFace })
    }

    /// Where a tensor lies, if it is there.
    pub(in crate::model) fn find(
        self,
        weights: &(impl Weights + ?Sized),
        tensor: Tensor,
        layer: usize,
    ) -> Result<Option<Matrix>> {
        let (name, before) = match self {
            Self::HuggingFace => (tensor.names().0, "model.layers."),
            Self::Gguf => (tensor.names().1, "blk."),
        };
        if !name.starts_with('.') {
            return weights.matrix(name);
        }
        let mut whole = Name::new(before);
        whole.push_number(layer);
        whole.push(name);
        weights.matrix(whole.as_str())
    }
}
