//! BERT, cased or uncased.

use super::model::{ClassifierModel, FamilyBiases, FamilyModel};
use crate::model::config::{Activation, Config, FeedForward};
use crate::model::family::bert::NAMES;
use crate::model::family::settings::{OF_BERT, Settings, SizeNames};
use crate::text::json::Read;

const ACTIVATIONS: &str = "only gelu, gelu_new and relu are honoured";

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map", "layer_types"])?;
    let config = bert_like(settings, 1e-12)?;
    let classifier = Some(ClassifierModel::BERT);
    Ok(FamilyModel { family: "", config, names: &NAMES, biases: FamilyBiases::ALL, classifier })
}

/// The settings that BERT, RoBERTa and MPNet have in common.
pub(super) fn bert_like<'t>(settings: &Settings<'_, 't>, epsilon: f32) -> Read<'t, Config> {
    settings.off(&["is_decoder"])?;
    settings.only("position_embedding_type", "only absolute is honoured", &["absolute"])?;
    settings.only("directionality", "only bidi is honoured", &["bidi"])?;
    let sized = settings.sized(&SizeNames::USUAL, Config::BERT)?;
    settings.even_heads(&SizeNames::USUAL, &sized)?;
    // The table's shape contains the number of types.
    settings.known(&["type_vocab_size"]);
    Ok(Config {
        epsilon: settings.positive("layer_norm_eps")?.unwrap_or(epsilon),
        feed_forward: FeedForward::Plain(activation(settings, Activation::Gelu)?),
        ..sized
    })
}

/// The activation of the feed-forward layer; `usual` is its default.
pub(super) fn activation<'t>(
    settings: &Settings<'_, 't>,
    usual: Activation,
) -> Read<'t, Activation> {
    settings.activation("hidden_act", usual, OF_BERT, ACTIVATIONS)
}
