//! Decoders of all families by their `config.json`.
//!
//! Every member of the file is used, listed in [`irrelevant::CONFIG`] or here, or refused by name.

mod family;
mod gemma;
mod llama;

pub use family::DecoderFamily;

use super::llama::Biases;
use super::settings::{RotarySettings, Settings, irrelevant};
use crate::error::{Error, ErrorKind};
use crate::model::config::Config;
use crate::text::json::{Fault, Object, Read, Value};

/// A decoder as its `config.json` describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct DecoderModel<'t> {
    /// Its family.
    pub family: DecoderFamily,
    /// What its transformer is. Divisors of rotary frequencies are not in it: see
    /// [`rotary`](Self::rotary).
    pub config: Config,
    /// Which of its layers have biases.
    pub biases: Biases,
    /// Whether the output layer is the table of embeddings.
    pub is_tied: bool,
    /// The tokens that one sees, itself among them, where they are fewer than the model's positions
    /// would allow: texts are not longer.
    pub limit: Option<usize>,
    /// How layers turn heads that see all tokens.
    pub rotary: RotarySettings<'t>,
}

/// Members that decoders have beside those of any model, and that change nothing here.
const OF_DECODERS: &[&str] = &[
    "auto_map",
    "is_llama_config",
    "max_sequence_length",
    // A text is never longer than the window.
    "max_window_layers",
    "use_sliding_window",
];

/// The decoder that a `config.json` describes.
///
/// # Errors
///
/// [`ErrorKind::UnsupportedArchitecture`] at `model_type` for another family;
/// [`ErrorKind::MissingMetadata`], [`ErrorKind::BadMetadata`], [`ErrorKind::OverLimit`] or
/// [`ErrorKind::UnsupportedSetting`] at the member that is missing, no such value, too large, or
/// something that is not done here.
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
    settings.refuse_what_is_not_done()?;
    refuse_what_other_decoders_do(&settings)?;
    let read = match family {
        DecoderFamily::Gemma3 => gemma::read(&settings)?,
        _ => llama::read(&settings, family)?,
    };
    // The tokens around texts are read apart.
    settings.known(&["bos_token_id", "eos_token_id"]);
    settings.known(OF_DECODERS);
    object.finish(irrelevant::CONFIG)?;
    Ok(read)
}

/// Refuses what other models of these types do, unless it is off.
fn refuse_what_other_decoders_do<'t>(settings: &Settings<'_, 't>) -> Read<'t, ()> {
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
