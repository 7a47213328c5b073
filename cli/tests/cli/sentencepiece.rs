//! Decoders whose tokenizer is a SentencePiece model: `tests/data/sentencepiece/llama.model` and
//! what is known of it.

use std::fs;
use std::path::{Path, PathBuf};

use nanoembed_core::format::gguf::{GgufPlan, GgufWriter, WriteValue};
use nanoembed_core::owned::SentencePieceModel;
use nanoembed_core::tensor::{Dtype, Shape, TensorSpec};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tiny_decoder::{self, HIDDEN, tensors};
use crate::{failure, nanoembed, objects, stdout};

const BEGIN: u64 = 1;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/sentencepiece").join(name)
}

fn json_of(name: &str) -> Value {
    serde_json::from_slice(&fs::read(data(name)).unwrap()).unwrap()
}

/// Texts and their ids.
fn known() -> Vec<(String, Value)> {
    let (texts, ids) = (json_of("texts.json"), json_of("llama.json")["ids"].clone());
    let pairs = texts.as_array().unwrap().iter().zip(ids.as_array().unwrap());
    pairs.map(|(text, ids)| (text.as_str().unwrap().to_owned(), ids.clone())).collect()
}

/// Asserts that the ids of the texts are those that are known, after `begin`. What texts spell of
/// control tokens becomes those in a decoder, and not in what is known.
fn check_ids(model: &str, begin: &[u64]) {
    let mut known = known();
    assert!(known.len() > 400);
    known.retain(|(text, _)| begin.is_empty() || !text.contains("s>"));
    assert!(known.len() > 300);
    let lines: String =
        known.iter().map(|(text, _)| format!("{}\n", json!({"text": text}))).collect();
    let arguments =
        ["tokenize", "-m", model, "-i", "jsonl", "--format", "jsonl", "--max-tokens", "0"];
    let output = objects(&stdout(&arguments, &lines));
    assert_eq!(output.len(), known.len());
    for (line, (text, ids)) in output.iter().zip(&known) {
        let expected = begin.iter().map(|id| json!(id)).chain(ids.as_array().unwrap().clone());
        assert_eq!(line["ids"], expected.collect::<Value>(), "{text:?}");
    }
}

/// A decoder as a Hugging Face folder, whose tokenizer has two tokens added.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let model = fs::read(data("llama.model")).unwrap();
    let pieces = SentencePieceModel::open(&model, 0).unwrap().tokenizer().spec().pieces() as usize;
    fs::write(path.join("tokenizer.model"), model).unwrap();
    let write = |name: &str, value: Value| fs::write(path.join(name), value.to_string()).unwrap();
    tiny_decoder::write(path, pieces + 3, json!({"eos_token_id": [2, 5]}));
    let token = |content: &str| json!({"content": content, "special": true});
    let (start, end) = ((pieces + 1).to_string(), (pieces + 2).to_string());
    write(
        "tokenizer_config.json",
        json!({
            "add_bos_token": true,
            "added_tokens_decoder": {
                "1": token("<s>"), &start: token("<|from|>"), &end: token("<|until|>"),
            },
        }),
    );
    folder
}

#[test]
fn a_model_alone_tokenizes() {
    let model = data("llama.model");
    let model = model.to_str().unwrap();
    check_ids(model, &[]);
    assert_eq!(stdout(&["tokenize", "-m", model, "--pieces", "the the"], ""), "▁the ▁the\n");
}

