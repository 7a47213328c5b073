//! Files of weights that tests share: those under `tests/data`, and a small Llama made up.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A file under `tests/data`.
pub(crate) fn data(path: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(path);
    data.to_str().unwrap().to_owned()
}

/// The content of a file under `tests/data`.
pub(crate) fn bytes(path: &str) -> Vec<u8> {
    std::fs::read(data(path)).unwrap()
}

/// The values of a `.npy` file of f32 and its shape as Python spells it.
pub(crate) fn npy(file: &[u8]) -> (String, Vec<u8>) {
    assert_eq!(&file[..6], b"\x93NUMPY");
    let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
    let header = String::from_utf8(file[10..10 + length].to_vec()).unwrap();
    assert!(header.contains("<f4"), "{header}");
    let shape = header.split("'shape': (").nth(1).unwrap().split(')').next().unwrap();
    (shape.trim_end_matches([',', ' ']).to_owned(), file[10 + length..].to_vec())
}

/// A safetensors file of f32 tensors.
pub(crate) fn safetensors(tensors: &[(String, Vec<u64>, Vec<f32>)]) -> Vec<u8> {
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    for (name, shape, values) in tensors {
        let begin = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let entry = json!({"dtype": "F32", "shape": shape, "data_offsets": [begin, data.len()]});
        header.insert(name.clone(), entry);
    }
    let header = serde_json::to_vec(&Value::Object(header)).unwrap();
    [&(header.len() as u64).to_le_bytes(), header.as_slice(), &data].concat()
}

/// A tokenizer of single letters, as many as the small Llama has tokens.
fn tokenizer() -> Value {
    let letters = ('a'..='z').chain('A'..).take(usize::try_from(VOCABULARY).unwrap());
    let vocabulary: serde_json::Map<_, _> =
        letters.zip(0..).map(|(letter, id)| (letter.to_string(), json!(id))).collect();
    json!({
        "added_tokens": [], "normalizer": null, "post_processor": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    })
}

/// A folder with a Llama of two layers as on Hugging Face: `model.safetensors` and `config.json`.
pub(crate) struct SmallLlama {
    folder: TempDir,
}

pub(crate) const HIDDEN: u64 = 64;
const INTERMEDIATE: u64 = 128;
const VOCABULARY: u64 = 32;

impl SmallLlama {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = json!({
            "model_type": "llama", "hidden_size": HIDDEN, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": INTERMEDIATE,
            "vocab_size": VOCABULARY, "rms_norm_eps": 1e-5, "max_position_embeddings": 128,
        });
        std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        std::fs::write(folder.path().join("tokenizer.json"), tokenizer().to_string()).unwrap();
        let mut tensors = Vec::new();
        let mut add = |name: &str, shape: &[u64]| {
            let count = shape.iter().product::<u64>();
            let seed = name.len() as f32 + tensors.len() as f32;
            let values = (0..count).map(|i| ((i as f32 * 0.37 + seed).sin()) * 0.2);
            tensors.push((name.to_owned(), shape.to_vec(), values.collect::<Vec<f32>>()));
        };
        add("model.embed_tokens.weight", &[VOCABULARY, HIDDEN]);
        add("lm_head.weight", &[VOCABULARY, HIDDEN]);
        add("model.norm.weight", &[HIDDEN]);
        for layer in 0..2 {
            let mut of = |suffix: &str, shape: &[u64]| {
                add(&format!("model.layers.{layer}.{suffix}.weight"), shape);
            };
            of("self_attn.q_proj", &[HIDDEN, HIDDEN]);
            of("self_attn.k_proj", &[HIDDEN / 2, HIDDEN]);
            of("self_attn.v_proj", &[HIDDEN / 2, HIDDEN]);
            of("self_attn.o_proj", &[HIDDEN, HIDDEN]);
            of("mlp.gate_proj", &[INTERMEDIATE, HIDDEN]);
            of("mlp.up_proj", &[INTERMEDIATE, HIDDEN]);
            of("mlp.down_proj", &[HIDDEN, INTERMEDIATE]);
            of("input_layernorm", &[HIDDEN]);
            of("post_attention_layernorm", &[HIDDEN]);
        }
        std::fs::write(folder.path().join("model.safetensors"), safetensors(&tensors)).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// A path in the folder.
    pub(crate) fn join(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn model(&self) -> String {
        self.join("model.safetensors")
    }
}
