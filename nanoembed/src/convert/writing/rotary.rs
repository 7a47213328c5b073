//! What GGUF says of a model's rotary positions, by its `config.json`: as `convert_hf_to_gguf.py`
//! of llama.cpp writes it.

use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::format::gguf::WriteValue;
use nanoembed_core::model::llama::rope::Yarn;
use nanoembed_core::model::{RotaryScaling, RotarySettings};
use nanoembed_core::tensor::{Dtype, Encoding, Shape, Weight};

use super::windows;
use crate::causal::config;
use crate::causal::divisors::{self, DIVISORS, LONG, SHORT};
use crate::convert::targets::Item;
use crate::error::{Error, Result, name_of};

/// Keys and tensors about rotary positions.
pub(super) struct GgufRotary {
    keys: Vec<(String, WriteValue<'static>)>,
    tensors: Vec<(&'static str, Vec<u8>)>,
}

impl GgufRotary {
    /// Reads a `config.json` for a model that ggml calls `architecture`.
    pub(super) fn of_config(path: &Path, architecture: &str) -> Result<Self> {
        config::read(path, |model| {
            let of_windows = windows::keys(model).map_err(|failure| failure.at(name_of(path)))?;
            let mut keys = keys(&model.rotary).map_err(|failure| failure.at(name_of(path)))?;
            keys.extend(of_windows);
            keys.iter_mut().for_each(|(key, _)| *key = format!("{architecture}.{key}"));
            let stored = match model.rotary.scaling {
                // GGUF says its settings, and readers compute them.
                RotaryScaling::Yarn(_) => Vec::new(),
                _ => divisors::stored(&model.rotary),
            };
            let tensors = stored.into_iter().map(|(name, values)| (ggml_name(name), values));
            Ok(Self { keys, tensors: tensors.collect() })
        })
    }

    pub(super) fn metadata(&self) -> Vec<(String, WriteValue<'static>)> {
        self.keys.clone()
    }

    /// Whether a tensor of this name is replaced by what the settings say.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.iter().any(|(own, _)| *own == name)
    }

    pub(super) fn tensors(&self) -> Result<Vec<Item<'_>>> {
        let items = self.tensors.iter().map(|(name, data)| {
            let shape = Shape::new(&[data.len() as u64 / 4]);
            let shape = shape.ok_or(ErrorKind::WrongShape)?;
            let weight = Weight::new(shape, Encoding::Plain { dtype: Dtype::F32, data })?;
            Ok(Item::new((*name).to_owned(), weight))
        });
        let items: std::result::Result<_, ErrorKind> = items.collect();
        items.map_err(|kind| Error::input(kind, kind.message()))
    }
}

fn ggml_name(name: &str) -> &'static str {
    match name {
        SHORT => "rope_factors_short.weight",
        LONG => "rope_factors_long.weight",
        _ => {
            debug_assert_eq!(name, DIVISORS);
            "rope_freqs.weight"
        }
    }
}

/// The keys behind the name of the architecture.
fn keys(rotary: &RotarySettings<'_>) -> Result<Vec<(String, WriteValue<'static>)>> {
    #[expect(clippy::cast_possible_truncation, reason = "GGUF holds these as f32")]
    let float = |value: f64| WriteValue::F32(value as f32);
    let size = |value: usize| WriteValue::U32(u32::try_from(value).unwrap_or(u32::MAX));
    let mut keys = vec![
        ("rope.dimension_count", size(rotary.dimensions)),
        ("rope.freq_base", WriteValue::F32(rotary.base)),
    ];
    let original = ("rope.scaling.original_context_length", size(rotary.original_positions));
    let kind = |name| ("rope.scaling.type", WriteValue::Text(name));
    let mut attention = rotary.attention_factor;
    match &rotary.scaling {
        RotaryScaling::None | RotaryScaling::Llama3(_) => {}
        RotaryScaling::Linear(factor) => {
            keys.extend([kind("linear"), ("rope.scaling.factor", WriteValue::F32(*factor))]);
        }
        RotaryScaling::Yarn(yarn) if !yarn.truncate => {
            let message = "GGUF has no key for the `truncate` of YaRN in `rope_scaling`";
            return Err(Error::input(ErrorKind::UnsupportedSetting, message));
        }
        RotaryScaling::Yarn(yarn) => {
            keys.extend([kind("yarn"), ("rope.scaling.factor", float(yarn.factor)), original]);
            for (key, value, usual) in [
                ("rope.scaling.yarn_beta_fast", yarn.beta_fast, 32.0),
                ("rope.scaling.yarn_beta_slow", yarn.beta_slow, 1.0),
            ] {
                if value != usual {
                    keys.push((key, float(value)));
                }
            }
            // Readers multiply with the usual one.
            attention /= Yarn::attention_factor(yarn.factor, 1.0);
        }
        RotaryScaling::Long(_) => keys.extend([kind("longrope"), original]),
    }
    if attention != 1.0 {
        keys.push(("rope.scaling.attn_factor", float(attention)));
    }
    Ok(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}
