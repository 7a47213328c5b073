//! A GGUF file of a decoder of the Llama family: its sizes, and its tensors under the names of
//! Hugging Face.

use std::path::{Path, PathBuf};

use nanoembed_core::event::{Mode, Value};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::model::llama::rope::Yarn;
use nanoembed_core::model::llama::{LlamaConfig, Rope, RopePairs};
use nanoembed_core::model::{gguf_llama_config, gguf_model};
use nanoembed_core::quant;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use serde_json::json;

use super::rotary::{DIVISORS, LONG, SHORT};
use super::tokenizer::Tokenizer;
use crate::convert::checkpoint::tensor::{OwnedTensor, le_bytes, sizes};
use crate::error::{Error, Result, name_of};
use crate::files::mapped::Mapped;
use crate::stored::{explained, gguf_parts};

/// An open file.
pub struct GgufFile {
    path: PathBuf,
    bytes: Mapped,
}

impl GgufFile {
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = gguf_parts::whole(path, Mapped::open(path)?)?;
        let file = Self { path: path.to_owned(), bytes };
        gguf_model(&file.parse()?).map_err(|error| file.failure(error))?;
        Ok(file)
    }

    fn parse(&self) -> Result<Gguf<'_>> {
        Gguf::parse(&self.bytes, Mode::Lenient).map_err(|error| self.failure(error))
    }

    fn failure(&self, error: CoreError) -> Error {
        explained::failure(&name_of(&self.path), &self.bytes, error)
    }

    fn text(&self, key: &str) -> Option<String> {
        match self.parse().ok()?.value(key)? {
            Value::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }

    pub fn model_name(&self) -> Option<String> {
        self.text("general.name")
    }

    /// Words about the model's origin.
    pub fn metadata(&self) -> Vec<(String, String)> {
        let named = [
            ("family", "general.architecture"),
            ("creator", "general.organization"),
            ("description", "general.description"),
            ("license", "general.license"),
            ("version", "general.version"),
        ];
        let of = |(name, key): (&str, &str)| Some((name.to_owned(), self.text(key)?));
        named.into_iter().filter_map(of).collect()
    }

    pub fn tokenizer(&self) -> Result<Tokenizer<'_>> {
        Tokenizer::of_gguf(&self.bytes, &self.parse()?).map_err(|error| self.failure(error))
    }

    /// The members of an AMB configuration.
    pub fn config(&self, tokenizer: &Tokenizer<'_>) -> Result<serde_json::Value> {
        let file = self.parse()?;
        let config = gguf_llama_config(&file).map_err(|error| self.failure(error))?;
        let rope = self.rope(&config)?;
        let architecture = match self.text("general.architecture").as_deref() {
            Some("phi3") => "phi",
            _ => "llama",
        };
        let mut members = json!({
            "architecture": architecture,
            "n_vocab": config.vocabulary,
            "n_embd": config.hidden,
            "n_layers": config.layers,
            "n_heads": config.heads.query,
            "n_kv_heads": config.heads.key_value,
            "head_dim": config.head(),
            "max_seq_len": config.positions,
            "is_rope": true,
            "activation_fn": "swiglu",
            "rope_freq_base": rope.base,
            "rope_scaling": rope.position_divisor,
            "rope_dimensions": rope.dimensions,
            "rms_norm_eps": config.epsilon,
            "intermediate_size": config.intermediate,
        });
        let mut put = |member: &str, value: serde_json::Value| {
            members.as_object_mut().into_iter().for_each(|all| {
                all.insert(member.to_owned(), value.clone());
            });
        };
        if rope.attention_factor != 1.0 {
            put("rope_attention_factor", json!(rope.attention_factor));
        }
        if file.tensor("rope_factors_long.weight").is_some() {
            put("rope_original_positions", json!(rope.original_positions));
        }
        members.as_object_mut().into_iter().for_each(|it| it.extend(tokenizer.config()));
        Ok(members)
    }

    /// How positions turn heads.
    fn rope(&self, config: &LlamaConfig) -> Result<Rope> {
        let missing = || self.failure(CoreError::without_offset(ErrorKind::MissingMetadata));
        config.rotary.map(|rotary| rotary.global).ok_or_else(missing)
    }

    /// All tensors in f32, under the names and in the order of Hugging Face.
    pub fn tensors(&self) -> Result<Vec<OwnedTensor>> {
        let file = self.parse()?;
        let config = gguf_llama_config(&file).map_err(|error| self.failure(error))?;
        let rope = self.rope(&config)?;
        let mut tensors = Vec::new();
        for view in file.tensors() {
            let header = view.header();
            let fail = |kind| self.failure(CoreError::new(header.offset, kind));
            let Some(name) = renamed(header.name) else { continue };
            let shape = sizes(&header.shape).map_err(fail)?;
            let mut values = limit::filled(shape.iter().product(), 0.0_f32)
                .map_err(|error| fail(error.kind()))?;
            quant::dequantize(header.dtype, view.data(), 0, &mut values)
                .map_err(|error| fail(error.kind()))?;
            let cols = shape.last().copied().unwrap_or(1);
            if rope.pairs == RopePairs::Neighbours {
                // Those of a bias are rows of one element.
                let cols = if shape.len() == 1 { 1 } else { cols };
                if name.contains("self_attn.q_proj.") {
                    values = in_halves(&values, config.heads.query, config.head(), cols);
                } else if name.contains("self_attn.k_proj.") {
                    values = in_halves(&values, config.heads.key_value, config.head(), cols);
                }
            }
            let bytes = le_bytes(&values).map_err(|error| fail(error.kind()))?;
            tensors.push(OwnedTensor { name, shape, data: bytes });
        }
        if let Some(yarn) = rope.yarn {
            put_yarn(&mut tensors, &yarn, rope.dimensions / 2);
        }
        Ok(tensors)
    }
}

