//! Gemma 3's text model as a decoder.

use super::{DecoderFamily, DecoderModel};
use crate::model::config::{Config, Mask, Rotary};
use crate::model::family::llama::Biases;
use crate::model::family::settings::{Gemma, Kinds, RotaryScaling, Settings};
use crate::text::json::Read;

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, DecoderModel<'t>> {
    settings.off(&["mlp_bias"])?;
    let Gemma { config, global, local, has_bias } = Gemma::read(settings, Kinds::Decoders)?;
    if config.attention.mask != Mask::Causal {
        let only = "only false is honoured";
        return Err(settings.object.unsupported("use_bidirectional_attention", only));
    }
    if local.scaling != RotaryScaling::None {
        let only = "positions of layers with a window are not scaled";
        return Err(settings.object.unsupported("rope_parameters", only));
    }
    let rotary = Rotary {
        global: global.stored_rope(config.positions),
        local: local.stored_rope(config.positions),
    };
    Ok(DecoderModel {
        family: DecoderFamily::Gemma3,
        config: Config { rotary: Some(rotary), ..config },
        biases: Biases { query_key_value: has_bias, attention_output: has_bias, ..Biases::NONE },
        is_tied: settings.truth("tie_word_embeddings", true)?,
        limit: None,
        rotary: global,
    })
}
