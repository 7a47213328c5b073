//! What GGUF calls a family, and what it says of its sizes and settings.

use nanoembed_core::model::config::Rope;
use nanoembed_core::model::{Activation, Config, FamilyModel, FeedForward, Mask, NormKind};

use crate::convert::writing::metadata::{Metadata, OwnValue};
use crate::error::{Error, Result};

/// An architecture of llama.cpp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Architecture {
    pub(super) name: &'static str,
    /// The types of models that it is for.
    types: &'static [&'static str],
    /// Whether only folders with modules that pool have an encoder of such a type.
    needs_modules: bool,
    /// Which tensors may have biases.
    pub(super) biases: Biases,
}

/// Which tensors of an architecture may have biases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Biases {
    All,
    OfNorms,
    None,
}

const ARCHITECTURES: &[Architecture] = &[
    Architecture {
        name: "bert",
        types: &["bert", "camembert", "distilbert", "roberta", "xlm-roberta"],
        needs_modules: false,
        biases: Biases::All,
    },
    Architecture {
        name: "nomic-bert",
        types: &["nomic_bert"],
        needs_modules: false,
        biases: Biases::OfNorms,
    },
    Architecture {
        name: "jina-bert-v3",
        types: &["jina_embeddings_v3"],
        needs_modules: false,
        biases: Biases::All,
    },
    Architecture {
        name: "modern-bert",
        types: &["modernbert"],
        needs_modules: false,
        biases: Biases::None,
    },
    Architecture {
        name: "gemma-embedding",
        types: &["gemma3_text"],
        needs_modules: true,
        biases: Biases::None,
    },
    Architecture {
        name: "eurobert",
        types: &["eurobert"],
        needs_modules: false,
        biases: Biases::None,
    },
    Architecture { name: "qwen3", types: &["qwen3"], needs_modules: true, biases: Biases::None },
];

/// Whether the settings are those of BERT, without activations of another kind.
pub(super) fn is_plain_bert(config: &Config) -> bool {
    config.feed_forward == FeedForward::Plain(Activation::Gelu)
}

impl Architecture {
    /// Whether a folder with a model of this type may have an encoder that is written.
    pub(super) fn may_have(kind: &str, has_modules: bool) -> bool {
        let of_kind = |it: &&Self| it.types.contains(&kind);
        ARCHITECTURES.iter().find(of_kind).is_some_and(|it| has_modules || !it.needs_modules)
    }

    /// The architecture of a model, which must be as llama.cpp computes it.
    pub(super) fn of(model: &FamilyModel, refuse: &dyn Fn(String) -> Error) -> Result<Self> {
        let found = ARCHITECTURES.iter().find(|it| it.types.contains(&model.family));
        let unknown = || refuse(format!("llama.cpp knows no models of type `{}`", model.family));
        let found = *found.ok_or_else(unknown)?;
        match found.difference(&model.config) {
            None => Ok(found),
            Some(what) => Err(refuse(format!(
                "{what}, for which GGUF has no words in models of the architecture `{}`",
                found.name
            ))),
        }
    }

