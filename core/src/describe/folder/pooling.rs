//! The `config.json` of a pooling module.

use crate::model::{PoolingMode, PoolingModes};
use crate::text::json::{LexemeKind, Object, Read, Value, is};

/// The pooling of the tokens' vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolingSettings {
    /// The pooling modes, whose results are concatenated.
    pub modes: PoolingModes,
    /// True if the tokens of a prompt are left out.
    pub leaves_out_prompt: bool,
}

/// The pooling modes: their switches in older configurations, which concatenate results in this
/// order, and their names in newer ones, which list them in any order.
pub(super) const MODES: [(&str, &str, PoolingMode); 6] = [
    ("pooling_mode_cls_token", "cls", PoolingMode::First),
    ("pooling_mode_max_tokens", "max", PoolingMode::Max),
    ("pooling_mode_mean_tokens", "mean", PoolingMode::Mean),
    ("pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", PoolingMode::MeanByRoot),
    ("pooling_mode_weightedmean_tokens", "weightedmean", PoolingMode::WeightedMean),
    ("pooling_mode_lasttoken", "lasttoken", PoolingMode::Last),
];

impl PoolingSettings {
    /// Mean pooling, the default.
    pub const MEAN: Self =
        Self { modes: PoolingModes::NONE.with(PoolingMode::Mean), leaves_out_prompt: false };

    /// Reads the pooling of a table of words. It knows no prompts: their words are pooled, too.
    pub(super) fn read_mean<'t>(config: &Object<'t>) -> Read<'t, Self> {
        let read = Self::read(config)?;
        if read.modes != Self::MEAN.modes {
            return Err(config.unsupported("pooling_mode", "only the mean of words is done"));
        }
        Ok(Self { leaves_out_prompt: false, ..read })
    }

    pub(super) fn read<'t>(config: &Object<'t>) -> Read<'t, Self> {
        let mut modes = PoolingModes::NONE;
        for (switch, _, mode) in MODES {
            if config.truth(switch)?.unwrap_or(false) {
                modes = modes.with(mode);
            }
        }
        if let Some(named) = config.get("pooling_mode") {
            modes = PoolingModes::NONE;
            let one = Some(named).filter(|it| it.kind() != LexemeKind::BeginArray);
            for name in one.into_iter().chain(named.items()) {
                let known = MODES.iter().find(|mode| is_mode(name, mode));
                let (.., mode) =
                    known.filter(|_| modes.count() < PoolingModes::MOST).ok_or_else(|| {
                        config
                            .unsupported("pooling_mode", "a way of pooling that is not known here")
                    })?;
                modes = modes.with(*mode);
            }
        }
        if modes == PoolingModes::NONE {
            return Err(config.unsupported("pooling_mode", "the module pools in no way"));
        }
        let leaves_out_prompt = config.truth("include_prompt")? == Some(false);
        config.finish(&["embedding_dimension", "word_embedding_dimension"])?;
        Ok(Self { modes, leaves_out_prompt })
    }
}

/// Returns true if `name` is a name of the mode: a new one, or an old one with or without
/// `_tokens`.
fn is_mode(name: Value<'_>, (switch, known, _): &(&str, &str, PoolingMode)) -> bool {
    let full = switch.strip_prefix("pooling_mode_").unwrap_or(switch);
    name.as_text().is_some_and(|name| {
        is(name, known) || is(name, full) || Some(name) == full.strip_suffix("_tokens")
    })
}
