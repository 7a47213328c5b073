//! Embedding models as UQFF: EmbeddingGemma and Qwen3-Embedding as mistral.rs 0.9.5 writes them,
//! with its own ids and vectors, and those of all families as this program writes them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{failure, nanoembed, numbers, objects, stdout};

/// How far vectors may be from those of mistral.rs, which computes with the same weights in f32.
const TOLERANCE: f64 = 2e-6;

/// A folder of mistral.rs, its UQFF file and the most tokens of a text there.
const FOLDERS: [(&str, &str, &str); 2] = [
    ("embeddinggemma-w512-hqq8", "hqq8-0.uqff", "96"),
    ("qwen3_embedding-afq8", "afq8-0.uqff", "128"),
];

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(path)
}

fn theirs(name: &str) -> PathBuf {
    data("uqff/mistralrs-0.9.5").join(name)
}

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_str().unwrap().to_owned()
}

fn rows(folder: &Path) -> Vec<Value> {
    let said = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let said: Value = serde_json::from_str(&said).unwrap();
    said["rows"].as_array().unwrap().clone()
}

/// What a command makes of the texts of rows.
fn of_rows(rows: &[Value], arguments: &[&str]) -> Vec<Value> {
    let lines: String =
        rows.iter().map(|row| format!("{}\n", json!({"text": row["text"]}))).collect();
    let form = ["-i", "jsonl", "--format", "jsonl", "-q", "--prompt", ""];
    objects(&stdout(&[arguments, &form].concat(), &lines))
}

fn vectors(rows: &[Value], model: &Path, max_tokens: &str) -> Vec<Vec<f64>> {
    let model = text(model);
    let arguments = ["embed", "-m", &model, "--max-tokens", max_tokens, "--precise"];
    of_rows(rows, &arguments).iter().map(|found| numbers(&found["embedding"])).collect()
}

fn farthest(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn success(arguments: &[&str]) {
    nanoembed(arguments).assert().success();
}

#[test]
fn folders_of_mistral_rs_have_its_ids_and_vectors() {
    for (name, file, max_tokens) in FOLDERS {
        let folder = theirs(name);
        let rows = rows(&folder);
        let model = text(&folder);
        let found = of_rows(&rows, &["tokenize", "-m", &model, "--max-tokens", max_tokens]);
        for (row, found) in rows.iter().zip(&found) {
            assert_eq!(found["ids"], row["ids"], "{name} {}", row["text"]);
        }
        for model in [folder.clone(), folder.join(file)] {
            for (row, found) in rows.iter().zip(vectors(&rows, &model, max_tokens)) {
                let apart = farthest(&found, &numbers(&row["embedding"]));
                assert!(apart <= TOLERANCE, "{name} {}: {apart:e}", row["text"]);
            }
        }
    }
}

#[test]
fn they_go_to_the_old_generation_and_come_back() {
    for (name, file, max_tokens) in FOLDERS {
        let folder = theirs(name);
        let rows = rows(&folder);
        let expected = vectors(&rows, &folder, max_tokens);
        let scratch = tempfile::tempdir().unwrap();
        let (old, new) = (scratch.path().join("old"), scratch.path().join("new"));
        for folder in [&old, &new] {
            std::fs::create_dir(folder).unwrap();
        }
        let (from, between, back) =
            (text(folder.join(file)), text(old.join(file)), text(new.join(file)));
        success(&["migrate", &from, &between, "--to", "uqff-0.2"]);
        success(&["verify", "--strict", &between]);
        success(&["migrate", &between, &back]);
        for model in [&old, &new] {
            for (found, expected) in vectors(&rows, model, max_tokens).iter().zip(&expected) {
                let apart = farthest(found, expected);
                assert!(apart <= TOLERANCE, "{name}: {apart:e}");
            }
        }
        // All but the table of embeddings, which is none of the layers of 0.x.
        let report = objects(&stdout(&["diff", "--json", &from, &back], "")).remove(0);
        assert!(report["tensors"].as_array().unwrap().iter().all(|it| it["max_abs"] == 0.0));
        assert_eq!(report["only_a"], json!(["embed_tokens.weight"]));
        assert_eq!(report["only_b"], json!([]));
    }
}

#[test]
fn numbered_layers_of_another_model_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let (name, file, _) = FOLDERS[1];
    let old = text(scratch.path().join(file));
    success(&["migrate", &text(theirs(name).join(file)), &old, "--to", "uqff-0.2"]);
    let config = scratch.path().join("config.json");
    let said = std::fs::read_to_string(&config).unwrap();
    let back = text(scratch.path().join("back-0.uqff"));
    for (setting, other, expected) in [
        ("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2", "21 layers"),
        ("\"intermediate_size\": 96", "\"intermediate_size\": 64", "layers.0.mlp.gate_proj"),
    ] {
        assert!(said.contains(setting));
        std::fs::write(&config, said.replace(setting, other)).unwrap();
        for arguments in [&["migrate", &old, &back][..], &["embed", "-m", &old, "text"]] {
            let error = failure(arguments, b"", 1);
            assert!(error.contains(expected), "{error}");
        }
    }
}

