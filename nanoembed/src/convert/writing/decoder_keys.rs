//! GGUF keys of a decoder, from its `config.json`, as `convert_hf_to_gguf.py` of llama.cpp writes
//! them.

use std::path::Path;

use nanoembed_core::describe::gguf::{GgufValue, Key, PutKey, gguf_decoder_keys};
use nanoembed_core::limit::{self, Growing};
use nanoembed_core::model::gguf_names::DECODER;
use nanoembed_core::model::llama::rope::Yarn;
use nanoembed_core::model::{RotaryScaling, RotarySettings, decoder_names};
use nanoembed_core::tensor::{Dtype, Encoding, Shape, Weight};
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::metadata::Metadata;
use super::windows;
use crate::causal::config;
use crate::causal::divisors;
use crate::convert::targets::Item;
use crate::error::{Error, Result, name_of};
use crate::layer_names::llama::translated;

/// The keys of a decoder, and the tensors about its rotary positions.
pub(super) struct DecoderKeys {
    keys: Vec<(Key, GgufValue)>,
    tensors: Vec<(String, Vec<u8>)>,
}

impl DecoderKeys {
    /// Reads a `config.json`.
    pub(super) fn from_config(path: &Path) -> Result<Self> {
        config::read(path, |model| {
            let failed = |error| Error::in_file(name_of(path), error);
            let mut keys = Growing::new();
            gguf_decoder_keys(&model.config, &mut |key, value| keys.push((key, value)));
            let of_windows = windows::keys(model).map_err(|failure| failure.at(name_of(path)))?;
            rotary(&model.rotary, &mut |key, value| keys.push((key, value)))
                .map_err(|failure| failure.at(name_of(path)))?;
            of_windows.into_iter().for_each(|key| keys.push(key));
            let keys = keys.into_vec().map_err(failed)?;
            let stored = match model.rotary.scaling {
                // GGUF says its settings, and readers compute them.
                RotaryScaling::Yarn(_) => Vec::new(),
                _ => divisors::stored(&model.rotary).map_err(failed)?,
            };
            let names = decoder_names(model.config.order);
            let mut tensors = Vec::new();
            for (name, values) in stored {
                if let Some(name) = translated(name, names, &DECODER).map_err(failed)? {
                    limit::push(&mut tensors, (name, values)).map_err(failed)?;
                }
            }
            Ok(Self { keys, tensors })
        })
    }

    /// Adds the keys.
    pub(super) fn add(&self, metadata: &mut Metadata) -> Result<()> {
        self.keys.iter().try_for_each(|(key, value)| metadata.put(*key, *value))
    }

    /// True if the settings replace a tensor of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.iter().any(|(own, _)| own == name)
    }

    pub(super) fn tensors(&self) -> Result<Vec<Item<'_>>> {
        let items = self.tensors.iter().map(|(name, data)| {
            let shape = Shape::new(&[data.len() as u64 / 4]);
            let shape = shape.ok_or(CoreError::without_offset(ErrorKind::WrongShape))?;
            let weight = Weight::new(shape, Encoding::Plain { dtype: Dtype::F32, data });
            let weight = weight.map_err(CoreError::without_offset)?;
            Ok(Item::new(limit::copied(name)?, weight))
        });
        limit::gathered(items).map_err(|error| Error::input(error.kind(), error.message()))
    }
}

/// Gives the keys of the rotary embedding to `put`.
fn rotary(rotary: &RotarySettings<'_>, put: PutKey<'_>) -> Result<()> {
    #[expect(clippy::cast_possible_truncation, reason = "GGUF holds these as f32")]
    let float = |value: f64| GgufValue::Float(value as f32);
    put(Key::RopeDimensions, GgufValue::Size(rotary.dimensions));
    put(Key::RopeBase, GgufValue::Float(rotary.base));
    let original = GgufValue::Size(rotary.original_positions);
    let mut kind = |name| put(Key::RopeScalingType, GgufValue::Text(name));
    let mut attention = rotary.attention_factor;
    match &rotary.scaling {
        RotaryScaling::None | RotaryScaling::Llama3(_) => {}
        RotaryScaling::Linear(factor) => {
            kind("linear");
            put(Key::RopeScalingFactor, GgufValue::Float(*factor));
        }
        RotaryScaling::Yarn(yarn) if !yarn.truncate => {
            let message = "GGUF has no key for the `truncate` of YaRN in `rope_scaling`";
            return Err(Error::input(ErrorKind::UnsupportedSetting, message));
        }
        RotaryScaling::Yarn(yarn) => {
            kind("yarn");
            put(Key::RopeScalingFactor, float(yarn.factor));
            put(Key::RopeOriginalLength, original);
            for (key, value, usual) in [
                (Key::YarnBetaFast, yarn.beta_fast, 32.0),
                (Key::YarnBetaSlow, yarn.beta_slow, 1.0),
            ] {
                if value != usual {
                    put(key, float(value));
                }
            }
            // Readers multiply with the usual one.
            attention /= Yarn::attention_factor(yarn.factor, 1.0);
        }
        RotaryScaling::Long(_) => {
            kind("longrope");
            put(Key::RopeOriginalLength, original);
        }
    }
    if attention != 1.0 {
        put(Key::RopeAttentionFactor, float(attention));
    }
    Ok(())
}
