//! EmbeddingGemma.

use super::model::{FamilyBiases, FamilyModel};
use crate::model::config::{Config, Rotary};
use crate::model::family::settings::{Gemma, Kinds, Settings};
use crate::model::family::tensors::{Names, Tensor, llama_names, sandwich_names};
use crate::text::json::Read;

const NAMES: Names = sandwich_names!("", []);

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map"])?;
    settings.known(&["is_decoder"]);
    let Gemma { config, global, local, has_bias } = Gemma::read(settings, Kinds::Encoders)?;
    let [global, local] = [global, local].map(|rotary| rotary.rope(config.positions));
    Ok(FamilyModel {
        family: "",
        config: Config { rotary: Some(Rotary { global, local }), ..config },
        names: &NAMES,
        biases: FamilyBiases { attention: has_bias, output: has_bias, ..FamilyBiases::NONE },
        classifier: None,
    })
}
