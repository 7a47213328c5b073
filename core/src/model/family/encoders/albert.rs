//! ALBERT: BERT with one layer, applied again and again, and tables with short rows, which a linear
//! layer maps to the size of hidden states.

use super::bert::{self, bert_like};
use super::model::{ClassifierModel, FamilyBiases, FamilyModel};
use crate::model::config::{Activation, Config, Embedding, FeedForward};
use crate::model::family::settings::Settings;
use crate::model::family::tensors::{Names, Tensor};
use crate::text::json::Read;

/// The names of a tensor of the only layer.
macro_rules! shared {
    ($name:literal) => {
        concat!("encoder.albert_layer_groups.0.albert_layers.0.", $name)
    };
}

/// No name has the number of a layer.
const NAMES: Names = Names {
    layers: "encoder.layer.",
    tensors: &[
        (Tensor::Embeddings, "embeddings.word_embeddings"),
        (Tensor::Positions, "embeddings.position_embeddings"),
        (Tensor::TokenTypes, "embeddings.token_type_embeddings"),
        (Tensor::EmbeddingNorm, "embeddings.LayerNorm"),
        (Tensor::Projection, "encoder.embedding_hidden_mapping_in"),
        (Tensor::Query, shared!("attention.query")),
        (Tensor::Key, shared!("attention.key")),
        (Tensor::Value, shared!("attention.value")),
        (Tensor::AttentionOutput, shared!("attention.dense")),
        (Tensor::AttentionNorm, shared!("attention.LayerNorm")),
        (Tensor::Up, shared!("ffn")),
        (Tensor::Down, shared!("ffn_output")),
        (Tensor::FeedForwardNorm, shared!("full_layer_layer_norm")),
    ],
};

const EMBEDDING: &str = "embedding_size";

/// The rate of dropout of heads, and settings of ALBERT's first implementation, which
/// `transformers` does not use.
const IRRELEVANT: &[&str] = &[
    "classifier_dropout_prob",
    "down_scale_factor",
    "gap_size",
    "layers_to_keep",
    "net_structure_type",
    "num_memory_blocks",
];

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map", "layer_types"])?;
    settings.known(IRRELEVANT);
    let groups = ["num_hidden_groups", "inner_group_num"];
    settings.numbers(1.0, "only 1 is honoured: one layer for all", &groups)?;
    let config = bert_like(settings, 1e-12)?;
    let width = settings.optional(EMBEDDING)?.unwrap_or(128);
    if width > config.hidden {
        let only = "only sizes up to `hidden_size` are honoured";
        return Err(settings.object.unsupported(EMBEDDING, only));
    }
    let activation = bert::activation(settings, Activation::GeluTanh)?;
    let config = Config {
        embedding: Embedding { projected: Some(width), ..config.embedding },
        feed_forward: FeedForward::Plain(activation),
        ..config
    };
    Ok(FamilyModel {
        family: "",
        config,
        names: &NAMES,
        biases: FamilyBiases::ALL,
        classifier: Some(ClassifierModel { hidden: Some("pooler"), ..ClassifierModel::BERT }),
    })
}
