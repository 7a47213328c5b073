//! DistilBERT: BERT without token types, under different names.

use super::model::{ClassifierModel, FamilyBiases, FamilyModel};
use crate::model::config::{Activation, Config, Embedding, FeedForward};
use crate::model::family::settings::{OF_BERT, Settings, SizeNames};
use crate::model::family::tensors::{Names, Tensor};
use crate::model::head::dense::DenseActivation;
use crate::text::json::Read;

const NAMES: Names = Names {
    layers: "transformer.layer.",
    tensors: &[
        (Tensor::Embeddings, "embeddings.word_embeddings"),
        (Tensor::Positions, "embeddings.position_embeddings"),
        (Tensor::EmbeddingNorm, "embeddings.LayerNorm"),
        (Tensor::Query, ".attention.q_lin"),
        (Tensor::Key, ".attention.k_lin"),
        (Tensor::Value, ".attention.v_lin"),
        (Tensor::AttentionOutput, ".attention.out_lin"),
        (Tensor::AttentionNorm, ".sa_layer_norm"),
        (Tensor::Up, ".ffn.lin1"),
        (Tensor::Down, ".ffn.lin2"),
        (Tensor::FeedForwardNorm, ".output_layer_norm"),
    ],
};

pub(super) const SIZES: SizeNames = SizeNames {
    layers: "n_layers",
    hidden: "dim",
    heads: "n_heads",
    intermediate: "hidden_dim",
    positions: Some("max_position_embeddings"),
};

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map", "layer_types"])?;
    // The position table is stored, whether computed or learned; weights may be tied to a head's.
    settings.known(&["sinusoidal_pos_embds", "tie_weights_"]);
    let sized = settings.sized(&SIZES, Config::BERT)?;
    settings.even_heads(&SIZES, &sized)?;
    let only = "only gelu and relu are honoured";
    let activation = settings.activation("activation", Activation::Gelu, OF_BERT, only)?;
    let config = Config {
        embedding: Embedding { token_types: false, ..sized.embedding },
        feed_forward: FeedForward::Plain(activation),
        ..sized
    };
    let classifier = ClassifierModel {
        hidden: Some("pre_classifier"),
        activation: DenseActivation::Relu,
        ..ClassifierModel::BERT
    };
    Ok(FamilyModel {
        family: "",
        config,
        names: &NAMES,
        biases: FamilyBiases::ALL,
        classifier: Some(classifier),
    })
}
