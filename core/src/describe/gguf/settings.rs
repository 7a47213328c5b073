//! What the metadata of a GGUF file say of a decoder, read in one pass: each key of the model's
//! architecture and of its tokenizer is *used*, *known to change nothing*, or *refused by name*.

use super::{GgufModel, gguf_architecture, gguf_model, unsigned};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::model::config::Config;
use crate::model::family::llama::{Biases, is_decoder_tensor_of};

/// A key or tensor of a file that asks for something that is not done here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GgufRefusal<'a> {
    /// The key of the metadata, or the name of the tensor.
    pub name: &'a str,
    /// Where it stands.
    pub offset: u64,
    /// What would be honoured, or why nothing is.
    pub reason: &'static str,
    pub(super) kind: ErrorKind,
}

impl<'a> GgufRefusal<'a> {
    pub(super) const fn new(name: &'a str, reason: &'static str) -> Self {
        Self { name, offset: 0, reason, kind: ErrorKind::UnsupportedSetting }
    }

    /// The same without words.
    #[must_use]
    pub const fn error(&self) -> Error {
        Error::new(self.offset, self.kind)
    }

    /// Refuses what stands at `offset`.
    #[cfg(feature = "families")]
    pub(crate) const fn at(name: &'a str, offset: u64, reason: &'static str) -> Self {
        Self { offset, ..Self::new(name, reason) }
    }

    /// The same with another code.
    #[cfg(feature = "families")]
    #[must_use]
    pub(crate) const fn of_kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// Refuses a tensor that the model would not use.
    pub(crate) const fn of_tensor(name: &'a str, offset: u64) -> Self {
        let reason = "no model that is known here uses such a tensor";
        Self { offset, ..Self::new(name, reason) }
    }

    pub(crate) const fn missing(name: &'a str) -> Self {
        let reason = "it is missing, and there is no usual value";
        Self { name, offset: 0, reason, kind: ErrorKind::MissingMetadata }
    }
}

/// What becomes of a key.
#[derive(Clone, Copy)]
enum Rule {
    /// It is read, which may refuse it.
    Used,
    /// It is read, be it a list or not.
    List,
    /// A number that is read.
    Number,
    /// A text that is read.
    Word,
    /// A truth value that is read.
    Truth,
    /// The id of a token, which is read.
    Id,
    /// It changes no result.
    Irrelevant,
    /// Nothing is done with it; 0, `false` and an empty list ask for nothing.
    Off,
    /// 1 and 0 ask for nothing.
    One,
    /// Only these words.
    Words(&'static [&'static str], &'static str),
}

use Rule::{Id, Irrelevant, List, Number, Off, One, Truth, Used, Word, Words};

/// Keys behind the name of the architecture and a point.
const ARCHITECTURE: &[(&str, Rule)] = &[
    ("context_length", Number),
    ("embedding_length", Number),
    ("block_count", Number),
    ("feed_forward_length", Number),
    ("attention.head_count", Number),
    ("attention.head_count_kv", Number),
    ("attention.key_length", Number),
    ("attention.value_length", Number),
    ("attention.layer_norm_rms_epsilon", Number),
    ("attention.sliding_window", Number),
    ("attention.scale", Number),
    ("pooling_type", Number),
    ("rope.dimension_count", Number),
    ("rope.freq_base", Number),
    ("rope.freq_base_swa", Number),
    ("rope.scale_linear", Number),
    ("rope.scaling.type", Word),
    ("rope.scaling.factor", Number),
    ("rope.scaling.original_context_length", Number),
    ("rope.scaling.attn_factor", Number),
    ("rope.scaling.yarn_attn_factor", Number),
    ("rope.scaling.yarn_ext_factor", One),
    ("rope.scaling.yarn_beta_fast", Number),
    ("rope.scaling.yarn_beta_slow", Number),
    ("rope.scaling.yarn_log_multiplier", Off),
    ("rope.scaling.finetuned", Irrelevant),
    ("vocab_size", Number),
    ("attention.layer_norm_epsilon", Irrelevant),
    // Where it is not read, a text is never longer than the window.
    ("attention.sliding_window_pattern", List),
    ("classifier.output_labels", Irrelevant),
    ("attention.causal", Words(&["true"], "only causal attention is honoured")),
    ("attention.clamp_kqv", Off),
    ("attention.max_alibi_bias", Off),
    ("attn_logit_softcapping", Off),
    ("final_logit_softcapping", Off),
    ("expert_count", Off),
    ("expert_used_count", Off),
    ("expert_shared_count", Off),
    ("nextn_predict_layers", Off),
    ("use_parallel_residual", Off),
    ("logit_scale", One),
    ("embedding_scale", One),
    ("residual_scale", One),
    ("hidden_activation", Used),
    (
        "tensor_data_layout",
        Words(&["Meta AI original pth"], "only `Meta AI original pth` is honoured"),
    ),
];

