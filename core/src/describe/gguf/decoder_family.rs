//! The differences between the architectures of decoders and Llama, as llama.cpp computes them.
//!
//! | architecture | differs from Llama |
//! |---|---|
//! | `llama` | |
//! | `mistral`, `phi3` | elements of a head are rotated in halves |
//! | `qwen2` | as `mistral` |
//! | `qwen3` | as `mistral`; queries and keys are normed |
//! | `gemma3` | as `mistral`; embeddings are scaled, outputs of attention and feed-forward layer are normed, GELU, windows with their own base |

use super::GgufArchitecture;
use super::key::Key;
use super::keys::Keys;
use super::refusal::GgufRefusal;
use super::windows::{LISTED, listed_window};
use crate::event::Value;
use crate::kernel::root;
use crate::model::config::{
    Activation, Attention, Config, Embedding, FeedForward, Order, QueryKeyNorm, Rope, Rotary,
    Window,
};
use crate::model::family::llama::Biases;

/// A model of 62 layers is Gemma 3 27B, which has a different score factor.
const LAYERS_OF_27B: usize = 62;
/// The period of Gemma 3's layers without a window.
const PATTERN: usize = 6;
/// The base of the rotary frequencies in Gemma's layers with a window.
const LOCAL_BASE: f32 = 10_000.0;

const WINDOW: Key = Key::SlidingWindow;
const WINDOW_PATTERN: Key = Key::SlidingWindowPattern;

/// Returns true if some layers have a window that is shorter than texts may be.
pub(super) fn has_windows(architecture: &str) -> bool {
    architecture == GgufArchitecture::Gemma3.name()
}

/// The layers that may have biases.
pub(super) fn biases(architecture: &str) -> Biases {
    match GgufArchitecture::from_name(architecture) {
        Some(GgufArchitecture::Llama) => Biases::ALL,
        _ => Biases { query_key_value: true, ..Biases::NONE },
    }
}

/// `config`, which is Llama's, with the differences of the architecture.
pub(super) fn complete<'a>(settings: &Keys<'a>, config: Config) -> Result<Config, GgufRefusal<'a>> {
    let with_norms = Attention { query_key_norm: Some(QueryKeyNorm::Head), ..config.attention };
    match GgufArchitecture::from_name(settings.architecture) {
        Some(GgufArchitecture::Qwen3) => Ok(Config { attention: with_norms, ..config }),
        Some(GgufArchitecture::Gemma3) => {
            gemma(settings, Config { attention: with_norms, ..config })
        }
        _ => Ok(config),
    }
}

fn gemma<'a>(settings: &Keys<'a>, config: Config) -> Result<Config, GgufRefusal<'a>> {
    #[allow(clippy::cast_precision_loss)] // at most 2²⁴
    let root = |size: usize| root::sqrt_f32(size as f32);
    let scored = match config.layers {
        LAYERS_OF_27B => config.hidden.checked_div(config.heads.query).unwrap_or(0),
        _ => config.heads.size,
    };
    let attention = Attention {
        window: window(settings, config.layers)?,
        scale: Some(1.0 / root(scored)),
        ..config.attention
    };
    Ok(Config {
        embedding: Embedding { scale: root(config.hidden), ..config.embedding },
        attention,
        order: Order::Sandwich,
        feed_forward: FeedForward::Gated(Activation::GeluTanh),
        ..config
    })
}

/// The rotary positions of layers with a window, whose positions are not divided.
pub(super) fn local_rope<'a>(
    settings: &Keys<'a>,
    config: &Config,
    global: Rope,
) -> Result<Rotary, GgufRefusal<'a>> {
    if !has_windows(settings.architecture) || config.attention.window.is_none() {
        return Ok(Rotary { global, local: global });
    }
    if global.yarn.is_some() || global.attention_factor != 1.0 {
        let reason = "of this architecture only none and linear are honoured";
        return Err(settings.refuse(Key::RopeScalingType, reason));
    }
    #[allow(clippy::cast_possible_truncation)] // models are not this precise
    let base = settings.number(Key::RopeLocalBase).map_or(LOCAL_BASE, |base| base as f32);
    if !(base.is_finite() && base > 0.0) {
        return Err(settings.refuse(Key::RopeLocalBase, "a positive number is needed"));
    }
    Ok(Rotary { global, local: Rope { base, position_divisor: 1.0, ..global } })
}

/// The window of most layers; the layers are given by a number or listed one by one.
fn window<'a>(settings: &Keys<'a>, layers: usize) -> Result<Option<Window>, GgufRefusal<'a>> {
    let Some(size) = settings.value(WINDOW) else { return Ok(None) };
    let Some(size) = whole(size) else { return Err(settings.refuse(WINDOW, "it is no size")) };
    let Some(reach) = size.checked_sub(1) else { return Ok(None) };
    let usual = Window::all_but(reach, PATTERN, PATTERN - 1);
    let refuse = |reason| Err(settings.refuse(WINDOW_PATTERN, reason));
    let Some(value) = settings.value(WINDOW_PATTERN) else { return Ok(Some(usual)) };
    match value {
        Value::Array { .. } => {
            let listed = listed_window(settings, reach, layers);
            listed.map_or_else(|| refuse(LISTED), Ok)
        }
        value => match whole(value) {
            // As in llama.cpp, 0 gives all layers a window, and 1 none.
            Some(0) => Ok(Some(Window::all_but(reach, 0, 0))),
            Some(1) => Ok(None),
            Some(every) => Ok(Some(Window::all_but(reach, every, every.saturating_sub(1)))),
            None => refuse(LISTED),
        },
    }
}

fn whole(value: Value<'_>) -> Option<usize> {
    super::value::unsigned(value).and_then(|number| usize::try_from(number).ok())
}
