//! Reads the members of a `config.json` that families have in common.

mod gemma;
mod heads;
pub mod irrelevant;
mod llama;
mod rotary;
mod windows;

pub use rotary::{RotaryScaling, RotarySettings};

pub(super) use gemma::{Gemma, OF_GEMMA};
pub(super) use heads::{Usual, UsualHeads};
pub(super) use llama::LlamaUsual;
pub(super) use rotary::{HeadSizes, Kinds, RotaryRules, rotary_alone};

use crate::error::{Error, ErrorKind};
use crate::limit::Limit;
use crate::model::config::{Activation, Config, Heads};
use crate::text::json::{Fault, Object, Read, Value};

/// The members of a `config.json`, to be converted to a [`Config`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings<'o, 't> {
    pub(super) object: &'o Object<'t>,
}

/// A family's names of the sizes that all models have.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizeNames {
    pub(super) layers: &'static str,
    pub(super) hidden: &'static str,
    pub(super) heads: &'static str,
    pub(super) intermediate: &'static str,
    /// `None` if the model has no limit.
    pub(super) positions: Option<&'static str>,
}

impl SizeNames {
    pub(super) const USUAL: Self = Self {
        layers: "num_hidden_layers",
        hidden: "hidden_size",
        heads: "num_attention_heads",
        intermediate: "intermediate_size",
        positions: Some("max_position_embeddings"),
    };
}

/// The values of `hidden_act` and their meaning.
pub(super) type Activations = &'static [(&'static str, Activation)];

/// The activations of BERT-like models.
pub(super) const OF_BERT: Activations = &[
    ("gelu", Activation::Gelu),
    ("gelu_python", Activation::Gelu),
    ("gelu_new", Activation::GeluTanh),
    ("gelu_fast", Activation::GeluTanh),
    ("gelu_pytorch_tanh", Activation::GeluTanh),
    ("relu", Activation::Relu),
];

/// The activations of Llama-like models.
pub(super) const OF_LLAMA: Activations = &[("silu", Activation::Silu), ("swish", Activation::Silu)];

/// The suffix of classifier architectures.
const CLASSIFIES: &str = "ForSequenceClassification";
/// The suffix of architectures of causal models.
const CONTINUES: &str = "ForCausalLM";

