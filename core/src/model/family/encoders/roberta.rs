//! RoBERTa, XLM-RoBERTa and CamemBERT: BERT whose positions start after that of padding.

use super::bert::bert_like;
use super::model::{ClassifierModel, FamilyBiases, FamilyModel};
use crate::model::config::{Config, Embedding};
use crate::model::family::bert::NAMES;
use crate::model::family::settings::Settings;
use crate::text::json::Read;

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map", "layer_types"])?;
    let padding = settings.object.integer("pad_token_id")?.unwrap_or(1);
    let config = after_padding(settings, bert_like(settings, 1e-12)?, padding)?;
    let classifier = Some(ClassifierModel::ROBERTA);
    Ok(FamilyModel { family: "", config, names: &NAMES, biases: FamilyBiases::ALL, classifier })
}

/// The settings of a model whose first token has the position after that of padding, which has the
/// number of the padding token.
pub(super) fn after_padding<'t>(
    settings: &Settings<'_, 't>,
    config: Config,
    padding: u64,
) -> Read<'t, Config> {
    let first = usize::try_from(padding).ok().and_then(|padding| padding.checked_add(1));
    let left = first.and_then(|first| config.positions.checked_sub(first));
    match (first, left) {
        (Some(first), Some(positions)) if positions > 0 => Ok(Config {
            positions,
            embedding: Embedding { positions: Some(first), ..config.embedding },
            ..config
        }),
        _ => Err(settings.object.bad("pad_token_id", "it leaves no positions")),
    }
}
