//! GTE, as stored by transformers and by the hub's "new-impl": BERT with rotary positions and
//! gates.

use super::model::{ClassifierModel, FamilyBiases, FamilyModel};
use crate::model::config::{Activation, Config, Embedding, FeedForward, Rotary};
use crate::model::family::settings::{HeadSizes, Kinds, OF_BERT, Settings, SizeNames};
use crate::model::family::tensors::{Names, Tensor};
use crate::text::json::Read;

const NAMES: Names = Names {
    layers: "encoder.layer.",
    tensors: &[
        (Tensor::Embeddings, "embeddings.word_embeddings"),
        (Tensor::TokenTypes, "embeddings.token_type_embeddings"),
        (Tensor::EmbeddingNorm, "embeddings.LayerNorm"),
        (Tensor::QueryKeyValue, ".attention.qkv_proj"),
        (Tensor::Query, ".attention.q_proj"),
        (Tensor::Key, ".attention.k_proj"),
        (Tensor::Value, ".attention.v_proj"),
        (Tensor::AttentionOutput, ".attention.o_proj"),
        (Tensor::AttentionNorm, ".attn_ln"),
        (Tensor::UpGate, ".mlp.up_gate_proj"),
        (Tensor::Down, ".mlp.down_proj"),
        (Tensor::FeedForwardNorm, ".mlp_ln"),
    ],
};

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["layer_types"])?;
    // The code that the hub's files name is implemented here; its execution options do not affect
    // results.
    settings.known(&["auto_map", "pack_qkv", "unpad_inputs", "use_memory_efficient_attention"]);
    settings.off(&["is_decoder", "logn_attention_scale", "logn_attention_clip1"])?;
    settings.only("position_embedding_type", "only rope is honoured", &["rope"])?;
    settings.only("layer_norm_type", "only layer_norm is honoured", &["layer_norm"])?;
    let sized = settings.sized(&SizeNames::USUAL, Config::BERT)?;
    settings.even_heads(&SizeNames::USUAL, &sized)?;
    let only = "only gelu, gelu_new and relu are honoured";
    let activation = settings.activation("hidden_act", Activation::Gelu, OF_BERT, only)?;
    let types = settings.object.integer("type_vocab_size")?.unwrap_or(1);
    let rope = settings.rope(HeadSizes::new(&sized), 160_000.0, Kinds::Gte)?;
    let config = Config {
        embedding: Embedding { positions: None, token_types: types > 0, ..sized.embedding },
        rotary: Some(Rotary { global: rope, local: rope }),
        epsilon: settings.positive("layer_norm_eps")?.unwrap_or(1e-12),
        feed_forward: FeedForward::Gated(activation),
        ..sized
    };
    Ok(FamilyModel {
        family: "",
        config,
        names: &NAMES,
        biases: FamilyBiases { up: false, ..FamilyBiases::ALL },
        classifier: Some(ClassifierModel::BERT),
    })
}