/// The folders of models that embed texts here, with the vectors of transformers for those without
/// a prompt.
fn embedding_models() -> Vec<(PathBuf, Vec<Value>, Vec<Vec<f64>>)> {
    let folders = data("models").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut models = Vec::new();
    for folder in folders {
        let said = folder.join("expected.json");
        if !folder.join("model.safetensors").exists() || !said.exists() {
            continue;
        }
        let said: Value = serde_json::from_str(&std::fs::read_to_string(said).unwrap()).unwrap();
        let is_table = text(&folder).contains("model2vec");
        if is_table || !said["num_labels"].is_null() {
            continue;
        }
        let width = usize::try_from(said["shape"][1].as_u64().unwrap()).unwrap();
        let bytes = std::fs::read(folder.join("expected.f32")).unwrap();
        let values: Vec<f64> =
            bytes.as_chunks::<4>().0.iter().map(|it| f32::from_le_bytes(*it).into()).collect();
        let all: Vec<&[f64]> = values.chunks_exact(width).collect();
        let rows = said["rows"].as_array().unwrap().iter();
        let plain = rows.filter(|row| row["prompt_name"].is_null()).cloned();
        let plain: Vec<Value> = plain.collect();
        let row =
            |row: &Value| all[usize::try_from(row["row"].as_u64().unwrap()).unwrap()].to_vec();
        let expected = plain.iter().map(row).collect();
        models.push((folder, plain, expected));
    }
    models
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Quantises a model into a folder of its own.
fn quantized(folder: &Path, to_type: &str) -> (TempDir, String) {
    let scratch = tempfile::tempdir().unwrap();
    let out = text(scratch.path().join("quantised-0.uqff"));
    success(&["quantize", &text(folder), &out, "--type", to_type]);
    (scratch, out)
}

#[test]
fn quantised_folders_of_all_families_are_whole_and_run() {
    let models = embedding_models();
    assert!(models.len() >= 14, "{}", models.len());
    for (folder, rows, expected) in models {
        let (out, _) = quantized(&folder, "hqq8");
        let model = text(out.path());
        let found = of_rows(&rows, &["embed", "-m", &model, "--precise"]);
        for ((row, found), expected) in rows.iter().zip(&found).zip(&expected) {
            let cosine = cosine(&numbers(&found["embedding"]), expected);
            assert!(cosine >= 0.999, "{} {}: {cosine}", folder.display(), row["text"]);
        }
        for file in ["modules.json", "sentence_bert_config.json"] {
            assert_eq!(
                std::fs::read(out.path().join(file)).ok(),
                std::fs::read(folder.join(file)).ok(),
                "{file}"
            );
        }
    }
}

#[test]
fn what_a_type_does_not_suit_is_f32_and_small_tables_stay() {
    let formats = |file: &str| {
        let mut inspected = objects(&stdout(&["inspect", "--json", file], ""));
        inspected.remove(0)["formats"].clone()
    };
    // Weights are bf16, and most rows no whole blocks.
    let (out, file) = quantized(&data("models/qwen3_embedding"), "q8_0");
    assert_eq!(formats(&file), json!({"q8_0": 6, "f32": 16}));
    let residual = text(out.path().join("residual.safetensors"));
    let names = |file: &str| -> Vec<String> {
        let inspected = objects(&stdout(&["inspect", "--json", file], "")).remove(0);
        let tensors = inspected["tensors"].as_array().unwrap().iter();
        tensors.map(|tensor| tensor["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(names(&residual).iter().all(|name| name.ends_with("norm.weight")));
    let (out, file) = quantized(&data("models/mpnet"), "hqq8");
    let kept = names(&text(out.path().join("residual.safetensors")));
    for table in ["embeddings.position_embeddings.weight", "encoder.relative_attention_bias.weight"]
    {
        assert!(kept.iter().any(|name| name == table), "{kept:?}");
        assert!(!names(&file).iter().any(|name| name == table));
    }
}

/// A copy of a model's folder in which `old` of a file is `new`.
fn changed(model: &str, file: &str, old: &str, new: &str) -> TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        std::fs::create_dir_all(scratch.path().join(&inside)).unwrap();
        for entry in data("models").join(model).join(&inside).read_dir().unwrap() {
            let (from, name) = entry.map(|it| (it.path(), inside.join(it.file_name()))).unwrap();
            if from.is_dir() {
                folders.push(name);
            } else {
                std::fs::copy(from, scratch.path().join(name)).unwrap();
            }
        }
    }
    let path = scratch.path().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(old), "{text}");
    std::fs::write(path, text.replacen(old, new, 1)).unwrap();
    scratch
}

#[test]
fn models_that_would_not_run_are_refused_by_name() {
    let scratch = tempfile::tempdir().unwrap();
    let out = text(scratch.path().join("x-0.uqff"));
    for (model, file, old, new, expected) in [
        ("bert_cased", "config.json", "\"bert\"", "\"led\"", "`model_type` is \"led\""),
        ("bert_cased", "modules.json", "models.Pooling", "models.WordWeights", "WordWeights"),
        ("bert_cased", "modules.json", "\"2_Dense\"", "\"../2_Dense\"", "../2_Dense"),
        ("model2vec_unigram_f16", "config.json", "model2vec", "model2vec", "a table of a vector"),
    ] {
        let folder = changed(model, file, old, new);
        let error = failure(&["quantize", &text(folder.path()), &out, "--type", "q8_0"], b"", 1);
        assert!(error.contains(expected), "{error}");
        assert_eq!(scratch.path().read_dir().unwrap().count(), 0, "{model}");
    }
}

#[test]
fn models_that_fill_gaps_are_refused_where_nothing_says_how_they_embed() {
    let folder = changed("bert_max_pool", "config.json", "\"BertModel\"", "\"BertForMaskedLM\"");
    let model = text(folder.path());
    success(&["embed", "-m", &model, "text"]);
    std::fs::remove_file(folder.path().join("modules.json")).unwrap();
    let error = failure(&["embed", "-m", &model, "text"], b"", 1);
    assert!(error.contains("BertForMaskedLM") && error.contains("modules.json"), "{error}");
}
