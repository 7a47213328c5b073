//! Decoders whose tokenizer is byte-level BPE in a `tokenizer.json`: what `tests/data/bpe` knows of
//! three of them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{failure, nanoembed, objects, stdout, tiny_decoder};

/// A tokenizer, and texts with the ids that Hugging Face `tokenizers` gives them.
fn reference(name: &str) -> Value {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/bpe");
    serde_json::from_slice(&fs::read(data.join(format!("{name}.json"))).unwrap()).unwrap()
}

/// How `tokenizer.json` says what cuts texts into words.
fn pattern(name: &str) -> Value {
    let bytes = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex});
    let sequence =
        |first: Value, last: Value| json!({"type": "Sequence", "pretokenizers": [first, last]});
    match name {
        "gpt-2" => bytes(true),
        "smollm" => sequence(json!({"type": "Digits", "individual_digits": true}), bytes(true)),
        _ => {
            let regex = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
            let split = json!({"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": false});
            sequence(split, bytes(false))
        }
    }
}

/// A decoder as a folder, whose texts begin with a token if `begins`.
pub fn folder(name: &str, begins: bool, further: Value) -> (TempDir, Value) {
    let folder = TempDir::new().unwrap();
    let reference = reference(name);
    let tokens = reference["tokens"].as_array().unwrap();
    let added = reference["added"].as_array().unwrap();
    let is_added = |token: &Value| added.iter().any(|it| it[0] == *token);
    let vocabulary = tokens.iter().zip(0..).filter(|(token, _)| !is_added(token));
    let vocabulary: serde_json::Map<_, _> =
        vocabulary.map(|(token, id)| (token.as_str().unwrap().to_owned(), json!(id))).collect();
    let first = [json!({"SpecialToken": {"id": added[0][0], "type_id": 0}})];
    let text = |id: &str| json!({"Sequence": {"id": id, "type_id": 0}});
    let begin = json!({
        "type": "TemplateProcessing",
        "single": [first[0], text("A")],
        "pair": [first[0], text("A"), text("B")],
        "special_tokens": {added[0][0].as_str().unwrap(): {"id": added[0][0], "ids": [added[0][1]], "tokens": [added[0][0]]}},
    });
    let file = json!({
        "added_tokens": added.iter().map(|it| json!({"id": it[1], "content": it[0], "special": true, "normalized": false, "single_word": false, "lstrip": false, "rstrip": false})).collect::<Value>(),
        "normalizer": null,
        "pre_tokenizer": pattern(name),
        "post_processor": if begins { begin } else { Value::Null },
        "model": {"type": "BPE", "vocab": vocabulary, "merges": reference["merges"]},
    });
    fs::write(folder.path().join("tokenizer.json"), file.to_string()).unwrap();
    tiny_decoder::write(folder.path(), tokens.len(), further);
    (folder, reference)
}

#[test]
fn a_folder_becomes_an_amb_file_with_the_ids_of_hugging_face() {
    for (name, begins) in [("gpt-2", false), ("smollm", true), ("llama-bpe", false)] {
        let (folder, reference) = folder(name, begins, json!({}));
        let model = folder.path().join("m.amb").to_str().unwrap().to_owned();
        nanoembed(&["convert", folder.path().to_str().unwrap(), &model]).assert().success();
        nanoembed(&["verify", "--strict", &model]).assert().success();
        let texts = reference["texts"].as_array().unwrap();
        let lines: String =
            texts.iter().map(|it| format!("{}\n", json!({"text": it["text"]}))).collect();
        let arguments =
            ["tokenize", "-m", &model, "-i", "jsonl", "--format", "jsonl", "--max-tokens", "0"];
        let output = objects(&stdout(&arguments, &lines));
        assert!(texts.len() > 1000 && output.len() == texts.len());
        let first = begins.then(|| reference["added"][0][1].clone());
        for (line, text) in output.iter().zip(texts) {
            let ids = first.iter().chain(text["ids"].as_array().unwrap()).cloned();
            assert_eq!(line["ids"], ids.collect::<Value>(), "{name}: {}", text["text"]);
        }
        let generate = |from: &str| {
            let sampling = ["--temperature", "0", "--max-tokens", "8", "--json", "--quiet"];
            stdout(&[&["generate", "they said", "-m", from], &sampling[..]].concat(), "")
        };
        assert_eq!(objects(&generate(&model))[0]["ids"].as_array().unwrap().len(), 8);
    }
}

#[test]
fn llama_3_divides_the_frequencies_of_long_waves() {
    let scaling = json!({"rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16,
    }});
    let (folder, _) = folder("smollm", false, scaling);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    nanoembed(&["convert", folder.path().to_str().unwrap(), &path("m.amb")]).assert().success();
    nanoembed(&[
        "dequantize",
        &path("m.amb"),
        "model.rope_freqs.weight",
        "--output",
        &path("d.npy"),
    ])
    .assert()
    .success();
    let bytes = fs::read(path("d.npy")).unwrap();
    let values = bytes[bytes.len() - 8..].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
    // Heads of 4: waves of 2π and 200π positions. Of the first 16 / 2π = 2.546 fit the context:
    // (2.546 − 1) / 3 of the way.
    let smooth = (16.0 / std::f32::consts::TAU - 1.0) / 3.0;
    let expected = [1.0 / ((1.0 - smooth) / 8.0 + smooth), 8.0];
    for (found, expected) in values.zip(expected) {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
}

#[test]
fn what_is_cut_otherwise_is_refused() {
    let (folder, _) = folder("gpt-2", false, json!({}));
    let file = folder.path().join("tokenizer.json");
    let mut json: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    json["pre_tokenizer"]["add_prefix_space"] = true.into();
    fs::write(&file, json.to_string()).unwrap();
    let output = folder.path().join("m.amb");
    let arguments = ["convert", folder.path().to_str().unwrap(), output.to_str().unwrap()];
    let said = failure(&arguments, b"", 1);
    assert!(said.contains("tokenizer.json") && said.contains("ByteLevel"), "{said}");
    assert!(!output.exists());
}
