//! Folders of decoders of families beside Llama, as the hub has them: weights from a fixed
//! sequence, tokenizers of `tests/data/models`.

use std::fs;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A model, the first state of the sequence that its weights are from, and what it generates.
pub struct Family {
    pub name: &'static str,
    pub config: fn() -> Value,
    pub tokenizer: &'static str,
    pub state: u32,
    pub generated: [u32; 10],
}

pub const FAMILIES: [Family; 5] = [
    Family {
        name: "Qwen 2",
        config: qwen_2,
        tokenizer: "qwen3_embedding",
        state: 6,
        generated: [333, 891, 426, 310, 704, 674, 893, 893, 884, 360],
    },
    Family {
        name: "Qwen 3",
        config: qwen_3,
        tokenizer: "qwen3_embedding",
        state: 1,
        generated: [817, 168, 196, 755, 617, 695, 617, 745, 227, 483],
    },
    Family {
        name: "Llama with biases",
        config: llama_with_biases,
        tokenizer: "qwen3_embedding",
        state: 2,
        generated: [116, 780, 155, 323, 486, 479, 214, 308, 780, 673],
    },
    Family {
        name: "Gemma 3",
        config: gemma_3,
        tokenizer: "embeddinggemma",
        state: 20,
        generated: [7, 952, 101, 101, 126, 881, 881, 881, 881, 881],
    },
    Family {
        name: "Gemma 3 as transformers 5 writes it",
        config: gemma_3_of_transformers_5,
        tokenizer: "embeddinggemma",
        state: 18,
        generated: [225, 283, 300, 300, 895, 282, 990, 990, 770, 770],
    },
];

pub const GEMMA: &Family = &FAMILIES[3];

/// `first` with the members of `further`.
fn with(mut first: Value, further: Value) -> Value {
    first.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    first
}

fn sizes(further: Value) -> Value {
    let sizes = json!({
        "hidden_size": 24, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
        "intermediate_size": 32, "max_position_embeddings": 128, "rms_norm_eps": 1e-6, "vocab_size": 912,
        "bos_token_id": 900, "eos_token_id": 902,
    });
    with(sizes, further)
}

fn qwen_2() -> Value {
    sizes(json!({
        "model_type": "qwen2", "hidden_act": "silu", "tie_word_embeddings": true, "rope_theta": 1e6,
        "use_sliding_window": false, "sliding_window": 64, "max_window_layers": 1,
    }))
}

fn qwen_3() -> Value {
    sizes(json!({
        "model_type": "qwen3", "hidden_act": "silu", "head_dim": 16, "tie_word_embeddings": false,
        "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}, "attention_bias": false,
        "layer_types": ["full_attention", "full_attention"],
    }))
}

fn llama_with_biases() -> Value {
    sizes(json!({
        "model_type": "llama", "hidden_act": "silu", "tie_word_embeddings": false, "rope_theta": 1e4,
        "attention_bias": true, "mlp_bias": true,
    }))
}

fn gemma(further: Value) -> Value {
    let gemma = sizes(json!({
        "model_type": "gemma3_text", "hidden_activation": "gelu_pytorch_tanh", "head_dim": 8,
        "num_key_value_heads": 1, "num_hidden_layers": 7, "vocab_size": 1104, "query_pre_attn_scalar": 8,
        "sliding_window": 6, "attn_logit_softcapping": null, "final_logit_softcapping": null,
        "bos_token_id": 2, "eos_token_id": [1, 5],
    }));
    with(gemma, further)
}

fn gemma_3() -> Value {
    gemma(json!({
        "rope_theta": 1e6, "rope_local_base_freq": 1e4, "sliding_window_pattern": 6,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    }))
}

fn gemma_3_of_transformers_5() -> Value {
    let (full, sliding) = ("full_attention", "sliding_attention");
    gemma(json!({
        "rope_parameters": {
            full: {"rope_theta": 500_000.0, "rope_type": "default"},
            sliding: {"rope_theta": 2000.0, "rope_type": "default"},
        },
        "layer_types": [sliding, sliding, full, sliding, sliding, full, sliding],
        "tie_word_embeddings": true,
    }))
}

pub type Tensor = (String, Vec<usize>, Vec<u8>);

/// The tensors of a model, filled one after the other.
pub struct Tensors {
    state: u32,
    has_offset: bool,
    all: Vec<Tensor>,
}

