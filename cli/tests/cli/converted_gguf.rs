//! Encoders of all families from GGUF to `.weights` and `.amb`: a converted file has the ids and the
//! bits of vectors of the GGUF file, and what the model's folder becomes.

use std::path::{Path, PathBuf};

use nanoembed_core::event::Mode;
use nanoembed_core::format::gguf::{Gguf, GgufPlan, GgufWriter, WriteValue};
use nanoembed_core::tensor::{Shape, TensorSpec};
use serde_json::Value;
use tempfile::TempDir;

use super::families::{Expected, TOLERANCE, farthest, lines, models};
use super::family_gguf::{KNOWN, changed, is_foreign, others, run, written};
use super::{failure, stdout};

/// Converts a model to a file with f32 weights.
fn converted(model: &Path, out: &Path) {
    let (model, out) = (model.to_str().unwrap(), out.to_str().unwrap());
    stdout(&["convert", "-q", model, out, "--type", "f32"], "");
}

/// The converted files of a model.
fn files(model: &Path, folder: &TempDir) -> [PathBuf; 2] {
    ["out.weights", "out.amb"].map(|name| {
        let out = folder.path().join(name);
        converted(model, &out);
        out
    })
}

fn embeddings(model: &Path, texts: &str) -> [Vec<Value>; 2] {
    ["tokenize", "embed"].map(|command| {
        let precise: &[&str] = if command == "embed" { &["--precise"] } else { &[] };
        run(&[&[command], precise].concat(), model, &[], texts)
    })
}

fn texts() -> String {
    lines(&Expected::read(&models().join("roberta")).rows, &["text"])
}

#[test]
fn converted_files_embed_as_the_gguf_file_and_the_folder_do() {
    let work = TempDir::new().unwrap();
    let gguf = work.path().join("m.gguf");
    let texts = texts();
    for family in KNOWN {
        let folder = models().join(family);
        let bytes = written(&folder, &gguf);
        let [ids, vectors] = embeddings(&folder, &texts);
        for file in files(&gguf, &work) {
            let [found_ids, found] = embeddings(&file, &texts);
            assert_eq!(found_ids, ids, "{family} {file:?}");
            assert_eq!(embeddings(&gguf, &texts)[1], found, "{family} {file:?}");
            for (found, expected) in found.iter().zip(&vectors) {
                let expected: Vec<f64> =
                    serde_json::from_value(expected["embedding"].clone()).unwrap();
                assert!(farthest(&found["embedding"], &expected) <= TOLERANCE, "{family}");
            }
        }
        std::fs::write(&gguf, changed(&bytes, is_foreign, &[])).unwrap();
        let expected = embeddings(&gguf, &texts);
        for file in files(&gguf, &work) {
            assert_eq!(embeddings(&file, &texts), expected, "{family}, as others write it");
        }
    }
}

#[test]
fn other_models_are_converted() {
    let texts = texts();
    for folder in others() {
        let work = TempDir::new().unwrap();
        let gguf = work.path().join("m.gguf");
        written(folder.path(), &gguf);
        let expected = embeddings(&gguf, &texts);
        for file in files(&gguf, &work) {
            assert_eq!(embeddings(&file, &texts), expected);
        }
    }
}

#[test]
fn prompts_and_limits_are_those_of_the_folder() {
    let work = TempDir::new().unwrap();
    let gguf = work.path().join("m.gguf");
    let folder = models().join("nomic_bert");
    written(&folder, &gguf);
    for file in files(&gguf, &work) {
        for how in [["--prompt-name", "query"], ["--max-tokens", "5"], ["--as", "document"]] {
            let found = |model: &Path| run(&["embed"], model, &how, &texts());
            assert_eq!(found(&file), found(&folder), "{how:?}");
        }
    }
}