/// Keys behind `tokenizer.ggml.`.
const TOKENIZER: &[(&str, Rule)] = &[
    ("model", Word),
    ("pre", Word),
    ("tokens", List),
    ("token_type", List),
    ("merges", List),
    ("scores", List),
    ("bos_token_id", Id),
    ("eos_token_id", Id),
    ("eot_token_id", Id),
    ("eom_token_id", Id),
    ("fim_pad_token_id", Id),
    ("fim_rep_token_id", Id),
    ("fim_sep_token_id", Id),
    ("add_bos_token", Truth),
    ("add_eos_token", Truth),
    ("add_space_prefix", Truth),
    ("remove_extra_whitespaces", Truth),
    ("padding_token_id", Id),
    ("unknown_token_id", Irrelevant),
    ("seperator_token_id", Irrelevant),
    ("separator_token_id", Irrelevant),
    ("mask_token_id", Irrelevant),
    ("cls_token_id", Irrelevant),
    ("prefix_token_id", Irrelevant),
    ("suffix_token_id", Irrelevant),
    ("middle_token_id", Irrelevant),
    ("fim_pre_token_id", Irrelevant),
    ("fim_suf_token_id", Irrelevant),
    ("fim_mid_token_id", Irrelevant),
    ("token_type_count", Irrelevant),
    ("added_tokens", Irrelevant),
    ("chat_template", Irrelevant),
    ("add_sep_token", Off),
    ("precompiled_charsmap", Off),
    ("suppress_tokens", Off),
    ("normalizer.lowercase", Off),
    ("normalizer.strip_accents", Off),
];

const TOKENIZER_PREFIX: &str = "tokenizer.ggml.";
const UNKNOWN: &str = "it is not known here, so what it changes would be lost";
const NOT_DONE: &str = "nothing is done with it here";

/// A value and where its key stands.
#[derive(Clone, Copy)]
struct Setting<'a> {
    key: &'a str,
    offset: u64,
    value: Value<'a>,
}

/// Where all keys that are used stand: nobody has memory for their values. 0 is no place of any.
pub(super) struct Settings<'a> {
    file: Gguf<'a>,
    pub(super) architecture: &'a str,
    model: [u64; ARCHITECTURE.len()],
    tokenizer: [u64; TOKENIZER.len()],
}

impl<'a> Settings<'a> {
    /// No settings yet, of a file with a decoder.
    pub(super) fn unread(file: &Gguf<'a>) -> Result<Self> {
        let unsupported = Error::without_offset(ErrorKind::UnsupportedArchitecture);
        let is_decoder = gguf_model(file)? == GgufModel::Decoder;
        let architecture = gguf_architecture(file).filter(|_| is_decoder).ok_or(unsupported)?;
        let (model, tokenizer) = ([0; ARCHITECTURE.len()], [0; TOKENIZER.len()]);
        Ok(Self { file: *file, architecture, model, tokenizer })
    }

