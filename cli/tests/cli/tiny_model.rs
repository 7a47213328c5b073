//! A BERT model of a few hundred parameters as a Hugging Face folder, with weights from a fixed
//! sequence.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::json;
use tempfile::TempDir;

pub const HIDDEN: usize = 8;
pub const INTERMEDIATE: usize = 12;
pub const LAYERS: usize = 2;
pub const POSITIONS: usize = 16;
pub const TOKENS: [&str; 14] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "the", "##s", "##ing", "cat",
    "sing", ".", "É",
];

/// A folder that is removed with this value.
pub struct TinyModel {
    pub folder: TempDir,
}

/// What can be different about a folder.
#[derive(Clone, Copy, Default)]
pub struct Variation {
    /// Before every tensor's name.
    pub prefix: &'static str,
    /// The vocabulary in `tokenizer.json` instead of `vocab.txt`.
    pub json_vocabulary: bool,
    /// Shapes of linear weights turned round and `gamma`/`beta` for layer norms.
    pub old_norm_names: bool,
}

impl TinyModel {
    pub fn new() -> Self {
        Self::with(Variation::default())
    }

    pub fn with(variation: Variation) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path();
        let write = |name: &str, value: serde_json::Value| {
            fs::write(path.join(name), value.to_string()).unwrap();
        };
        write("config.json", config());
        write("sentence_bert_config.json", json!({"max_seq_length": 10, "do_lower_case": false}));
        write(
            "modules.json",
            json!([
                {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
                {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
                {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
            ]),
        );
        fs::create_dir(path.join("1_Pooling")).unwrap();
        write(
            "1_Pooling/config.json",
            json!({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false}),
        );
        if variation.json_vocabulary {
            let ids = TOKENS.iter().zip(0..).map(|(token, id)| ((*token).into(), json!(id)));
            let ids: serde_json::Map<_, _> = ids.collect();
            let added: Vec<_> = TOKENS
                .iter()
                .zip(0..5)
                .map(|(token, id)| {
                    json!({
                        "id": id, "content": token, "special": true, "normalized": false,
                        "lstrip": false, "rstrip": false, "single_word": false,
                    })
                })
                .collect();
            write(
                "tokenizer.json",
                json!({
                    "added_tokens": added,
                    "normalizer": {
                        "type": "BertNormalizer", "clean_text": true,
                        "handle_chinese_chars": true, "strip_accents": null, "lowercase": true,
                    },
                    "pre_tokenizer": {"type": "BertPreTokenizer"},
                    "post_processor":
                        {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]},
                    "truncation": {"max_length": 4},
                    "model": {
                        "type": "WordPiece", "unk_token": "[UNK]",
                        "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                        "vocab": ids,
                    },
                }),
            );
        } else {
            fs::write(path.join("vocab.txt"), TOKENS.map(|token| format!("{token}\n")).concat())
                .unwrap();
        }
        fs::write(path.join("README.md"), "---\nlicense: apache-2.0\n---\n# Tiny\n").unwrap();
        let tensors = tensors();
        let named = tensors.iter().map(|(name, shape, data)| {
            let name = if variation.old_norm_names {
                name.replace("LayerNorm.weight", "LayerNorm.gamma")
                    .replace("LayerNorm.bias", "LayerNorm.beta")
            } else {
                name.clone()
            };
            let view = TensorView::new(Dtype::F32, shape.clone(), data).unwrap();
            (format!("{}{name}", variation.prefix), view)
        });
        safetensors::serialize_to_file(named, None, &path.join("model.safetensors")).unwrap();
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path inside the folder as an argument.
    pub fn join(&self, name: &str) -> String {
        self.path().join(name).to_str().unwrap().to_owned()
    }

    /// Converts the folder; returns the file.
    pub fn converted(&self, name: &str, arguments: &[&str]) -> String {
        let output = self.join(name);
        let mut command = Command::cargo_bin("nanoembed").unwrap();
        command.args(["convert", self.path().to_str().unwrap(), &output]).args(arguments);
        command.assert().success();
        output
    }

    /// Names of temporary files that were left behind.
    pub fn unfinished(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| file.to_string_lossy().contains(".part")).collect()
    }
}

pub fn config() -> serde_json::Value {
    json!({
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": HIDDEN, "intermediate_size": INTERMEDIATE,
        "num_attention_heads": 2, "num_hidden_layers": LAYERS, "max_position_embeddings": POSITIONS,
        "vocab_size": TOKENS.len(), "type_vocab_size": 2, "layer_norm_eps": 1e-12,
    })
}

/// Name, shape and f32 bytes of every tensor.
pub fn tensors() -> Vec<(String, Vec<usize>, Vec<u8>)> {
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![TOKENS.len(), HIDDEN]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![POSITIONS, HIDDEN]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, HIDDEN]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![HIDDEN]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![HIDDEN]),
        ("pooler.dense.weight".to_owned(), vec![HIDDEN, HIDDEN]),
        ("pooler.dense.bias".to_owned(), vec![HIDDEN]),
    ];
    for layer in 0..LAYERS {
        let parts = [
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", INTERMEDIATE, HIDDEN),
            ("output.dense", HIDDEN, INTERMEDIATE),
        ];
        for (part, rows, cols) in parts {
            shapes.push((format!("encoder.layer.{layer}.{part}.weight"), vec![rows, cols]));
            shapes.push((format!("encoder.layer.{layer}.{part}.bias"), vec![rows]));
        }
        for norm in ["attention.output", "output"] {
            shapes.push((format!("encoder.layer.{layer}.{norm}.LayerNorm.weight"), vec![HIDDEN]));
            shapes.push((format!("encoder.layer.{layer}.{norm}.LayerNorm.bias"), vec![HIDDEN]));
        }
    }
    filled(shapes, 7)
}