impl Tensors {
    pub fn of(config: &Value, state: u32) -> Vec<Tensor> {
        let size = |name: &str| config[name].as_u64().and_then(|it| usize::try_from(it).ok());
        let is = |name: &str| config[name].as_bool() == Some(true);
        let kind = config["model_type"].as_str().unwrap();
        let is_gemma = kind == "gemma3_text";
        let hidden = size("hidden_size").unwrap();
        let heads = size("num_attention_heads").unwrap();
        let head = size("head_dim").unwrap_or(hidden / heads);
        let (queries, keys) = (heads * head, size("num_key_value_heads").unwrap() * head);
        let (wide, rows) = (size("intermediate_size").unwrap(), size("vocab_size").unwrap());
        let (attention, wide_bias) = (is("attention_bias"), is("mlp_bias"));
        let query_bias = attention || kind == "qwen2";
        let mut tensors = Self { state, has_offset: is_gemma, all: Vec::new() };
        let embedding_size = if is_gemma { 1.0 } else { 4.0 };
        tensors.matrix("model.embed_tokens", (rows, hidden), embedding_size);
        tensors.norm("model.norm", hidden);
        if config["tie_word_embeddings"].as_bool() == Some(false) {
            tensors.matrix("lm_head", (rows, hidden), 1.0);
        }
        for layer in 0..size("num_hidden_layers").unwrap() {
            let name = |part: &str| format!("model.layers.{layer}.{part}");
            tensors.norm(&name("input_layernorm"), hidden);
            tensors.norm(&name("post_attention_layernorm"), hidden);
            if is_gemma {
                tensors.norm(&name("pre_feedforward_layernorm"), hidden);
                tensors.norm(&name("post_feedforward_layernorm"), hidden);
            }
            if is_gemma || kind == "qwen3" {
                tensors.norm(&name("self_attn.q_norm"), head);
                tensors.norm(&name("self_attn.k_norm"), head);
            }
            for (part, shape, has_bias) in [
                ("self_attn.q_proj", (queries, hidden), query_bias),
                ("self_attn.k_proj", (keys, hidden), query_bias),
                ("self_attn.v_proj", (keys, hidden), query_bias),
                ("self_attn.o_proj", (hidden, queries), attention),
                ("mlp.gate_proj", (wide, hidden), wide_bias),
                ("mlp.up_proj", (wide, hidden), wide_bias),
                ("mlp.down_proj", (hidden, wide), wide_bias),
            ] {
                tensors.matrix(&name(part), shape, 1.0);
                if has_bias {
                    let values = tensors.values(shape.0, 1.0, 0.0);
                    tensors.all.push((name(part) + ".bias", vec![shape.0], values));
                }
            }
        }
        tensors.all
    }

    /// So many f32 around `middle`, as far apart as `size`.
    fn values(&mut self, count: usize, size: f32, middle: f32) -> Vec<u8> {
        let mut next = || {
            self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((f64::from(self.state >> 8) / f64::from(1 << 24)) as f32 - 0.5) * size + middle
        };
        (0..count).flat_map(|_| next().to_le_bytes()).collect()
    }

    fn matrix(&mut self, name: &str, (rows, cols): (usize, usize), size: f32) {
        let values = self.values(rows * cols, size, 0.0);
        self.all.push((format!("{name}.weight"), vec![rows, cols], values));
    }

    fn norm(&mut self, name: &str, length: usize) {
        let middle = if self.has_offset { 0.0 } else { 1.0 };
        let values = self.values(length, 0.5, middle);
        self.all.push((format!("{name}.weight"), vec![length], values));
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

pub fn write_weights(path: &Path, tensors: &[Tensor]) {
    let named = tensors.iter().map(|(name, shape, data)| {
        (name.clone(), TensorView::new(Dtype::F32, shape.clone(), data).unwrap())
    });
    safetensors::serialize_to_file(named, None, path).unwrap();
}

impl Family {
    /// Its folder, with other members in `config.json`.
    pub fn folder(&self, further: Value) -> TempDir {
        let folder = TempDir::new().unwrap();
        let config = with((self.config)(), further);
        fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        let tensors = Tensors::of(&(self.config)(), self.state);
        write_weights(&folder.path().join("model.safetensors"), &tensors);
        self.write_tokenizer(folder.path());
        folder
    }

    fn write_tokenizer(&self, folder: &Path) {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/models");
        let from = models.join(self.tokenizer);
        let read = |name: &str| -> Value {
            serde_json::from_slice(&fs::read(from.join(name)).unwrap()).unwrap()
        };
        let mut tokenizer = read("tokenizer.json");
        let mut settings = read("tokenizer_config.json");
        // An embedding model's puts a token after texts.
        if from.join("tokenizer.model").exists() {
            settings["add_eos_token"] = json!(false);
            for template in ["single", "pair"] {
                let items = tokenizer["post_processor"][template].as_array_mut().unwrap();
                items.retain(|item| item["SpecialToken"]["id"] != "<eos>");
            }
            fs::copy(from.join("tokenizer.model"), folder.join("tokenizer.model")).unwrap();
        } else {
            tokenizer["post_processor"] = Value::Null;
        }
        fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
        fs::write(folder.join("tokenizer_config.json"), settings.to_string()).unwrap();
    }
}
