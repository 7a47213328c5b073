//! EuroBERT: Llama without a causal mask.

use super::model::FamilyModel;
use super::qwen::llama_like;
use crate::model::config::{Attention, Config, Mask};
use crate::model::family::settings::{LlamaUsual, Settings};
use crate::text::json::Read;

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    // The code that the hub's files name is implemented here. The head that takes its pooling from
    // these members is rejected by its architecture.
    settings.known(&["auto_map", "classifier_pooling", "clf_pooling"]);
    // The tokenizer's files contain these, too.
    settings.known(&["bos_token", "eos_token", "mask_token", "pad_token"]);
    settings.off(&["is_decoder", "use_sliding_window"])?;
    settings.absent(&["sliding_window"])?;
    settings.only_full()?;
    let found = llama_like(settings, LlamaUsual::encoder(250_000.0, 1e-5))?;
    let attention = Attention { mask: Mask::Full, ..found.config.attention };
    Ok(FamilyModel { config: Config { attention, ..found.config }, ..found })
}