    /// What a model has that llama.cpp would compute otherwise.
    fn difference(&self, config: &Config) -> Option<&'static str> {
        let gate = |activations: &[Activation]| match config.feed_forward {
            FeedForward::Gated(activation) => activations.contains(&activation),
            FeedForward::Plain(_) => false,
        };
        let activation_fits = match self.name {
            "bert" => matches!(
                config.feed_forward,
                FeedForward::Plain(Activation::Gelu | Activation::GeluTanh)
            ),
            "jina-bert-v3" => config.feed_forward == FeedForward::Plain(Activation::Gelu),
            "modern-bert" => gate(&[Activation::Gelu, Activation::Silu]),
            "gemma-embedding" => gate(&[Activation::GeluTanh]),
            _ => gate(&[Activation::Silu]),
        };
        let mask = if self.name == "qwen3" { Mask::Causal } else { Mask::Full };
        let is_turned_plainly = |rope: &Rope| {
            rope.position_divisor == 1.0 && rope.yarn.is_none() && rope.attention_factor == 1.0
        };
        let ropes = config.rotary.iter().flat_map(|rotary| [&rotary.global, &rotary.local]);
        let windows_fit = config.attention.window.is_none() || self.pattern(config).is_some();
        let needs_window = self.name == "gemma-embedding" && config.attention.window.is_none();
        let has_whole_heads = config.heads.width() == config.hidden;
        let may_have_others = matches!(self.name, "gemma-embedding" | "qwen3");
        let checks = [
            (activation_fits, "the model has another activation"),
            (config.attention.mask == mask, "the model has another attention mask"),
            (ropes.into_iter().all(is_turned_plainly), "the model scales its rotary positions"),
            (windows_fit && !needs_window, "the model has other windows"),
            (has_whole_heads || may_have_others, "the model has heads of another size"),
        ];
        checks.into_iter().find(|(fits, _)| !fits).map(|(_, what)| what)
    }

    /// Of how many layers one sees all tokens: the first of them, the last in Gemma. All layers have
    /// a window if it is 0.
    fn pattern(&self, config: &Config) -> Option<usize> {
        let window = config.attention.window?;
        let has_window = |pattern: usize, layer: usize| match layer.checked_rem(pattern) {
            None => true,
            Some(turn) if self.name == "modern-bert" => turn != 0,
            Some(turn) => turn + 1 != pattern,
        };
        let fits = |pattern: &usize| {
            (0..config.layers).all(|layer| has_window(*pattern, layer) == window.is_in(layer))
        };
        let is_known = matches!(self.name, "gemma-embedding" | "modern-bert");
        (0..=config.layers + 1).find(fits).filter(|_| is_known)
    }

    /// Adds what the file says of the transformer.
    pub(super) fn add(&self, metadata: &mut Metadata, config: &Config) -> Result<()> {
        let of = |key: &str| format!("{}.{key}", self.name);
        for (key, size) in [
            ("block_count", config.layers),
            ("context_length", config.positions),
            ("embedding_length", config.hidden),
            ("feed_forward_length", config.intermediate),
            ("attention.head_count", config.heads.query),
        ] {
            metadata.size(of(key), size)?;
        }
        if config.heads.key_value != config.heads.query {
            metadata.size(of("attention.head_count_kv"), config.heads.key_value)?;
        }
        if config.heads.width() != config.hidden {
            metadata.size(of("attention.key_length"), config.heads.size)?;
            metadata.size(of("attention.value_length"), config.heads.size)?;
        }
        let epsilon = match config.norm {
            NormKind::Layer => "attention.layer_norm_epsilon",
            NormKind::Rms { .. } => "attention.layer_norm_rms_epsilon",
        };
        metadata.add(of(epsilon), OwnValue::F32(config.epsilon));
        let is_causal = config.attention.mask == Mask::Causal;
        if !is_causal {
            metadata.add(of("attention.causal"), OwnValue::Bool(false));
        }
        if let Some(rotary) = config.rotary {
            metadata.add(of("rope.freq_base"), OwnValue::F32(rotary.global.base));
            if config.attention.window.is_some() {
                metadata.add(of("rope.freq_base_swa"), OwnValue::F32(rotary.local.base));
            }
        }
        if let Some(window) = config.attention.window {
            metadata.size(of("attention.sliding_window"), window.reach.saturating_mul(2))?;
            if let Some(pattern) = self.pattern(config) {
                metadata.size(of("attention.sliding_window_pattern"), pattern)?;
            }
        }
        match config.feed_forward {
            FeedForward::Plain(Activation::GeluTanh) => {
                // llama.cpp computes all GELUs by this approximation.
                metadata.text("nanoembed.hidden_act", "gelu_new");
            }
            FeedForward::Gated(Activation::Silu) if self.name == "modern-bert" => {
                metadata.text(of("hidden_activation"), "silu");
            }
            _ => {}
        }
        Ok(())
    }
}
