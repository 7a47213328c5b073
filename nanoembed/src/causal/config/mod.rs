//! The sizes and habits of a decoder by its `config.json`: each member is used, known to change
//! nothing, or refused by name.

mod family;
mod window;

use nanoembed_core::model::Window;
use nanoembed_core::model::llama::Biases;
use serde_json::{Map, Value, json};

use super::rotary::{HeadSizes, Rotary};
use crate::error::Result;
use crate::open::settings_rule::{Members, irrelevant};

pub use family::Family;
use window::Windows;

/// What is read.
#[derive(Clone, Debug)]
pub struct Sizes {
    pub family: Family,
    pub hidden: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub head: u64,
    pub layers: u64,
    pub intermediate: u64,
    pub vocabulary: u64,
    /// Positions, as far as every token sees all before it in layers that are all alike.
    pub positions: u64,
    /// The positions that a token sees, where they are fewer than all.
    pub window: Option<u64>,
    /// The window of most layers, where some have none.
    pub alternating: Option<Window>,
    pub norm_epsilon: f64,
    pub is_tied: bool,
    pub biases: Biases,
    /// What 1 is divided by the root of for the factor of scores, if that is not the size of a
    /// head.
    pub score_scalar: Option<f64>,
    pub rotary: Rotary,
}

/// Members that decoders have beside those of any model, and that change nothing here.
const IRRELEVANT: &[&str] = &[
    "auto_map",
    "is_llama_config",
    "max_sequence_length",
    // A text is never longer than the window.
    "max_window_layers",
    "use_sliding_window",
];

const MISTRAL_KV_HEADS: u64 = 8;

/// What the factor of Gemma's scores is made from where nothing is said.
const GEMMA_SCALAR: f64 = 256.0;

impl Sizes {
    /// Reads a `config.json` of a family of decoders.
    pub fn of(config: &Members<'_>) -> Result<Self> {
        let kind = config.text("model_type")?.unwrap_or_default();
        let Some(family) = Family::of(kind) else {
            return Err(config.unsupported("model_type", "it is no decoder that is known here"));
        };
        refuse_what_is_not_done(config, family)?;
        let size = |name: &str| {
            optional(config, name)?
                .ok_or_else(|| config.bad(name, "is missing or not a positive number"))
        };
        let (hidden, heads) = (size("hidden_size")?, size("num_attention_heads")?);
        let kv_heads = match optional(config, "num_key_value_heads")? {
            Some(heads) => heads,
            None if family == Family::Mistral && !config.has("num_key_value_heads") => {
                MISTRAL_KV_HEADS
            }
            // These would have a number of their own.
            None if family.has_encoders() => size("num_key_value_heads")?,
            None => heads,
        };
        let head = match optional(config, "head_dim")? {
            Some(head) => head,
            None if family.norms_queries_and_keys() => size("head_dim")?,
            None => hidden / heads,
        };
        let (layers, context) = (size("num_hidden_layers")?, size("max_position_embeddings")?);
        let Windows { limit, alternating } = Windows::of(config, family, layers)?;
        let sizes = HeadSizes {
            head: usize::try_from(head).unwrap_or(usize::MAX),
            positions: context,
            family,
        };
        if !(2..=1 << 24).contains(&head) {
            return Err(config.bad("head_dim", "does not follow from the other sizes"));
        }
        let score_scalar = match family {
            Family::Gemma3 => Some(score_scalar(config)?),
            _ => None,
        };
        let read = Self {
            family,
            hidden,
            heads,
            kv_heads,
            head,
            layers,
            intermediate: size("intermediate_size")?,
            vocabulary: size("vocab_size")?,
            // Beyond its window a token would see less than here.
            positions: limit.map_or(context, |window| window.min(context)),
            window: limit.filter(|window| *window < context),
            alternating,
            norm_epsilon: config.number("rms_norm_eps")?.unwrap_or(match family {
                Family::Phi3 => 1e-5,
                _ => 1e-6,
            }),
            is_tied: config.truth("tie_word_embeddings")?.unwrap_or(family == Family::Gemma3),
            biases: biases(config, family)?,
            score_scalar,
            rotary: Rotary::of(config, sizes)?,
        };
        // The tokens around texts are read apart.
        ["bos_token_id", "eos_token_id"].iter().for_each(|name| {
            config.get(name);
        });
        config.finish(&[irrelevant::CONFIG, IRRELEVANT].concat())?;
        Ok(read)
    }

    /// The factor of scores, if it is not 1 / √head.
    pub fn score_scale(&self) -> Option<f64> {
        self.score_scalar.map(|scalar| 1.0 / scalar.sqrt())
    }

    /// What a token's vector is multiplied with, if anything.
    pub fn embedding_scale(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2⁵³")]
        let root = || (self.hidden as f64).sqrt();
        (self.family == Family::Gemma3).then(root)
    }

