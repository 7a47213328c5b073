//! MPNet: RoBERTa without token types, and with relative position buckets.

use super::bert::bert_like;
use super::model::{ClassifierModel, FamilyBiases, FamilyModel};
use super::roberta::after_padding;
use crate::model::config::{Config, Embedding, Relative, RelativeBuckets};
use crate::model::family::settings::Settings;
use crate::model::family::tensors::{Names, Tensor};
use crate::text::json::{Read, Value};

const NAMES: Names = Names {
    layers: "encoder.layer.",
    tensors: &[
        (Tensor::Embeddings, "embeddings.word_embeddings"),
        (Tensor::Positions, "embeddings.position_embeddings"),
        (Tensor::EmbeddingNorm, "embeddings.LayerNorm"),
        (Tensor::RelativeBias, "encoder.relative_attention_bias"),
        (Tensor::Query, ".attention.attn.q"),
        (Tensor::Key, ".attention.attn.k"),
        (Tensor::Value, ".attention.attn.v"),
        (Tensor::AttentionOutput, ".attention.attn.o"),
        (Tensor::AttentionNorm, ".attention.LayerNorm"),
        (Tensor::Up, ".intermediate.dense"),
        (Tensor::Down, ".output.dense"),
        (Tensor::FeedForwardNorm, ".output.LayerNorm"),
    ],
};

/// Constants of the model's code, independent of its settings: the position of padding, the number
/// of buckets, and the distance from which all keys share one.
const PADDING: u64 = 1;
const BUCKETS: usize = 32;
const DISTANCE: usize = 128;

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map", "layer_types"])?;
    let config = after_padding(settings, bert_like(settings, 1e-12)?, PADDING)?;
    let said = |value: Value<'t>| value.as_u64() == Some(BUCKETS as u64);
    settings.object.neutral("relative_attention_num_buckets", "only 32 is honoured", said)?;
    let config = Config {
        embedding: Embedding { token_types: false, ..config.embedding },
        relative: Some(Relative::Buckets(RelativeBuckets { buckets: BUCKETS, distance: DISTANCE })),
        ..config
    };
    Ok(FamilyModel {
        family: "",
        config,
        names: &NAMES,
        biases: FamilyBiases::ALL,
        classifier: Some(ClassifierModel::ROBERTA),
    })
}
