//! The built-in model against the reference: embeddings of the published weights, computed in f64.

#![cfg(feature = "default-model")]

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::{numbers, objects, stdout};

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
        &["tokenize", "-i", "jsonl", "--output", "jsonl", "--max-tokens", "0"],
        &lines(&sentences),
    );
    for (sentence, line) in sentences.iter().zip(objects(&output)) {
        assert_eq!(sentence["ids"], line["ids"], "{}", sentence["text"]);
    }
}

#[test]
fn eight_bits_keep_the_meaning() {
    let sentences = sentences();
    let output = stdout(&["embed", "-i", "jsonl", "--output", "jsonl"], &lines(&sentences));
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
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    let least = cosines.iter().copied().fold(f64::INFINITY, f64::min);
    println!("cosine to the reference: mean {mean:.6}, least {least:.6}");
    assert!(cosines.len() == 100 && mean >= 0.999 && least >= 0.995, "{mean} {least}");
}
