//! The sampling that a model's files ask for.
//!
//! | setting | `generation_config.json` | GGUF, after `general.sampling.` |
//! |---|---|---|
//! | sampling at all | `do_sample` | |
//! | temperature | `temperature` | `temp` |
//! | the most likely tokens | `top_k`, `top_p`, `min_p` | the same |
//! | penalty of repeated tokens | `repetition_penalty` | `penalty_repeat` |
//!
//! Other settings that change which tokens are chosen are rejected by name unless they are off.

use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Value as GgufValue;
use nanoembed_core::format::gguf::Gguf;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::folder::json_file::read_json;
use crate::folder::settings_rule::unsupported;

/// Settings of sampling as a model's files, or a user, ask for them; `None` where they say nothing.
/// The fields are those of [`Sampling`](crate::Sampling).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "as in `Sampling`")]
pub struct GenerationSettings {
    pub temperature: Option<f32>,
    pub top_k: Option<usize>,
    pub top_p: Option<f32>,
    pub min_p: Option<f32>,
    pub repetition_penalty: Option<f32>,
    pub presence_penalty: Option<f32>,
    pub frequency_penalty: Option<f32>,
}

/// The file.
const FILE: &str = "generation_config.json";

/// The prefix of the keys of GGUF files.
const PREFIX: &str = "general.sampling.";

/// Members that choose other tokens, beside `null`, `false`, 0 and empty lists with the number that
/// changes nothing.
const NOT_DONE: [(&str, f64); 26] = [
    ("bad_words_ids", 0.0),
    ("begin_suppress_tokens", 0.0),
    ("constraints", 0.0),
    ("diversity_penalty", 0.0),
    ("dola_layers", 0.0),
    ("encoder_no_repeat_ngram_size", 0.0),
    ("encoder_repetition_penalty", 1.0),
    ("epsilon_cutoff", 0.0),
    ("eta_cutoff", 0.0),
    ("exponential_decay_length_penalty", 0.0),
    ("force_words_ids", 0.0),
    ("forced_bos_token_id", 0.0),
    ("forced_decoder_ids", 0.0),
    ("forced_eos_token_id", 0.0),
    ("guidance_scale", 1.0),
    ("min_length", 0.0),
    ("min_new_tokens", 0.0),
    ("no_repeat_ngram_size", 0.0),
    ("num_beam_groups", 1.0),
    ("num_beams", 1.0),
    ("penalty_alpha", 0.0),
    ("sequence_bias", 0.0),
    ("suppress_tokens", 0.0),
    ("top_h", 0.0),
    ("typical_p", 1.0),
    ("watermarking_config", 0.0),
];

/// Keys of GGUF files that choose other tokens unless they are 0.
const KEYS_NOT_DONE: [&str; 3] = ["sequence", "xtc_probability", "mirostat"];

impl GenerationSettings {
    /// Those of a folder.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedSetting`] at a setting that is not honoured, and
    /// [`ErrorKind::BadMetadata`] at one that is no number it could be.
    pub(super) fn from_folder(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let Some(settings) = read_json(&path)? else { return Ok(Self::default()) };
        Self::from_members(&settings).map_err(|error| error.at(path.display()))
    }