#[test]
fn a_folder_becomes_an_amb_file_that_tokenizes_and_generates() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let model = path("m.amb");
    nanoembed(&["convert", folder.path().to_str().unwrap(), &model, "--type", "int8"])
        .assert()
        .success();
    nanoembed(&["verify", "--strict", &model]).assert().success();
    check_ids(&model, &[BEGIN]);
    let pieces = json_of("llama.json")["special"].clone();
    assert_eq!(pieces[1], BEGIN);
    // Texts before and after an added token are texts of their own.
    let output = stdout(&["tokenize", "-m", &model, "--pieces", "<|from|>the the<|until|>"], "");
    assert_eq!(output, "<s> <|from|> ▁the ▁the <|until|>\n");
    let line = stdout(
        &[
            "generate",
            "they said",
            "-m",
            &model,
            "--max-tokens",
            "6",
            "--temperature",
            "0",
            "--json",
        ],
        "",
    );
    let line = &objects(&line)[0];
    assert!(line["ids"].as_array().unwrap().len() <= 6);
    let embedded = stdout(&["embed", "-m", &model, "they said"], "");
    assert_eq!(embedded.split_whitespace().count(), HIDDEN);
}

#[test]
fn folder_and_weights_file_say_what_the_amb_file_says() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = folder.path().to_str().unwrap().to_owned();
    let (amb, weights) = (path("m.amb"), path("m.weights"));
    for model in [&amb, &weights] {
        nanoembed(&["convert", &source, model]).assert().success();
        nanoembed(&["verify", "--strict", model]).assert().success();
        check_ids(model, &[BEGIN]);
    }
    check_ids(&source, &[BEGIN]);
    let said = |model: &str, further: &[&str]| {
        let arguments = ["generate", "they said", "-m", model, "--max-tokens", "6", "--json"];
        stdout(&[&arguments[..], &["--temperature", "0"], further].concat(), "")
    };
    let expected = said(&amb, &[]);
    assert_eq!(said(&weights, &[]), expected);
    assert_eq!(said(&source, &[]), expected);
    assert_eq!(said(&weights, &["--memory", "1G"]), expected);
}

/// Which token a tokenizer puts before texts is its own business, not that of the model's settings.
#[test]
fn the_tokenizers_own_token_begins_texts() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let change = |name: &str, key: &str, value: Value| {
        let read = fs::read(path(name)).unwrap();
        let mut changed: Value = serde_json::from_slice(&read).unwrap();
        changed[key] = value;
        fs::write(path(name), changed.to_string()).unwrap();
    };
    for (said, spelled) in
        [(Value::Null, json!("<s>")), (Value::Null, Value::Null), (json!(7), json!("<s>"))]
    {
        change("config.json", "bos_token_id", said);
        change("tokenizer_config.json", "bos_token", spelled);
        let file = path("m.amb");
        let (source, file) = (folder.path().to_str().unwrap(), file.to_str().unwrap());
        nanoembed(&["convert", source, file]).assert().success();
        check_ids(source, &[BEGIN]);
        check_ids(file, &[BEGIN]);
    }
    change("tokenizer_config.json", "bos_token", json!("<|from|>"));
    let found = stdout(&["tokenize", "-m", folder.path().to_str().unwrap(), "--pieces", "the"], "");
    assert_eq!(found, "<|from|> ▁the\n");
}

#[test]
fn a_folder_whose_model_does_what_is_not_known_is_refused() {
    for (key, value) in [
        ("hidden_act", json!("gelu")),
        ("attention_bias", json!(true)),
        ("rope_scaling", json!({"rope_type": "llama3", "factor": 8.0})),
        ("partial_rotary_factor", json!(0.5)),
    ] {
        let folder = folder();
        let config = folder.path().join("config.json");
        let mut changed: Value = serde_json::from_slice(&fs::read(&config).unwrap()).unwrap();
        changed[key] = value;
        fs::write(&config, changed.to_string()).unwrap();
        let output = folder.path().join("m.amb");
        let arguments = ["convert", folder.path().to_str().unwrap(), output.to_str().unwrap()];
        let message = failure(&arguments, b"", 1);
        assert!(message.contains("config.json"), "{message}");
        assert!(!output.exists());
    }
}