    /// Reads the metadata.
    #[inline(never)] // it is long, and there once
    pub(super) fn read(&mut self) -> core::result::Result<(), GgufRefusal<'a>> {
        let mut metadata = self.file.metadata();
        loop {
            let offset = metadata.offset();
            let Some((key, value)) = metadata.next() else { return Ok(()) };
            let own = key.strip_prefix(self.architecture).and_then(|key| key.strip_prefix('.'));
            let (name, rules, places) = match (own, key.strip_prefix(TOKENIZER_PREFIX)) {
                (Some(name), _) => (name, ARCHITECTURE, &mut self.model[..]),
                (None, Some(name)) => (name, TOKENIZER, &mut self.tokenizer[..]),
                (None, None) => continue,
            };
            let refuse = |reason| GgufRefusal { offset, ..GgufRefusal::new(key, reason) };
            let known = rules.iter().zip(places).find(|((known, _), _)| *known == name);
            let ((_, rule), place) = known.ok_or_else(|| refuse(UNKNOWN))?;
            match rule {
                Number if matches!(value, Value::Array { .. }) => {
                    return Err(refuse("one value for all layers is honoured, not a list"));
                }
                Number if number(value).is_none() => return Err(refuse("it is no number")),
                Word if text(value).is_none() => return Err(refuse("it is no text")),
                Truth if !matches!(value, Value::Bool(_)) => {
                    return Err(refuse("it is neither true nor false"));
                }
                Id if unsigned(value).is_none() => return Err(refuse("it is no id of a token")),
                Used | List | Number | Word | Truth | Id => *place = offset,
                Irrelevant => {}
                Off if is_off(value) => {}
                One if is_off(value) || number(value) == Some(1.0) => {}
                Off | One => return Err(refuse(NOT_DONE)),
                Words(words, reason) => {
                    let is_known = match value {
                        Value::Text(word) => words.contains(&word),
                        Value::Bool(truth) => truth && words.contains(&"true"),
                        _ => false,
                    };
                    if !is_known {
                        return Err(refuse(reason));
                    }
                }
            }
        }
    }

    fn model(&self, name: &str) -> Option<Setting<'a>> {
        self.setting_of(ARCHITECTURE, &self.model, name)
    }

    fn tokenizer(&self, name: &str) -> Option<Setting<'a>> {
        self.setting_of(TOKENIZER, &self.tokenizer, name)
    }

    #[inline(never)] // there once for all names
    fn setting_of(
        &self,
        rules: &[(&str, Rule)],
        places: &[u64],
        name: &str,
    ) -> Option<Setting<'a>> {
        let place = rules.iter().position(|(known, _)| *known == name)?;
        let offset = *places.get(place).filter(|offset| **offset != 0)?;
        let (key, value) = self.file.pair(offset)?;
        Some(Setting { key, offset, value })
    }

    /// The key and the value that stand under a name of the architecture's.
    pub(super) fn setting(&self, name: &str) -> Option<(&'a str, Value<'a>)> {
        self.model(name).map(|setting| (setting.key, setting.value))
    }

    /// The number under a key of the architecture.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        number(self.model(name)?.value)
    }

    /// The text under a key of the architecture.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        text(self.model(name)?.value)
    }

    /// The value under a key of the tokenizer.
    pub(super) fn of_tokenizer(&self, name: &str) -> Option<Value<'a>> {
        self.tokenizer(name).map(|setting| setting.value)
    }

    /// Refuses the value of a key of the architecture.
    pub(super) fn refuse(&self, name: &'static str, reason: &'static str) -> GgufRefusal<'a> {
        match self.model(name) {
            Some(setting) => {
                GgufRefusal { offset: setting.offset, ..GgufRefusal::new(setting.key, reason) }
            }
            None => GgufRefusal::missing(name),
        }
    }

    /// Refuses the value of a key of the tokenizer.
    pub(super) fn refuse_tokenizer(
        &self,
        key: &'static str,
        reason: &'static str,
    ) -> GgufRefusal<'a> {
        let name = key.strip_prefix(TOKENIZER_PREFIX).unwrap_or(key);
        match self.tokenizer(name) {
            Some(setting) => {
                GgufRefusal { offset: setting.offset, ..GgufRefusal::new(setting.key, reason) }
            }
            None => GgufRefusal::missing(key),
        }
    }
}

/// Refuses tensors that a decoder of these settings would not use: with them another model is
/// meant.
pub(super) fn check_tensors<'a>(
    file: &Gguf<'a>,
    config: &Config,
    biases: Biases,
) -> core::result::Result<(), GgufRefusal<'a>> {
    let mut tensors = file.tensors();
    match tensors.find(|tensor| !is_decoder_tensor_of(tensor.header().name, config, biases)) {
        Some(tensor) => {
            let header = tensor.header();
            Err(GgufRefusal::of_tensor(header.name, header.offset))
        }
        None => Ok(()),
    }
}

pub(super) fn number(value: Value<'_>) -> Option<f64> {
    #[allow(clippy::cast_precision_loss)] // sizes are far below 2⁵³
    match value {
        Value::Unsigned(number) => Some(number as f64),
        Value::Signed(number) => Some(number as f64),
        Value::Float(number) => Some(number),
        _ => None,
    }
}

const fn text(value: Value<'_>) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn is_off(value: Value<'_>) -> bool {
    match value {
        Value::Bool(truth) => !truth,
        Value::Text(text) => text.is_empty(),
        Value::Array { count } => count == 0,
        _ => number(value) == Some(0.0),
    }
}
