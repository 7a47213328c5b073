//! Models whose layers have windows in no regular turn, as folders and as what they become; values
//! by `tests/data/windows/make.py` in f64.

use std::fs;
use std::path::{Path, PathBuf};

use nanoembed_core::format::gguf::WriteValue;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::decoder_families::{generated, generation, made};
use crate::decoder_folders::{FAMILIES, text};
use crate::families::{Expected, models, name_of};
use crate::family_gguf::{changed, check};
use crate::{failure, stdout};

const PATTERN: &str = "attention.sliding_window_pattern";

/// A model with another list of layers, the texts of it that are known, and all texts' vectors.
struct Case {
    folder: TempDir,
    has_window: Vec<bool>,
    rows: Vec<Value>,
    vectors: Vec<Vec<f64>>,
}

impl Case {
    /// The cases of a model.
    fn of(name: &str) -> Vec<Self> {
        let path = models().join("../windows/expected.json");
        let cases: Vec<Value> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        cases
            .iter()
            .filter(|case| case["model"] == name)
            .map(|case| Self::new(name, case))
            .collect()
    }

    fn new(name: &str, case: &Value) -> Self {
        let from = models().join(name);
        let folder = TempDir::new().unwrap();
        copy(&from, folder.path());
        let path = folder.path().join("config.json");
        let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        config["layer_types"] = case["layer_types"].clone();
        fs::write(path, config.to_string()).unwrap();
        let kinds = case["layer_types"].as_array().unwrap();
        let Expected { rows, numbers: mut vectors, .. } = Expected::read(&from);
        let known: Vec<usize> = serde_json::from_value(case["rows"].clone()).unwrap();
        let found: Vec<Vec<f64>> = serde_json::from_value(case["vectors"].clone()).unwrap();
        for (row, vector) in known.iter().zip(found) {
            vectors[*row] = vector;
        }
        let rows = known.iter().map(|row| rows[*row].clone());
        Self {
            folder,
            has_window: kinds.iter().map(|kind| kind == "sliding_attention").collect(),
            rows: rows.filter(|row| name_of(row).is_empty()).collect(),
            vectors,
        }
    }

    fn check(&self, model: &Path) {
        check(model, &self.rows, &self.vectors, &["--prompt", ""]);
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = entry.map(|entry| (entry.path(), to.join(entry.file_name()))).unwrap();
        if path.is_dir() {
            fs::create_dir(&to).unwrap();
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

/// The array of GGUF that says it of each layer.
fn array(has_window: &[bool]) -> Vec<u8> {
    let (array, boolean, count) = (9u32, 7u32, has_window.len() as u64);
    let begin = [array.to_le_bytes(), boolean.to_le_bytes()].concat();
    let values = has_window.iter().map(|has| u8::from(*has));
    begin.into_iter().chain(count.to_le_bytes()).chain(values).collect()
}

#[test]
fn encoders_have_the_same_vectors_from_folders_and_files() {
    for case in ["modernbert_mean", "embeddinggemma"].iter().flat_map(|name| Case::of(name)) {
        let out = TempDir::new().unwrap();
        let folder = case.folder.path();
        assert!(!case.rows.is_empty());
        case.check(folder);
        for name in ["m.weights", "m.amb"] {
            case.check(&made(&["convert", "--type", "f32"], folder, &out, name));
        }
    }
}

#[test]
fn gguf_of_encoders_is_read_where_it_lists_layers_and_not_written() {
    let out = TempDir::new().unwrap();
    let whole = models().join("embeddinggemma");
    let bytes = fs::read(made(&["migrate"], &whole, &out, "whole.gguf")).unwrap();
    let key = format!("gemma-embedding.{PATTERN}");
    let model = out.path().join("m.gguf");
    for case in Case::of("embeddinggemma") {
        let numbers: Vec<u32> = case.has_window.iter().map(|has| u32::from(*has)).collect();
        let listed = array(&case.has_window);
        for value in [WriteValue::Stored(&listed), WriteValue::U32s(&numbers)] {
            fs::write(&model, changed(&bytes, |known| known != key, &[(&key, value)])).unwrap();
            case.check(&model);
        }
        let refused = out.path().join("refused.gguf");
        let command = ["migrate", text(case.folder.path()), text(&refused)];
        let error = failure(&command, b"", 1);
        assert!(error.contains("other windows"), "{error}");
        assert!(!refused.exists());
    }
    for value in [array(&[true; 6]), array(&[true; 8])] {
        let value = WriteValue::Stored(&value);
        fs::write(&model, changed(&bytes, |known| known != key, &[(&key, value)])).unwrap();
        let error = failure(&["embed", "-m", text(&model), "a"], b"", 1);
        assert!(error.contains(PATTERN), "{error}");
    }
}

#[test]
fn decoders_generate_the_same_from_folders_and_files() {
    let (full, sliding) = ("full_attention", "sliding_attention");
    let kinds = [sliding, full, full, sliding, full, sliding, sliding];
    let family = &FAMILIES[4];
    let folder = family.folder(json!({ "layer_types": kinds }));
    let expected = json!([225, 283, 300, 300, 895, 895, 895, 895, 895, 158]);
    assert_ne!(expected, json!(family.generated));
    let out = TempDir::new().unwrap();
    let in_f32 = ["convert", "--type", "f32"];
    let gguf = listed_decoder(&out, &kinds.map(|kind| kind == sliding));
    let models = [
        folder.path().to_owned(),
        made(&in_f32, folder.path(), &out, "a.amb"),
        made(&in_f32, folder.path(), &out, "a.weights"),
        made(&in_f32, &gguf, &out, "b.amb"),
        gguf,
    ];
    for model in &models {
        assert_eq!(generated(model), expected, "{}", model.display());
    }
    let refused = out.path().join("refused.gguf");
    let error = failure(&["migrate", text(folder.path()), text(&refused)], b"", 1);
    assert!(error.contains("layer_types"), "{error}");
    let short = listed_decoder(&out, &[true; 6]);
    let error = failure(&generation(text(&short)), b"", 1);
    assert!(error.contains(PATTERN), "{error}");
}

/// The decoder as GGUF that says of each layer whether it has a window.
fn listed_decoder(out: &TempDir, has_window: &[bool]) -> PathBuf {
    let weights = FAMILIES[4].folder(json!({}));
    let path = out.path().join("whole.gguf");
    stdout(&["migrate", "-q", text(&weights.path().join("model.safetensors")), text(&path)], "");
    let key = format!("gemma3.{PATTERN}");
    let value = array(has_window);
    let more = [(&*key, WriteValue::Stored(&value))];
    let bytes = changed(&fs::read(&path).unwrap(), |known| known != key, &more);
    fs::remove_file(path).unwrap();
    let listed = out.path().join(format!("{}.gguf", has_window.len()));
    fs::write(&listed, bytes).unwrap();
    listed
}
