//! What a Hugging Face folder says of a decoder of the Llama family: its sizes by `config.json`, its tokenizer by
//! `tokenizer.model` (SentencePiece) or `tokenizer.json` (byte-level BPE).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nanoembed_core::ErrorKind;
use nanoembed_core::model::llama::{LlamaConfig, RopePairs};
use nanoembed_core::token::TextEnds;
use serde_json::{Value, json};

use super::ends::FolderEnds;
use super::tokenizer::{AddedTokens, Tokenizer};
use super::tokenizer_json::TokenizerJson;
use crate::checkpoint::hugging_face::Folder;
use crate::checkpoint::settings::read_json;
use crate::checkpoint::tensor::{Elements, Tensor};
use crate::error::{Failure, Result, name_of};

/// The tensor that has the divisors of rotary frequencies.
pub(super) const DIVISORS: &str = "model.rope_freqs.weight";

/// What a folder says of a decoder.
pub(crate) struct DecoderSettings {
    folder: PathBuf,
    path: PathBuf,
    config: Value,
    /// Divisors of the rotary frequencies as f32, where each has one of its own.
    divisors: Vec<u8>,
}

/// Models whose tensors and computation are those of Llama or Phi-3.
const TYPES: [&str; 3] = ["llama", "mistral", "phi3"];

impl DecoderSettings {
    /// The decoder of `folder` by its `config.json` or another; `None` if it is none of this family.
    pub(crate) fn of(folder: &Path, config: Option<&Path>) -> Result<Option<Self>> {
        let path = config.map_or_else(|| folder.join("config.json"), Path::to_owned);
        let Some(config) = read_json(&path)? else { return Ok(None) };
        let kind = config.get("model_type").and_then(Value::as_str).unwrap_or_default();
        if !TYPES.contains(&kind) {
            return Ok(None);
        }
        let mut decoder = Self { folder: folder.to_owned(), path, config, divisors: Vec::new() };
        decoder.divisors =
            decoder.rotary_divisors()?.iter().flat_map(|x| x.to_le_bytes()).collect();
        Ok(Some(decoder))
    }

    /// The `config.json`.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Divisors of the rotary frequencies as f32, or nothing.
    pub(super) fn divisors(&self) -> &[u8] {
        &self.divisors
    }

    /// Whether the output layer is the table of embeddings.
    pub(super) fn is_tied(&self) -> bool {
        self.config.get("tie_word_embeddings") == Some(&Value::Bool(true))
    }

    /// The sizes as the core takes them.
    pub(super) fn sizes(&self, tokenizer: &Tokenizer<'_>) -> Result<LlamaConfig> {
        let config = self.config(tokenizer)?;
        let number = |member: &str| config.get(member).and_then(Value::as_f64);
        LlamaConfig::read(number, RopePairs::Halves)
            .map_err(|error| self.refuse(error.kind, error.kind.message().to_owned()))
    }

    /// The members of an AMB configuration.
    pub(crate) fn config(&self, tokenizer: &Tokenizer<'_>) -> Result<Value> {
        self.check()?;
        let get = |key: &str| self.config.get(key).filter(|value| !value.is_null());
        let number = |key: &str| {
            let missing =
                || self.refuse(ErrorKind::MissingMetadata, format!("there is no `{key}`"));
            get(key).cloned().ok_or_else(missing)
        };
        let or = |key: &str, usual: Value| get(key).cloned().unwrap_or(usual);
        let (hidden, heads) = (number("hidden_size")?, number("num_attention_heads")?);
        let head = match (hidden.as_u64(), heads.as_u64()) {
            (Some(hidden), Some(heads)) if heads > 0 => json!(hidden / heads),
            _ => Value::Null,
        };
        let positions = number("max_position_embeddings")?;
        // Beyond its window a token would see less than here.
        let window = get("sliding_window").and_then(Value::as_u64).unwrap_or(u64::MAX);
        let positions = positions.as_u64().map_or(positions, |it| it.min(window).into());
        let mut members = json!({
            "architecture": if self.kind() == "phi3" { "phi" } else { "llama" },
            "n_vocab": number("vocab_size")?,
            "n_embd": hidden,
            "n_layers": number("num_hidden_layers")?,
            "n_heads": heads,
            "n_kv_heads": or("num_key_value_heads", heads.clone()),
            "head_dim": or("head_dim", head),
            "max_seq_len": positions,
            "is_rope": true,
            "activation_fn": "swiglu",
            "rope_freq_base": self.rope_base(),
            "rope_scaling": self.rope_scaling()?,
            "rms_norm_eps": or("rms_norm_eps", json!(1e-6)),
            "intermediate_size": number("intermediate_size")?,
        });
        members.as_object_mut().into_iter().for_each(|it| it.extend(tokenizer.config()));
        Ok(members)
    }

    fn kind(&self) -> &str {
        self.config.get("model_type").and_then(Value::as_str).unwrap_or_default()
    }

    /// Refuses what the model does and we do not.
    fn check(&self) -> Result<()> {
        let unsupported =
            |message: String| Err(self.refuse(ErrorKind::UnsupportedVersion, message));
        let act = self.config.get("hidden_act").and_then(Value::as_str).unwrap_or("silu");
        if act != "silu" {
            return unsupported(format!("the activation is {act:?}; only silu is known"));
        }
        for key in ["attention_bias", "mlp_bias"] {
            if self.config.get(key) == Some(&Value::Bool(true)) {
                return unsupported(format!("the model has `{key}`"));
            }
        }
        match self.config.get("partial_rotary_factor").and_then(Value::as_f64) {
            Some(factor) if factor != 1.0 => {
                unsupported(format!("the model turns only a part of each head ({factor})"))
            }
            _ => Ok(()),
        }
    }