#[test]
fn files_of_other_programs_are_converted() {
    let work = TempDir::new().unwrap();
    let texts = texts();
    for case in ["gguf-cased", "gguf-cased-no-key", "gguf-mean", "gguf-xlmr-without-ends"] {
        let gguf = models().join("../cases").join(case).join("model.gguf");
        let expected = embeddings(&gguf, &texts);
        for file in files(&gguf, &work) {
            assert_eq!(embeddings(&file, &texts), expected, "{case}");
        }
    }
}

#[test]
fn rerankers_score_as_the_gguf_file_does() {
    let work = TempDir::new().unwrap();
    let gguf = models().join("../cases/gguf-reranker/model.gguf");
    let scores = |model: &Path| {
        let pair = ["--format", "jsonl", "Where is Berlin?", "rain in the north", "the train"];
        stdout(&[&["rerank", "-m", model.to_str().unwrap()], &pair[..]].concat(), "")
    };
    for file in files(&gguf, &work) {
        assert_eq!(scores(&file), scores(&gguf));
    }
}

/// A file with queries, keys and values of each layer in one matrix.
fn fused(bytes: &[u8]) -> Vec<u8> {
    let file = Gguf::parse(bytes, Mode::Strict).unwrap();
    let metadata: Vec<(&str, WriteValue<'_>)> = file
        .metadata()
        .map(|(key, _)| (key, WriteValue::Stored(file.stored_value(key).unwrap())))
        .collect();
    let mut tensors = Vec::new();
    for tensor in file.tensors() {
        let (name, header) = (tensor.header().name, *tensor.header());
        if name.contains("attn_k.") || name.contains("attn_v.") {
            continue;
        }
        let mut parts = vec![tensor.data()];
        if name.contains("attn_q.") {
            let other = |letter| name.replace("attn_q.", &format!("attn_{letter}."));
            parts.extend(['k', 'v'].map(|letter| file.tensor(&other(letter)).unwrap().data()));
        }
        let mut dims = header.shape.dims().to_vec();
        dims[0] *= parts.len() as u64;
        let shape = Shape::new(&dims).unwrap();
        tensors.push((name.replace("attn_q.", "attn_qkv."), header.dtype, shape, parts.concat()));
    }
    let specs: Vec<TensorSpec<'_>> = tensors
        .iter()
        .map(|(name, dtype, shape, _)| TensorSpec { name, dtype: *dtype, shape: *shape })
        .collect();
    let plan = GgufPlan { metadata: &metadata, tensors: &specs, alignment: 32 };
    let mut writer = GgufWriter::new(plan, Vec::new()).unwrap();
    tensors.iter().for_each(|(.., data)| writer.data(data).unwrap());
    writer.finish().unwrap()
}

#[test]
fn queries_keys_and_values_in_one_matrix_are_taken_apart() {
    let work = TempDir::new().unwrap();
    let gguf = work.path().join("m.gguf");
    let bytes = written(&models().join("roberta"), &gguf);
    let texts = texts();
    let expected = embeddings(&gguf, &texts);
    std::fs::write(&gguf, fused(&bytes)).unwrap();
    for file in files(&gguf, &work) {
        assert_eq!(embeddings(&file, &texts), expected);
    }
}

#[test]
fn what_a_family_has_no_words_for_is_refused_by_name() {
    let work = TempDir::new().unwrap();
    let (gguf, out) = (work.path().join("m.gguf"), work.path().join("out.weights"));
    for (family, key, said) in [
        ("distilbert", "bert.attention.layer_norm_epsilon", "the epsilon of its norms"),
        ("qwen3_embedding", "qwen3.attention.scale", "its factor on attention scores"),
    ] {
        let bytes = written(&models().join(family), &gguf);
        let keys = [(key, WriteValue::F32(0.5))];
        std::fs::write(&gguf, changed(&bytes, |known| known != key, &keys)).unwrap();
        let [from, to] = [&gguf, &out].map(|path| path.to_str().unwrap());
        let found = failure(&["convert", from, to], b"", 1);
        assert!(found.contains(said), "{found}");
        assert!(!out.exists());
    }
}