/// Puts YaRN's divisors where other files have them, or multiplies those that are there.
fn put_yarn(tensors: &mut Vec<OwnedTensor>, yarn: &Yarn, pairs: usize) {
    let found = tensors.iter().position(|tensor| tensor.name == DIVISORS);
    let stored = found.map(|place| tensors.swap_remove(place));
    let stored = stored.as_ref().map(|it| it.data.as_chunks::<4>().0).unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, reason = "models are not this precise")]
    let divisor = |pair: usize| {
        let other = stored.get(pair).map_or(1.0, |bytes| f32::from_le_bytes(*bytes));
        (yarn.divisor(pair) * f64::from(other)) as f32
    };
    let data = (0..pairs).flat_map(|pair| divisor(pair).to_le_bytes()).collect();
    tensors.push(OwnedTensor { name: DIVISORS.into(), shape: vec![pairs], data });
}

/// What Hugging Face calls a tensor; `None` for those that are not part of the model.
fn renamed(name: &str) -> Option<String> {
    Some(match name {
        "token_embd.weight" => "model.embed_tokens.weight".into(),
        "output_norm.weight" => "model.norm.weight".into(),
        "output.weight" => "lm_head.weight".into(),
        "rope_freqs.weight" => DIVISORS.into(),
        "rope_factors_short.weight" => SHORT.into(),
        "rope_factors_long.weight" => LONG.into(),
        _ => {
            let (layer, part) = name.strip_prefix("blk.")?.split_once('.')?;
            let part = match part {
                "attn_norm.weight" => "input_layernorm.weight",
                "attn_q.weight" => "self_attn.q_proj.weight",
                "attn_k.weight" => "self_attn.k_proj.weight",
                "attn_v.weight" => "self_attn.v_proj.weight",
                "attn_q.bias" => "self_attn.q_proj.bias",
                "attn_k.bias" => "self_attn.k_proj.bias",
                "attn_v.bias" => "self_attn.v_proj.bias",
                "attn_qkv.weight" => "self_attn.qkv_proj.weight",
                "attn_output.weight" => "self_attn.o_proj.weight",
                "ffn_norm.weight" => "post_attention_layernorm.weight",
                "ffn_gate.weight" => "mlp.gate_proj.weight",
                "ffn_up.weight" => "mlp.up_proj.weight",
                "ffn_down.weight" => "mlp.down_proj.weight",
                _ => return None,
            };
            format!("model.layers.{layer}.{part}")
        }
    })
}

/// Rows of queries or keys, of which neighbours are turned together, in the order in which halves
/// are.
fn in_halves(values: &[f32], heads: usize, head: usize, cols: usize) -> Vec<f32> {
    let row = |index: usize| values.get(index * cols..(index + 1) * cols).unwrap_or_default();
    (0..heads)
        .flat_map(|h| (0..head).map(move |i| h * head + i % (head / 2) * 2 + i / (head / 2)))
        .flat_map(|index| row(index).iter().copied())
        .collect()
}
