//! The `config.json` of a module that pools.

use crate::model::{Way, Ways};
use crate::text::json::{Kind, Object, Read, Value, is};

/// How the tokens' vectors become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolingSettings {
    /// One way, or several whose results stand one behind the other.
    pub ways: Ways,
    /// Whether the tokens of a prompt are left out.
    pub leaves_out_prompt: bool,
}

/// The ways of pooling by the switches of older configurations, whose vectors stand in this order,
/// and by the names of newer ones, which list them in an order of their own.
const WAYS: [(&str, &str, Way); 6] = [
    ("pooling_mode_cls_token", "cls", Way::First),
    ("pooling_mode_max_tokens", "max", Way::Max),
    ("pooling_mode_mean_tokens", "mean", Way::Mean),
    ("pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", Way::MeanByRoot),
    ("pooling_mode_weightedmean_tokens", "weightedmean", Way::WeightedMean),
    ("pooling_mode_lasttoken", "lasttoken", Way::Last),
];

impl PoolingSettings {
    /// The mean: what models do that say nothing.
    pub const MEAN: Self = Self { ways: Ways::NONE.with(Way::Mean), leaves_out_prompt: false };

    pub(super) fn read<'t>(config: &Object<'t>) -> Read<'t, Self> {
        let mut ways = Ways::NONE;
        for (switch, _, way) in WAYS {
            if config.truth(switch)?.unwrap_or(false) {
                ways = ways.with(way);
            }
        }
        if let Some(named) = config.get("pooling_mode") {
            ways = Ways::NONE;
            let one = Some(named).filter(|it| it.kind() != Kind::BeginArray);
            for name in one.into_iter().chain(named.items()) {
                let known = WAYS.iter().find(|way| is_way(name, way));
                let (.., way) = known.filter(|_| ways.count() < Ways::MOST).ok_or_else(|| {
                    config.unsupported("pooling_mode", "a way of pooling that is not known here")
                })?;
                ways = ways.with(*way);
            }
        }
        if ways == Ways::NONE {
            return Err(config.unsupported("pooling_mode", "the module pools in no way"));
        }
        let leaves_out_prompt = config.truth("include_prompt")? == Some(false);
        config.finish(&["embedding_dimension", "word_embedding_dimension"])?;
        Ok(Self { ways, leaves_out_prompt })
    }
}

/// Whether a way is called so, in full or without `_tokens`.
fn is_way(name: Value<'_>, (switch, known, _): &(&str, &str, Way)) -> bool {
    let full = switch.strip_prefix("pooling_mode_").unwrap_or(switch);
    name.as_text().is_some_and(|name| {
        is(name, known) || is(name, full) || Some(name) == full.strip_suffix("_tokens")
    })
}
