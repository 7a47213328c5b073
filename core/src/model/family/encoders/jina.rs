//! Jina embeddings v3 as stored by transformers, without adapters: BERT with rotary positions.

use super::model::{FamilyBiases, FamilyModel};
use crate::model::config::{Activation, Config, Embedding, FeedForward, Rotary};
use crate::model::family::settings::{HeadSizes, Kinds, OF_BERT, Settings, SizeNames};
use crate::model::family::tensors::{Names, Tensor};
use crate::text::json::Read;

const NAMES: Names = Names {
    layers: "encoder.layers.",
    tensors: &[
        (Tensor::Embeddings, "embeddings.word_embeddings"),
        (Tensor::TokenTypes, "embeddings.token_type_embeddings"),
        (Tensor::EmbeddingNorm, "emb_ln"),
        (Tensor::QueryKeyValue, ".mixer.Wqkv"),
        (Tensor::AttentionOutput, ".mixer.out_proj"),
        (Tensor::AttentionNorm, ".norm1"),
        (Tensor::Up, ".mlp.fc1"),
        (Tensor::Down, ".mlp.fc2"),
        (Tensor::FeedForwardNorm, ".norm2"),
    ],
};

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map", "layer_types"])?;
    let sized = settings.sized(&SizeNames::USUAL, Config::BERT)?;
    settings.even_heads(&SizeNames::USUAL, &sized)?;
    // The table's shape contains the number of types.
    settings.known(&["type_vocab_size"]);
    let only = "only gelu, gelu_new and relu are honoured";
    let activation = settings.activation("hidden_act", Activation::Gelu, OF_BERT, only)?;
    let rope = settings.rope(HeadSizes::new(&sized), 20_000.0, Kinds::Encoders)?;
    let config = Config {
        embedding: Embedding { positions: None, ..sized.embedding },
        rotary: Some(Rotary { global: rope, local: rope }),
        epsilon: settings.positive("layer_norm_eps")?.unwrap_or(1e-5),
        feed_forward: FeedForward::Plain(activation),
        ..sized
    };
    Ok(FamilyModel {
        family: "",
        config,
        names: &NAMES,
        biases: FamilyBiases::ALL,
        classifier: None,
    })
}