impl<'t> Settings<'_, 't> {
    /// Marks members as known that have no effect.
    pub(super) fn known(&self, names: &[&str]) {
        for name in names {
            let _ = self.object.get(name);
        }
    }

    /// Returns true if the file describes a classifier.
    pub(super) fn classifies(&self) -> Read<'t, bool> {
        self.has_architecture(CLASSIFIES)
    }

    /// Returns true if the file describes a causal model.
    pub(super) fn continues(&self) -> Read<'t, bool> {
        self.has_architecture(CONTINUES)
    }

    fn has_architecture(&self, suffix: &str) -> Read<'t, bool> {
        let ends = |it: Value<'t>| it.as_text().is_some_and(|name| name.ends_with(suffix));
        Ok(self.object.items("architectures")?.any(ends))
    }

    /// Rejects members that are neither absent nor false.
    pub(super) fn off(&self, names: &[&'static str]) -> Read<'t, ()> {
        let is_off = |value: Value<'t>| value.as_bool() == Some(false);
        names
            .iter()
            .try_for_each(|name| self.object.neutral(name, "only false is honoured", is_off))
    }

    /// Rejects members that are neither absent nor `number`.
    pub(super) fn numbers(
        &self,
        number: f64,
        only: &'static str,
        names: &[&'static str],
    ) -> Read<'t, ()> {
        let is_neutral = |value: Value<'t>| value.as_f64() == Some(number);
        names.iter().try_for_each(|name| self.object.neutral(name, only, is_neutral))
    }

    /// Rejects members that are not absent.
    pub(super) fn absent(&self, names: &[&'static str]) -> Read<'t, ()> {
        let only = "it is honoured only where it is absent or null";
        names.iter().try_for_each(|name| self.object.neutral(name, only, |_| false))
    }

    /// Rejects a string that is not one of `texts`.
    pub(super) fn only(
        &self,
        name: &'static str,
        only: &'static str,
        texts: &[&str],
    ) -> Read<'t, ()> {
        self.object.neutral(name, only, |value| texts.iter().any(|text| value.is_text(text)))
    }

    /// A number from 1 to a limit.
    pub(super) fn limited(&self, name: &'static str, limit: Limit) -> Read<'t, Option<usize>> {
        let Some(number) = self.object.integer(name)? else { return Ok(None) };
        if number == 0 {
            return Err(self.object.bad(name, "a positive number is needed"));
        }
        let fault = self.object.bad(name, "");
        let error = Error::new(fault.error.offset().unwrap_or(0), ErrorKind::OverLimit);
        limit.check(number).map(Some).map_err(|_| Fault { error, ..fault })
    }

    /// An optional size.
    pub(super) fn optional(&self, name: &'static str) -> Read<'t, Option<usize>> {
        self.limited(name, Limit::SIZE)
    }

    /// A required size.
    pub(super) fn size(&self, name: &'static str) -> Read<'t, usize> {
        self.object.needed(name, self.optional(name)?)
    }

    /// Returns true if there is a member of this name, even if it is null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.object.value().member(name).is_some()
    }

    /// A boolean with a default.
    pub(super) fn truth(&self, name: &'static str, usual: bool) -> Read<'t, bool> {
        Ok(self.object.truth(name)?.unwrap_or(usual))
    }

    /// A positive number, such as the epsilon of norms or the base of rotary frequencies.
    pub(super) fn positive(&self, name: &'static str) -> Read<'t, Option<f32>> {
        let Some(number) = self.object.number(name)? else { return Ok(None) };
        #[allow(clippy::cast_possible_truncation)] // models are not this precise
        let number = number as f32;
        let is_positive = number.is_finite() && number > 0.0;
        let bad = || self.object.bad(name, "a positive number is needed");
        is_positive.then_some(Some(number)).ok_or_else(bad)
    }

    /// The activation of the feed-forward layer.
    pub(super) fn activation(
        &self,
        name: &'static str,
        usual: Activation,
        known: Activations,
        only: &'static str,
    ) -> Read<'t, Activation> {
        let Some(value) = self.object.get(name) else { return Ok(usual) };
        let found = known.iter().find(|(known, _)| value.is_text(known));
        found.map(|(_, activation)| *activation).ok_or_else(|| self.object.unsupported(name, only))
    }

    /// `usual` with the sizes of the model, and heads that divide its vectors evenly.
    pub(super) fn sized(&self, names: &SizeNames, usual: Config) -> Read<'t, Config> {
        let (hidden, heads) = (self.size(names.hidden)?, self.size(names.heads)?);
        let layers = self.limited(names.layers, Limit::LAYERS)?;
        let size = hidden.checked_div(heads).unwrap_or(0);
        Ok(Config {
            layers: self.object.needed(names.layers, layers)?,
            heads: Heads { query: heads, key_value: heads, size },
            hidden,
            intermediate: self.size(names.intermediate)?,
            vocabulary: self.size("vocab_size")?,
            positions: names.positions.map_or(Ok(Limit::SIZE.most), |name| self.size(name))?,
            ..usual
        })
    }

    /// Rejects heads that do not divide the model's vectors.
    pub(super) fn even_heads(&self, names: &SizeNames, config: &Config) -> Read<'t, ()> {
        let is_even = config.heads.width() == config.hidden;
        let bad = || self.object.bad(names.heads, "it does not divide the elements of a vector");
        is_even.then_some(()).ok_or_else(bad)
    }

    /// Reads the heads of models in which several queries share a key and heads may have any size;
    /// `usual` has the defaults.
    pub(super) fn shared_heads(&self, mut config: Config, usual: UsualHeads) -> Read<'t, Config> {
        const SIZE: &str = "head_dim";
        const SHARED: &str = "num_key_value_heads";
        let heads = &mut config.heads;
        let even = (heads.size, heads.query);
        heads.size = self.usual(SIZE, usual.size, even.0)?;
        heads.key_value = self.usual(SHARED, usual.key_value, even.1)?;
        if heads.size == 0 || heads.width() > Limit::SIZE.most {
            return Err(self.object.bad("head_dim", "it does not fit the other sizes"));
        }
        match heads.query.checked_rem(heads.key_value) {
            Some(0) => Ok(config),
            _ => Err(self.object.bad("num_key_value_heads", "it does not divide the heads")),
        }
    }

    /// A size, or its default.
    fn usual(&self, name: &'static str, usual: Usual, even: usize) -> Read<'t, usize> {
        match (self.optional(name)?, usual) {
            (Some(size), _) => Ok(size),
            // Null stands for the size derived from the others.
            (None, Usual::Size(size)) if !self.has(name) => Ok(size),
            (None, Usual::Needed) => self.object.needed(name, None),
            (None, _) => Ok(even),
        }
    }

    /// Rejects features of any family that are not supported.
    pub(super) fn reject_unsupported(&self) -> Read<'t, ()> {
        self.off(&["add_cross_attention", "tie_encoder_decoder"])?;
        self.absent(&["quantization_config", "cross_attention_hidden_size"])?;
        self.object.neutral("pruned_heads", "pruned heads are not honoured", |value| {
            value.members().count() == 0
        })
    }
}