/// The same decoder as a GGUF file: the model as arrays.
fn gguf() -> Vec<u8> {
    let model = SentencePieceModel::open(fs::read(data("llama.model")).unwrap(), 0).unwrap();
    let tokenizer = model.tokenizer();
    let count = tokenizer.spec().pieces();
    let (mut tokens, mut kinds, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    for id in 0..count {
        let (spelling, kind) = tokenizer.piece(id).unwrap();
        tokens.push(spelling.as_bytes());
        kinds.push(i32::try_from(kind.code()).unwrap());
        scores.push(tokenizer.score(id).unwrap());
    }
    let names = [
        ("model.embed_tokens", "token_embd"),
        ("model.norm", "output_norm"),
        ("input_layernorm", "attn_norm"),
        ("post_attention_layernorm", "ffn_norm"),
        ("self_attn.q_proj", "attn_q"),
        ("self_attn.k_proj", "attn_k"),
        ("self_attn.v_proj", "attn_v"),
        ("self_attn.o_proj", "attn_output"),
        ("mlp.gate_proj", "ffn_gate"),
        ("mlp.up_proj", "ffn_up"),
        ("mlp.down_proj", "ffn_down"),
    ];
    let tensors = tensors(count as usize);
    let renamed = |name: &str| {
        let name = name.replace("model.layers.0.", "blk.0.");
        let (from, to) = names.iter().find(|(from, _)| name.contains(from)).unwrap();
        name.replace(from, to)
    };
    let renamed: Vec<String> = tensors.iter().map(|(name, ..)| renamed(name)).collect();
    let specs: Vec<TensorSpec<'_>> = tensors
        .iter()
        .zip(&renamed)
        .map(|((_, shape, _), name)| {
            let dims: Vec<u64> = shape.iter().map(|&dim| dim as u64).collect();
            TensorSpec { name, dtype: Dtype::F32, shape: Shape::new(&dims).unwrap() }
        })
        .collect();
    let plan = GgufPlan {
        metadata: &[
            ("general.architecture", WriteValue::Text("llama")),
            ("llama.block_count", WriteValue::U32(1)),
            ("llama.context_length", WriteValue::U32(64)),
            ("llama.embedding_length", WriteValue::U32(8)),
            ("llama.feed_forward_length", WriteValue::U32(12)),
            ("llama.attention.head_count", WriteValue::U32(2)),
            ("llama.attention.head_count_kv", WriteValue::U32(1)),
            ("llama.attention.layer_norm_rms_epsilon", WriteValue::F32(1e-5)),
            ("tokenizer.ggml.model", WriteValue::Text("llama")),
            ("tokenizer.ggml.tokens", WriteValue::Texts(&tokens)),
            ("tokenizer.ggml.scores", WriteValue::F32s(&scores)),
            ("tokenizer.ggml.token_type", WriteValue::I32s(&kinds)),
            ("tokenizer.ggml.bos_token_id", WriteValue::U32(1)),
            ("tokenizer.ggml.eos_token_id", WriteValue::U32(2)),
        ],
        tensors: &specs,
        alignment: 32,
    };
    let mut writer = GgufWriter::new(plan, Vec::new()).unwrap();
    tensors.iter().for_each(|(_, _, data)| writer.data(data).unwrap());
    writer.finish().unwrap()
}

#[test]
fn the_arrays_of_a_gguf_file_are_the_same_model() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (gguf_path, amb) = (path("m.gguf"), path("m.amb"));
    fs::write(&gguf_path, gguf()).unwrap();
    check_ids(&gguf_path, &[BEGIN]);
    nanoembed(&["convert", &gguf_path, &amb]).assert().success();
    check_ids(&amb, &[BEGIN]);
    let said = |model: &str| {
        let more = ["--max-tokens", "5", "--temperature", "0", "--precise", "--json"];
        stdout(&[&["generate", "<s>they", "-m", model][..], &more].concat(), "")
    };
    assert_eq!(said(&gguf_path), said(&amb));
}
