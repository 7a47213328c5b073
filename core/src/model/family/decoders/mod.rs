//! Decoders of all families, read from their `config.json`.
//!
//! Every member of the file is used, listed in [`irrelevant::CONFIG`] or here, or rejected by name.

mod family;
mod gemma;
mod llama;

pub use family::DecoderFamily;

use super::llama::Biases;
use super::settings::{RotarySettings, Settings, irrelevant};
use crate::error::{Error, ErrorKind};
use crate::model::config::Config;
use crate::text::json::{Fault, Object, Read, Value};

/// A decoder as described by its `config.json`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct DecoderModel<'t> {
    /// Its family.
    pub family: DecoderFamily,
    /// The configuration of its transformer, without the divisors of rotary frequencies: see
    /// [`rotary`](Self::rotary).
    pub config: Config,
    /// The layers that have biases.
    pub biases: Biases,
    /// True if the output layer shares the token table.
    pub is_tied: bool,
    /// The largest number of tokens in a text, if the window is smaller than the model's positions.
    pub limit: Option<usize>,
    /// The rotary positions of layers without a window.
    pub rotary: RotarySettings<'t>,
}

/// Further irrelevant members, which only decoders have.
const OF_DECODERS: &[&str] = &[
    "auto_map",
    "is_llama_config",
    "max_sequence_length",
    // A text is never longer than the window.
    "max_window_layers",
    "use_sliding_window",
];

/// Reads the decoder described by a `config.json`.
///
/// # Errors
///
/// [`ErrorKind::UnsupportedArchitecture`] at `model_type` for another family;
/// [`ErrorKind::MissingMetadata`], [`ErrorKind::BadMetadata`], [`ErrorKind::OverLimit`] or
/// [`ErrorKind::UnsupportedSetting`] at the member that is missing, invalid, too large, or
/// unsupported.
pub fn read_decoder_config<'t>(config: Value<'t>) -> Read<'t, DecoderModel<'t>> {
    let object = Object::new(config)?;
    let settings = Settings { object: &object };
    let kind = object.needed("model_type", object.get("model_type"))?;
    let family = kind.as_text().and_then(DecoderFamily::from_model_type);
    let Some(family) = family else {
        let error = Error::new(kind.offset(), ErrorKind::UnsupportedArchitecture);
        return Err(Fault {
            error,
            key: "model_type",
            only: "it is no decoder that is known here",
        });
    };
    settings.reject_unsupported()?;
    settings.off(&["is_encoder_decoder"])?;
    reject_other_decoders(&settings)?;
    let read = match family {
        DecoderFamily::Gemma3 => gemma::read(&settings)?,
        _ => llama::read(&settings, family)?,
    };
    // The special tokens are read elsewhere.
    settings.known(&["bos_token_id", "eos_token_id"]);
    settings.known(OF_DECODERS);
    object.finish(irrelevant::CONFIG)?;
    Ok(read)
}

/// Rejects features of other models of these types, unless they are off.
fn reject_other_decoders<'t>(settings: &Settings<'_, 't>) -> Read<'t, ()> {
    settings.off(&["lm_head_bias", "qk_norm", "use_qk_norm", "use_mrope", "rope_interleaved"])?;
    settings
        .object
        .neutral("is_decoder", "true or false is needed", |value| value.as_bool().is_some())?;
    settings.numbers(
        1.0,
        "only 1 is honoured",
        &[
            "full_attn_mod",
            "interpolate_factor",
            "logit_scale",
            "embedding_multiplier",
            "rotary_pct",
        ],
    )?;
    let experts = ["num_experts", "num_local_experts", "num_experts_per_tok"];
    settings.numbers(0.0, "only 0 is honoured", &experts)
}