    /// The members of an AMB configuration.
    pub fn members(&self) -> Map<String, Value> {
        let is_gemma = self.family == Family::Gemma3;
        let mut members = vec![
            ("architecture", json!(self.family.architecture())),
            ("n_vocab", json!(self.vocabulary)),
            ("n_embd", json!(self.hidden)),
            ("n_layers", json!(self.layers)),
            ("n_heads", json!(self.heads)),
            ("n_kv_heads", json!(self.kv_heads)),
            ("head_dim", json!(self.head)),
            ("max_seq_len", json!(self.positions)),
            ("is_rope", json!(true)),
            ("activation_fn", json!(if is_gemma { "geglu" } else { "swiglu" })),
            ("rms_norm_eps", json!(self.norm_epsilon)),
            ("intermediate_size", json!(self.intermediate)),
        ];
        if self.family.norms_queries_and_keys() {
            members.push(("query_key_norm", json!(1)));
        }
        if is_gemma {
            members.extend(["end_norms", "norm_offset", "gelu_tanh"].map(|it| (it, json!(1))));
        }
        let scales =
            [("embedding_scale", self.embedding_scale()), ("attention_scale", self.score_scale())];
        members.extend(scales.into_iter().filter_map(|(name, it)| Some((name, json!(it?)))));
        members.extend(self.alternating.iter().flat_map(window_members));
        let all = members.into_iter().chain(self.rotary.members());
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The members of an AMB configuration about a window that not all layers have.
pub fn window_members(window: &Window) -> [(&'static str, Value); 3] {
    [
        ("sliding_window", json!(window.reach.saturating_add(1))),
        ("sliding_window_every", json!(window.every)),
        ("sliding_window_first", json!(window.first)),
    ]
}

/// A size that may be absent.
fn optional(config: &Members<'_>, name: &str) -> Result<Option<u64>> {
    let Some(value) = config.get(name) else { return Ok(None) };
    let size = value.as_u64().filter(|size| *size > 0);
    size.map(Some).ok_or_else(|| config.bad(name, "is not a positive number"))
}

/// What Gemma's factor of scores is made from.
fn score_scalar(config: &Members<'_>) -> Result<f64> {
    const NAME: &str = "query_pre_attn_scalar";
    let scalar = config.number(NAME)?.unwrap_or(GEMMA_SCALAR);
    let is_good = scalar.is_finite() && scalar > 0.0;
    if is_good { Ok(scalar) } else { Err(config.bad(NAME, "is no positive number")) }
}

/// Which layers have biases.
fn biases(config: &Members<'_>, family: Family) -> Result<Biases> {
    let is = |name: &str| Ok::<_, crate::error::Error>(config.truth(name)?.unwrap_or(false));
    let (attention, feed_forward) = match family {
        Family::Llama => (is("attention_bias")?, is("mlp_bias")?),
        Family::Qwen3 | Family::Gemma3 => (is("attention_bias")?, false),
        Family::Qwen2 => return Ok(Biases { query_key_value: true, ..Biases::NONE }),
        Family::Mistral | Family::Phi3 => (false, false),
    };
    Ok(Biases { query_key_value: attention, attention_output: attention, feed_forward })
}

/// Refuses what other models of these types do, unless it is off.
fn refuse_what_is_not_done(config: &Members<'_>, family: Family) -> Result<()> {
    let off = [json!(false)];
    if family == Family::Gemma3 {
        let gelu = [json!("gelu_pytorch_tanh")];
        ["hidden_activation", "hidden_act"]
            .iter()
            .try_for_each(|name| config.neutral(name, &gelu))?;
        config.neutral("use_bidirectional_attention", &off)?;
        ["attn_logit_softcapping", "final_logit_softcapping"]
            .iter()
            .try_for_each(|name| config.neutral(name, &[]))?;
    } else {
        config.neutral("hidden_act", &[json!("silu"), json!("swish")])?;
    }
    if matches!(family, Family::Mistral | Family::Phi3) {
        config.neutral("attention_bias", &off)?;
    }
    if family == Family::Qwen2 {
        // It has the same biases whatever this says.
        config.truth("attention_bias")?;
    }
    if family != Family::Llama {
        config.neutral("mlp_bias", &off)?;
    }
    for name in [
        "lm_head_bias",
        "qk_norm",
        "use_qk_norm",
        "use_mrope",
        "add_cross_attention",
        "is_encoder_decoder",
        "tie_encoder_decoder",
    ] {
        config.neutral(name, &off)?;
    }
    config.neutral("is_decoder", &[json!(false), json!(true)])?;
    config.neutral("pruned_heads", &[json!({})])?;
    config.neutral("quantization_config", &[])?;
    for name in ["full_attn_mod", "interpolate_factor", "logit_scale", "embedding_multiplier"] {
        config.neutral(name, &[json!(1)])?;
    }
    for name in ["num_experts", "num_local_experts", "num_experts_per_tok"] {
        config.neutral(name, &[json!(0)])?;
    }
    Ok(())
}
