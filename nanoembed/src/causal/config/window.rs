//! The windows of a `config.json`: how far back a token sees, and in which layers.

use nanoembed_core::model::Window;

use super::Family;
use crate::error::Result;
use crate::open::settings_rule::Members;

/// What a file says of windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// The positions that a token sees in every layer that has a window, where texts are not to be
    /// longer than that.
    pub limit: Option<u64>,
    /// The window of most layers in models whose texts may be longer.
    pub alternating: Option<Window>,
}

/// The window of the first Mistral, which is meant where nothing is said.
const MISTRAL_WINDOW: u64 = 4096;
/// Gemma 3's, and the layers of a turn of which one has none.
const GEMMA_WINDOW: u64 = 4096;
const GEMMA_PATTERN: u64 = 6;

const FULL: &str = "full_attention";
const SLIDING: &str = "sliding_attention";

impl Windows {
    pub(super) fn of(config: &Members<'_>, family: Family, layers: u64) -> Result<Self> {
        for kind in config.items("layer_types")? {
            if !matches!(kind.as_str(), Some(FULL | SLIDING)) {
                let only = "only full_attention and sliding_attention are honoured";
                return Err(config.unsupported("layer_types", only));
            }
        }
        if family == Family::Gemma3 {
            let alternating = alternating(config, layers)?;
            return Ok(Self { limit: None, alternating });
        }
        let is_qwen = matches!(family, Family::Qwen2 | Family::Qwen3);
        let has_window = !is_qwen || config.truth("use_sliding_window")?.unwrap_or(false);
        // Whether some layers see further makes no difference: a text is not longer.
        let limit = match config.get("sliding_window") {
            _ if !has_window => None,
            None if family == Family::Mistral && !config.has("sliding_window") => {
                Some(MISTRAL_WINDOW)
            }
            None => None,
            Some(_) => super::optional(config, "sliding_window")?,
        };
        Ok(Self { limit, alternating: None })
    }
}

/// Gemma's windows: in the layers that are listed, or in all but one of a turn.
fn alternating(config: &Members<'_>, layers: u64) -> Result<Option<Window>> {
    let size = super::optional(config, "sliding_window")?.unwrap_or(GEMMA_WINDOW);
    let pattern = super::optional(config, "sliding_window_pattern")?;
    let pattern = pattern.or(super::optional(config, "_sliding_window_pattern")?);
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let reach = number(size).saturating_sub(1);
    let listed = config.items("layer_types")?;
    if listed.is_empty() {
        let every = number(pattern.unwrap_or(GEMMA_PATTERN));
        return Ok((every > 1).then_some(Window { reach, every, first: every.saturating_sub(1) }));
    }
    let have_window = || listed.iter().map(|kind| kind.as_str() == Some(SLIDING));
    Window::of_layers(reach, number(layers), have_window).ok_or_else(|| {
        let only = "only one in so many layers with full_attention is honoured, in all layers";
        config.unsupported("layer_types", only)
    })
}
