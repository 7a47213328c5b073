//! The built-in model against the reference: embeddings of the published weights, computed in f64.

#![cfg(feature = "default-model")]

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::tiny_model::TinyModel;
use crate::{failure, nanoembed, numbers, objects, stdout};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data/minilm").join(name)
}

fn sentences() -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(data("sentences.json")).unwrap()).unwrap()
}

fn lines(sentences: &[Value]) -> String {
    sentences.iter().map(|sentence| format!("{}\n", json!({"text": sentence["text"]}))).collect()
}

#[test]
fn token_ids_are_those_of_the_reference() {
    let sentences = sentences();
    let output = stdout(
        &["tokenize", "-i", "jsonl", "--format", "jsonl", "--max-tokens", "0"],
        &lines(&sentences),
    );
    for (sentence, line) in sentences.iter().zip(objects(&output)) {
        assert_eq!(sentence["ids"], line["ids"], "{}", sentence["text"]);
    }
}

/// Mean and least cosine to the reference of the reference sentences' embeddings.
fn agreement(arguments: &[&str]) -> (f64, f64) {
    let sentences = sentences();
    let arguments = [&["embed", "-i", "jsonl", "--format", "jsonl"], arguments].concat();
    let output = stdout(&arguments, &lines(&sentences));
    let reference = std::fs::read(data("embeddings_max256.f32")).unwrap();
    let reference: Vec<f64> =
        reference.as_chunks().0.iter().map(|x| f64::from(f32::from_le_bytes(*x))).collect();
    let mut cosines = Vec::new();
    for (sentence, line) in sentences.iter().zip(objects(&output)) {
        let row = usize::try_from(sentence["row"].as_u64().unwrap()).unwrap();
        let expected = &reference[row * 384..][..384];
        let embedding = numbers(&line["embedding"]);
        cosines.push(expected.iter().zip(&embedding).map(|(a, b)| a * b).sum::<f64>());
    }
    assert_eq!(cosines.len(), 100);
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    let least = cosines.iter().copied().fold(f64::INFINITY, f64::min);
    println!("{arguments:?}: mean {mean:.6}, least {least:.6}");
    (mean, least)
}

#[test]
fn eight_bits_keep_the_meaning() {
    let (mean, least) = agreement(&[]);
    assert!(mean >= 0.998 && least >= 0.99, "{mean} {least}");
}

#[test]
fn precise_computes_with_all_bits_of_the_activations() {
    let (mean, least) = agreement(&["--precise"]);
    assert!(mean >= 0.999 && least >= 0.995, "{mean} {least}");
}

#[test]
fn requantized_floats_are_nearly_as_good_as_what_convert_writes() {
    let folder = tempfile::tempdir().unwrap();
    let halves = folder.path().join("model.weights");
    let halves = halves.to_str().unwrap();
    let built_in = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/all-MiniLM-L6-v2.int8.weights");
    nanoembed(&["convert", built_in, halves, "--type", "f16", "-q"]).assert().success();
    let (mean, least) = agreement(&["-m", halves, "--requantize"]);
    assert!(mean >= 0.997 && least >= 0.99, "{mean} {least}");
    let (exact, _) = agreement(&["-m", halves]);
    assert!(exact > mean, "{exact} {mean}");
}

#[test]
fn the_default_model_answers_to_its_names() {
    let of = |arguments: &[&str]| {
        nanoembed(&[&["embed"], arguments, &["a dog"]].concat()).output().unwrap()
    };
    let usual = of(&[]);
    assert!(usual.status.success());
    for name in ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"] {
        assert_eq!(of(&["-m", name]).stdout, usual.stdout, "{name}");
    }
}

#[test]
fn a_model_that_is_named_as_on_the_hub_is_told_how_to_be_got() {
    for arguments in [
        &["embed", "-m", "BAAI/bge-small-en-v1.5", "a"][..],
        &["inspect", "BAAI/bge-small-en-v1.5"],
        &["convert", "BAAI/bge-small-en-v1.5", "out.weights"],
    ] {
        let said = failure(arguments, b"", 3);
        let way = "`hf download BAAI/bge-small-en-v1.5` gets it";
        assert!(said.contains(way), "{arguments:?}: {said}");
    }
    for path in ["cli/model.weights", "/BAAI/bge", "./BAAI/bge", "a/b/c", "bge"] {
        let said = failure(&["embed", "-m", path, "a"], b"", 3);
        assert_eq!(said.contains("hf download"), path.starts_with("cli"), "{path}: {said}");
    }
}

#[test]
fn variables_of_the_environment_are_defaults() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let run = |name: &str, value: &str, arguments: &[&str]| {
        let mut command = nanoembed(&[&["embed", "the cat"], arguments].concat());
        command.env(name, value).output().unwrap()
    };
    let named = stdout(&["embed", "the cat", "-m", &model], "");
    let usual = stdout(&["embed", "the cat"], "");
    assert_ne!(named, usual);
    assert_eq!(run("NANOEMBED_MODEL", &model, &[]).stdout, named.as_bytes());
    assert_eq!(run("NANOEMBED_MODEL", "", &[]).stdout, usual.as_bytes());
    assert_eq!(run("NANOEMBED_MODEL", "none.weights", &["-m", &model]).stdout, named.as_bytes());
    assert_eq!(run("NANOEMBED_MODEL", "none.weights", &[]).status.code(), Some(3));
    assert_eq!(run("NANOEMBED_THREADS", "1", &[]).stdout, usual.as_bytes());
    let wrong = run("NANOEMBED_THREADS", "0", &[]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("--threads"));
}