/// Tensors of these shapes with f32 from a fixed sequence that begins with `state`.
pub fn filled(
    shapes: Vec<(String, Vec<usize>)>,
    mut state: u32,
) -> Vec<(String, Vec<usize>, Vec<u8>)> {
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (f64::from(state >> 8) / f64::from(1 << 24)) as f32 - 0.5
    };
    let filled = shapes.into_iter().map(|(name, shape)| {
        let count: usize = shape.iter().product();
        let data = (0..count).flat_map(|_| next().to_le_bytes()).collect();
        (name, shape, data)
    });
    filled.collect()
}

/// The model as the published converter writes it: the stream layout, linear weights transposed.
pub fn stream_file() -> Vec<u8> {
    let mut file = b"EMBD\x01\0\0\0".to_vec();
    let tensors: Vec<_> =
        tensors().into_iter().filter(|(name, ..)| !name.starts_with("pooler")).collect();
    let word = |value: usize| u32::try_from(value).unwrap().to_le_bytes();
    file.extend(word(tensors.len()));
    for (name, shape, data) in tensors {
        let is_linear = shape.len() == 2 && !name.starts_with("embeddings.");
        let (shape, data) = if is_linear { transposed(&shape, &data) } else { (shape, data) };
        file.extend(word(name.len()));
        file.extend(name.as_bytes());
        file.extend(word(shape.len()));
        shape.iter().for_each(|&dim| file.extend(word(dim)));
        file.extend(data);
    }
    file.extend(word(TOKENS.len()));
    for token in TOKENS {
        file.extend(word(token.len()));
        file.extend(token.as_bytes());
    }
    file
}

fn transposed(shape: &[usize], data: &[u8]) -> (Vec<usize>, Vec<u8>) {
    let (rows, cols) = (shape[0], shape[1]);
    let element = |row: usize, col: usize| &data[(row * cols + col) * 4..][..4];
    let turned = (0..cols).flat_map(|col| (0..rows).flat_map(move |row| element(row, col)));
    (vec![cols, rows], turned.copied().collect())
}