    fn from_members(settings: &Value) -> Result<Self> {
        let given = |name: &str| settings.get(name).filter(|value| !value.is_null());
        for (name, usual) in NOT_DONE {
            if let Some(value) = given(name).filter(|value| !is_off(value, usual)) {
                return Err(unsupported(name, value, "this is not done when texts are continued"));
            }
        }
        let number = |name: &'static str, most: f64| match given(name) {
            None => Ok(None),
            Some(value) => value
                .as_f64()
                .and_then(|it| within(it, most))
                .ok_or_else(|| bad(name, value))
                .map(Some),
        };
        let top_k = match given("top_k") {
            None => None,
            Some(value) => {
                let top_k = value.as_u64().and_then(|it| usize::try_from(it).ok());
                Some(top_k.ok_or_else(|| bad("top_k", value))?)
            }
        };
        let samples = match given("do_sample") {
            None => None,
            Some(value) => Some(value.as_bool().ok_or_else(|| bad("do_sample", value))?),
        };
        let temperature = number("temperature", f64::MAX)?;
        Ok(Self {
            temperature: if samples == Some(false) { Some(0.0) } else { temperature },
            top_k,
            top_p: number("top_p", 1.0)?,
            min_p: number("min_p", 1.0)?,
            repetition_penalty: positive(
                "repetition_penalty",
                number("repetition_penalty", f64::MAX)?,
            )?,
            ..Self::default()
        })
    }

    /// Those of a GGUF file.
    ///
    /// # Errors
    ///
    /// As for a folder; they name the key.
    pub(crate) fn from_gguf(gguf: &Gguf<'_>) -> Result<Self> {
        let value = |name: &str| gguf.value(&format!("{PREFIX}{name}"));
        for name in KEYS_NOT_DONE {
            let is_off = match value(name) {
                None => true,
                Some(value) => as_number(value).is_some_and(|it| it.to_bits() << 1 == 0),
            };
            if !is_off {
                let message =
                    format!("`{PREFIX}{name}` is set, which is not done when texts are continued");
                return Err(Error::input(ErrorKind::UnsupportedSetting, message));
            }
        }
        let number = |name: &'static str, most: f64| match value(name) {
            None => Ok(None),
            Some(value) => as_number(value)
                .and_then(|it| within(it, most))
                .map(Some)
                .ok_or_else(|| bad(&format!("{PREFIX}{name}"), "no number that it could be")),
        };
        let top_k = match value("top_k") {
            None => None,
            // As in llama.cpp, all of them.
            Some(GgufValue::Signed(..=0)) => Some(0),
            Some(value) => {
                let top_k = match value {
                    GgufValue::Unsigned(number) => usize::try_from(number).ok(),
                    GgufValue::Signed(number) => usize::try_from(number).ok(),
                    _ => None,
                };
                Some(top_k.ok_or_else(|| bad(&format!("{PREFIX}top_k"), "no whole number"))?)
            }
        };
        let repetition = number("penalty_repeat", f64::MAX)?;
        Ok(Self {
            temperature: number("temp", f64::MAX)?,
            top_k,
            top_p: number("top_p", 1.0)?,
            min_p: number("min_p", 1.0)?,
            repetition_penalty: positive("general.sampling.penalty_repeat", repetition)?,
            ..Self::default()
        })
    }
}

/// Returns true for a value that changes nothing.
fn is_off(value: &Value, usual: f64) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64().is_some_and(|it| it.to_bits() == usual.to_bits()),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::String(_) => false,
    }
}

fn as_number(value: GgufValue<'_>) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "settings are small")]
    match value {
        GgufValue::Unsigned(number) => Some(number as f64),
        GgufValue::Signed(number) => Some(number as f64),
        GgufValue::Float(number) => Some(number),
        _ => None,
    }
}

/// A number from 0 to `most`, as f32.
fn within(number: f64, most: f64) -> Option<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "rounded")]
    let single = number as f32;
    ((0.0..=most).contains(&number) && single.is_finite()).then_some(single)
}

fn positive(name: &str, number: Option<f32>) -> Result<Option<f32>> {
    match number {
        Some(number) if number <= 0.0 => Err(bad(name, number)),
        number => Ok(number),
    }
}

fn bad(name: &str, value: impl std::fmt::Display) -> Error {
    let message = format!("`{name}` is {value}, which is no value that it could have");
    Error::input(ErrorKind::BadMetadata, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_setting_is_used_or_changes_nothing_or_is_refused_by_name() {
        let read = |settings: Value| GenerationSettings::from_members(&settings);
        let settings = json!({
            "do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0,
            "repetition_penalty": 1.05, "eos_token_id": [1, 2], "num_beams": 1, "typical_p": 1.0,
            "suppress_tokens": [], "bad_words_ids": null, "max_length": 20, "min_length": 0,
        });
        let expected = GenerationSettings {
            temperature: Some(0.6),
            top_k: Some(20),
            top_p: Some(0.95),
            min_p: Some(0.0),
            repetition_penalty: Some(1.05),
            ..GenerationSettings::default()
        };
        assert_eq!(read(settings).unwrap(), expected);
        assert_eq!(read(json!({})).unwrap(), GenerationSettings::default());
        let greedy = read(json!({"do_sample": false, "temperature": 0.6})).unwrap();
        assert_eq!(greedy.temperature, Some(0.0));
        for (name, value, code) in [
            ("num_beams", json!(4), "unsupported_setting"),
            ("no_repeat_ngram_size", json!(3), "unsupported_setting"),
            ("suppress_tokens", json!([1]), "unsupported_setting"),
            ("typical_p", json!(0.9), "unsupported_setting"),
            ("forced_eos_token_id", json!(2), "unsupported_setting"),
            ("temperature", json!(-1), "bad_metadata"),
            ("temperature", json!("hot"), "bad_metadata"),
            ("top_k", json!(-1), "bad_metadata"),
            ("top_p", json!(1.5), "bad_metadata"),
            ("repetition_penalty", json!(0), "bad_metadata"),
            ("do_sample", json!(1), "bad_metadata"),
        ] {
            let error = read(json!({ name: value })).unwrap_err();
            assert_eq!(error.kind().name(), code, "{error}");
            assert!(error.message().contains(name), "{error}");
        }
    }
}
