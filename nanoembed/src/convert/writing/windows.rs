//! What GGUF says of windows and scores by a model's `config.json`: as `convert_hf_to_gguf.py` of
//! llama.cpp writes it, as far as llama.cpp computes the same.

use nanoembed_core::ErrorKind;
use nanoembed_core::format::gguf::WriteValue;
use nanoembed_core::model::Window;

use crate::causal::config::Sizes;
use crate::error::{Error, Result};

/// What llama.cpp takes for the turn of Gemma's windows where nothing is said.
const PATTERN: usize = 6;
/// It takes models of so many layers for Gemma 3 27B, whose scores have another factor.
const LAYERS_OF_27B: u64 = 62;

/// The keys behind the name of the architecture.
pub(super) fn keys(sizes: &Sizes) -> Result<Vec<(String, WriteValue<'static>)>> {
    const WINDOW: &str = "attention.sliding_window";
    check_scores(sizes)?;
    let size = |size: u64| WriteValue::U32(u32::try_from(size).unwrap_or(u32::MAX));
    let mut keys = Vec::new();
    if let Some(window) = sizes.window {
        keys.push((WINDOW, size(window)));
    }
    if let Some(window) = sizes.alternating {
        keys.push((WINDOW, size(window.reach as u64 + 1)));
        let Window { every, first, .. } = window;
        if every != 0 && first + 1 != every {
            let message = "GGUF says which of so many layers has no window if it is the last one only, not as `layer_types` says";
            return Err(Error::input(ErrorKind::UnsupportedSetting, message));
        }
        if every != PATTERN {
            keys.push(("attention.sliding_window_pattern", size(every as u64)));
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "GGUF holds these as f32")]
    let base = sizes.rotary.local_base.map(|base| WriteValue::F32(base as f32));
    keys.extend(base.map(|base| ("rope.freq_base_swa", base)));
    Ok(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// GGUF has no key for Gemma's factor of scores: llama.cpp goes by the sizes.
fn check_scores(sizes: &Sizes) -> Result<()> {
    let Some(scalar) = sizes.score_scalar else { return Ok(()) };
    let usual = match sizes.layers {
        LAYERS_OF_27B => sizes.hidden / sizes.heads,
        _ => sizes.head,
    };
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2⁵³")]
    let is_usual = scalar == usual as f64;
    if is_usual {
        return Ok(());
    }
    let message =
        format!("`query_pre_attn_scalar` is {scalar}; llama.cpp takes {usual} for such a model");
    Err(Error::input(ErrorKind::UnsupportedSetting, message))
}