    /// By what positions are divided.
    fn rope_scaling(&self) -> Result<f64> {
        let Some((kind, scaling)) = self.rotary() else { return Ok(1.0) };
        match (kind, scaling.get("factor").and_then(Value::as_f64)) {
            ("default" | "llama3", _) => Ok(1.0),
            ("linear", Some(factor)) => Ok(factor),
            _ => Err(self.refuse(
                ErrorKind::UnsupportedVersion,
                format!(
                    "positions are scaled by {scaling}; only linear scaling and Llama 3's are known"
                ),
            )),
        }
    }

    /// What is said of rotary positions, and its kind; newer files have the base there too.
    fn rotary(&self) -> Option<(&str, &Value)> {
        let keys = ["rope_parameters", "rope_scaling"];
        let said = keys.iter().find_map(|key| self.config.get(*key).filter(|it| !it.is_null()))?;
        let kind = said.get("rope_type").or(said.get("type")).and_then(Value::as_str);
        Some((kind.unwrap_or("default"), said))
    }

    fn rope_base(&self) -> f64 {
        let said = self.rotary().and_then(|(_, said)| said.get("rope_theta"));
        let base = self.config.get("rope_theta").or(said).and_then(Value::as_f64);
        base.unwrap_or(10_000.0)
    }

    /// By what Llama 3.1 divides each frequency: nothing where a wave is short against the context that the model was trained
    /// for, `factor` where it is long, and something between elsewhere.
    fn rotary_divisors(&self) -> Result<Vec<f32>> {
        let Some(("llama3", said)) = self.rotary() else { return Ok(Vec::new()) };
        let number = |key: &str| {
            let missing =
                || self.refuse(ErrorKind::MissingMetadata, format!("there is no `{key}`"));
            said.get(key).and_then(Value::as_f64).ok_or_else(missing)
        };
        let (factor, context) = (number("factor")?, number("original_max_position_embeddings")?);
        let (low, high) = (number("low_freq_factor")?, number("high_freq_factor")?);
        let size = |key: &str| self.config.get(key).and_then(Value::as_u64).unwrap_or(0);
        let head = match size("head_dim") {
            0 => size("hidden_size").checked_div(size("num_attention_heads")).unwrap_or(0),
            head => head,
        };
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "heads are small"
        )]
        let divisor = |pair: u64| {
            let wave =
                self.rope_base().powf(2.0 * pair as f64 / head as f64) * std::f64::consts::TAU;
            let turns = context / wave;
            let smooth = (turns - low) / (high - low);
            if turns > high {
                1.0
            } else if turns < low {
                factor as f32
            } else {
                (1.0 / ((1.0 - smooth) / factor + smooth)) as f32
            }
        };
        Ok((0..head / 2).map(divisor).collect())
    }

    fn refuse(&self, kind: ErrorKind, message: String) -> Failure {
        Failure::input(kind, message).at(self.path.display())
    }

    /// The model's tensors in its folder; a tied output and tables of angles are left out.
    pub(crate) fn tensors<'a>(&'a self, folder: &'a Folder) -> Result<Vec<Tensor<'a>>> {
        let mut tensors = folder.all_tensors()?;
        tensors.retain(|tensor| {
            let is_copy = self.is_tied() && tensor.name == "lm_head.weight";
            !is_copy && !tensor.name.ends_with("rotary_emb.inv_freq")
        });
        if !self.divisors.is_empty() {
            tensors.push(Tensor {
                name: DIVISORS.into(),
                shape: vec![self.divisors.len() / 4],
                elements: Elements::F32,
                data: &self.divisors,
                scales: &[],
                columns: &[],
                zeros: &[],
                transposed: false,
            });
        }
        Ok(tensors)
    }

    /// The tokenizer by `tokenizer.model`, with the tokens that `tokenizer_config.json` adds, or by `tokenizer.json`.
    pub(crate) fn tokenizer(&self) -> Result<Tokenizer<'static>> {
        let path = self.folder.join("tokenizer.model");
        let by_json = self.folder.join("tokenizer.json");
        let ends = FolderEnds::of(&self.folder, &self.path, &self.config)?;
        if !path.exists() && by_json.exists() {
            let json = TokenizerJson::new(&by_json, read_json(&by_json)?.unwrap_or_default());
            return json.tokenizer(&ends);
        }
        let model = std::fs::read(&path).map_err(|error| {
            Failure::reading(path.display(), &error).hint(
                "a decoder's folder has its tokenizer in `tokenizer.model` or `tokenizer.json`: put one there, as the model was published with it",
            )
        })?;
        let settings = read_json(&self.folder.join("tokenizer_config.json"))?;
        let settings = settings.unwrap_or_default();
        let mut tokens = BTreeMap::new();
        let added = settings.get("added_tokens_decoder").and_then(Value::as_object);
        for (id, token) in added.into_iter().flatten() {
            let content = token.get("content").and_then(Value::as_str);
            if let (Ok(id), Some(content)) = (id.parse::<u32>(), content) {
                tokens.insert(id, content.to_owned());
            }
        }
        // As the tokenizer of Llama does.
        let (adds_begin, adds_end) = (ends.adds_begin != Some(false), ends.adds_end == Some(true));
        let around = TextEnds {
            begin: ends.begin.filter(|_| adds_begin),
            append: ends.end.first().filter(|_| adds_end),
            end: ends.end,
        };
        let added = AddedTokens { tokens, begin: ends.begin, ends: around };
        Tokenizer::of_hugging_face(model, added)
            .map_err(|error| Failure::of_file(name_of(&path), error))
    }
}
