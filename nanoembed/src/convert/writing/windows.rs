//! GGUF keys of windows and of the factor of scores, from a model's `config.json`: as
//! `convert_hf_to_gguf.py` of llama.cpp writes them, as far as llama.cpp computes the same.

use nanoembed_core::ErrorKind;
use nanoembed_core::describe::gguf::{GgufValue, Key};
use nanoembed_core::model::{DecoderFamily, DecoderModel, WindowLayers};

use crate::error::{Error, Result};

/// The turn of Gemma's windows that llama.cpp assumes without a key.
const PATTERN: usize = 6;
/// It takes models of so many layers for Gemma 3 27B, whose scores have another factor.
const LAYERS_OF_27B: usize = 62;

/// The keys of a decoder's windows.
pub(super) fn keys(model: &DecoderModel<'_>) -> Result<Vec<(Key, GgufValue)>> {
    const WINDOW: Key = Key::SlidingWindow;
    check_scores(model)?;
    let size = GgufValue::Size;
    let mut keys = Vec::new();
    if let Some(limit) = model.limit {
        keys.push((WINDOW, size(limit)));
    }
    if let Some(window) = model.config.attention.window {
        keys.push((WINDOW, size(window.reach.saturating_add(1))));
        let every = match window.layers {
            WindowLayers::AllBut { every, first } if every == 0 || first + 1 == every => every,
            _ => {
                let message = "GGUF says which of so many layers has no window if it is the last one only, not as `layer_types` says";
                return Err(Error::input(ErrorKind::UnsupportedSetting, message));
            }
        };
        if every != PATTERN {
            keys.push((Key::SlidingWindowPattern, size(every)));
        }
    }
    if let (DecoderFamily::Gemma3, Some(rotary)) = (model.family, model.config.rotary) {
        keys.push((Key::RopeLocalBase, GgufValue::Float(rotary.local.base)));
    }
    Ok(keys)
}

/// GGUF has no key for Gemma's factor of scores: llama.cpp goes by the sizes.
fn check_scores(model: &DecoderModel<'_>) -> Result<()> {
    let config = &model.config;
    let Some(scale) = config.attention.scale else { return Ok(()) };
    let usual = match config.layers {
        LAYERS_OF_27B => config.hidden / config.heads.query,
        _ => config.head(),
    };
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2⁵³")]
    #[expect(clippy::cast_possible_truncation, reason = "models are not this precise")]
    let is_usual = scale == (1.0 / (usual as f64).sqrt()) as f32;
    if is_usual {
        return Ok(());
    }
    let message = format!(
        "`query_pre_attn_scalar` makes {scale} the factor of scores; llama.cpp takes 1 / √{usual} for such a model"
    );
    Err(Error::input(ErrorKind::UnsupportedSetting, message))
}
