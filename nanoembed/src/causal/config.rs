//! The sizes and habits of a decoder by its `config.json`: each member is used, known to change
//! nothing, or refused by name.

use serde_json::{Map, Value, json};

use super::rotary::{HeadSizes, Rotary};
use crate::error::Result;
use crate::open::settings_rule::{Members, irrelevant};

/// What is read.
#[derive(Clone, Debug)]
pub struct Sizes {
    pub is_phi: bool,
    pub hidden: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub head: u64,
    pub layers: u64,
    pub intermediate: u64,
    pub vocabulary: u64,
    /// Positions, as far as every token sees all before it.
    pub positions: u64,
    /// The positions that a token sees, where they are fewer than all.
    pub window: Option<u64>,
    pub norm_epsilon: f64,
    pub is_tied: bool,
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

/// The window of the first Mistral, which is meant where nothing is said.
const MISTRAL_WINDOW: u64 = 4096;
const MISTRAL_KV_HEADS: u64 = 8;

impl Sizes {
    /// Reads a `config.json` of the type `llama`, `mistral`, `phi3` or `qwen2`.
    pub fn of(config: &Members<'_>) -> Result<Self> {
        let kind = config.text("model_type")?.unwrap_or_default().to_owned();
        let is_phi = kind == "phi3";
        refuse_what_is_not_done(config)?;
        let optional = |name: &str| -> Result<Option<u64>> {
            let Some(value) = config.get(name) else { return Ok(None) };
            let size = value.as_u64().filter(|size| *size > 0);
            size.map(Some).ok_or_else(|| config.bad(name, "is not a positive number"))
        };
        let size = |name: &str| {
            optional(name)?.ok_or_else(|| config.bad(name, "is missing or not a positive number"))
        };
        let (hidden, heads) = (size("hidden_size")?, size("num_attention_heads")?);
        let is_absent = |name: &str| !config.has(name);
        let kv_heads = match optional("num_key_value_heads")? {
            Some(heads) => heads,
            None if kind == "mistral" && is_absent("num_key_value_heads") => MISTRAL_KV_HEADS,
            None => heads,
        };
        let head = optional("head_dim")?.unwrap_or(hidden / heads);
        let context = size("max_position_embeddings")?;
        let has_window = kind != "qwen2" || config.truth("use_sliding_window")?.unwrap_or(false);
        let window = match config.get("sliding_window") {
            _ if !has_window => None,
            None if kind == "mistral" && is_absent("sliding_window") => Some(MISTRAL_WINDOW),
            None => None,
            Some(_) => optional("sliding_window")?,
        };
        let sizes = HeadSizes {
            head: usize::try_from(head).unwrap_or(usize::MAX),
            positions: context,
            is_phi,
        };
        if !(2..=1 << 24).contains(&head) {
            return Err(config.bad("head_dim", "does not follow from the other sizes"));
        }
        let read = Self {
            is_phi,
            hidden,
            heads,
            kv_heads,
            head,
            layers: size("num_hidden_layers")?,
            intermediate: size("intermediate_size")?,
            vocabulary: size("vocab_size")?,
            // Beyond its window a token would see less than here.
            positions: window.map_or(context, |window| window.min(context)),
            window: window.filter(|window| *window < context),
            norm_epsilon: config.number("rms_norm_eps")?.unwrap_or(if is_phi {
                1e-5
            } else {
                1e-6
            }),
            is_tied: config.truth("tie_word_embeddings")?.unwrap_or(false),
            rotary: Rotary::of(config, sizes)?,
        };
        // The tokens around texts are read apart.
        ["bos_token_id", "eos_token_id"].iter().for_each(|name| {
            config.get(name);
        });
        config.finish(&[irrelevant::CONFIG, IRRELEVANT].concat())?;
        Ok(read)
    }

    /// The members of an AMB configuration.
    pub fn members(&self) -> Map<String, Value> {
        let sizes = [
            ("architecture", json!(if self.is_phi { "phi" } else { "llama" })),
            ("n_vocab", json!(self.vocabulary)),
            ("n_embd", json!(self.hidden)),
            ("n_layers", json!(self.layers)),
            ("n_heads", json!(self.heads)),
            ("n_kv_heads", json!(self.kv_heads)),
            ("head_dim", json!(self.head)),
            ("max_seq_len", json!(self.positions)),
            ("is_rope", json!(true)),
            ("activation_fn", json!("swiglu")),
            ("rms_norm_eps", json!(self.norm_epsilon)),
            ("intermediate_size", json!(self.intermediate)),
        ];
        let all = sizes.into_iter().chain(self.rotary.members());
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Refuses what other models of these types do, unless it is off.
fn refuse_what_is_not_done(config: &Members<'_>) -> Result<()> {
    let off = [json!(false)];
    config.neutral("hidden_act", &[json!("silu"), json!("swish")])?;
    for name in [
        "attention_bias",
        "mlp_bias",
        "lm_head_bias",
        "qk_norm",
        "use_qk_norm",
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
    for kind in config.items("layer_types")? {
        // A text is never longer than the window of a sliding layer.
        if !matches!(kind.as_str(), Some("full_attention" | "sliding_attention")) {
            let only = "only full_attention and sliding_attention are honoured";
            return Err(config.unsupported("layer_types", only));
        }
    }
    Ok(())
}
