//! One decoder out of every format: what it says must not depend on the files that it is in.

use std::fs;
use std::path::{Path, PathBuf};

use nanoembed_core::event::{Mode, Value as Stored};
use nanoembed_core::format::gguf::Gguf;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tiny_model::TinyModel;
use crate::{failure, nanoembed, numbers, objects, stdout};

/// A decoder in blocks of every layout, and how it continues prompts: see `tests/data/README.md`.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/llama").join(name)
}

fn gguf() -> String {
    data("tiny.gguf").to_str().unwrap().to_owned()
}

/// The prompts with their greedy continuations by f64.
fn texts() -> Vec<Value> {
    let json: Value = serde_json::from_slice(&fs::read(data("tiny.json")).unwrap()).unwrap();
    json["texts"].as_array().unwrap().clone()
}

/// Folders with the decoder in other formats.
struct Forms(TempDir);

impl Forms {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// A folder with what Hugging Face would say of the model.
    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.0.path().join(name);
        fs::create_dir(&folder).unwrap();
        let bytes = fs::read(data("tiny.gguf")).unwrap();
        let file = Gguf::parse(&bytes, Mode::Strict).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let tokens: Vec<String> = file.tokens().map(text).collect();
        let kinds = file.elements("tokenizer.ggml.token_type").unwrap();
        let added: Vec<u32> = (0..)
            .zip(kinds)
            .filter(|(_, kind)| matches!(kind, Stored::Signed(3 | 4) | Stored::Unsigned(3 | 4)))
            .map(|(id, _)| id)
            .collect();
        let merges: Vec<Value> = file
            .elements("tokenizer.ggml.merges")
            .unwrap()
            .map(|merge| match merge {
                Stored::Text(pair) => json!(pair),
                other => panic!("{other:?}"),
            })
            .collect();
        let vocabulary: serde_json::Map<String, Value> = tokens
            .iter()
            .zip(0..)
            .filter(|(_, id)| !added.contains(id))
            .map(|(token, id)| (token.clone(), json!(id)))
            .collect();
        let added: Vec<Value> = added
            .iter()
            .map(|id| json!({"id": id, "content": tokens[*id as usize], "special": true, "normalized": false, "single_word": false, "lstrip": false, "rstrip": false}))
            .collect();
        let tokenizer = json!({
            "added_tokens": added, "normalizer": null, "post_processor": null,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Digits", "individual_digits": true},
                {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            ]},
            "model": {"type": "BPE", "vocab": vocabulary, "merges": merges},
        });
        let config = json!({
            "model_type": "llama", "hidden_act": "silu", "hidden_size": 64, "intermediate_size": 96,
            "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
            "max_position_embeddings": 192, "vocab_size": tokens.len(), "rms_norm_eps": 1e-5,
            "bos_token_id": 281, "eos_token_id": 282, "rope_theta": 1e4, "tie_word_embeddings": false,
        });
        fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
        fs::write(folder.join("config.json"), config.to_string()).unwrap();
        folder
    }

    /// The decoder as a folder of UQFF.
    fn uqff(&self, name: &str, generation: &str) -> String {
        let folder = self.folder(name);
        let file = folder.join("tiny-0.uqff").to_str().unwrap().to_owned();
        nanoembed(&["migrate", &gguf(), &file, "--to", generation]).assert().success();
        assert!(folder.join("residual.safetensors").exists());
        folder.to_str().unwrap().to_owned()
    }

    /// The decoder as a folder of floats.
    fn safetensors(&self, name: &str) -> String {
        let folder = self.folder(name);
        let file = folder.join("model.safetensors").to_str().unwrap().to_owned();
        nanoembed(&["migrate", &gguf(), &file]).assert().success();
        folder.to_str().unwrap().to_owned()
    }
}

fn continued(model: &str, text: &Value, further: &[&str]) -> Value {
    continuation(model, text, further).unwrap_or_else(|said| panic!("{model} {further:?}: {said}"))
}

/// The ids that greedily continue a text, or what the program says instead.
fn continuation(model: &str, text: &Value, further: &[&str]) -> Result<Value, String> {
    let count = text["greedy"].as_array().unwrap().len().to_string();
    let arguments = [
        &["generate", text["prompt"].as_str().unwrap(), "--model", model][..],
        &["--max-tokens", &count, "--temperature", "0", "--json", "--quiet"],
        further,
    ];
    let output = nanoembed(&arguments.concat()).output().unwrap();
    match output.status.success() {
        true => Ok(objects(&String::from_utf8(output.stdout).unwrap())[0]["ids"].clone()),
        false => Err(String::from_utf8(output.stderr).unwrap()),
    }
}

/// [`continuation`] in about as little memory as it takes. How much that is depends on how much of
/// the program the system keeps in memory when it starts, so a refusal is answered by what it asks
/// for and a little more.
fn in_little_memory(model: &str, text: &Value) -> Value {
    let mut memory = "1M".to_owned();
    for _ in 0..20 {
        let said = match continuation(model, text, &["--memory", &memory]) {
            Ok(ids) => return ids,
            Err(said) => said,
        };
        let takes = said.split("takes ").nth(1).and_then(|rest| rest.split(" MB").next());
        let takes: f64 = takes.unwrap_or_else(|| panic!("{model}: {said}")).parse().unwrap();
        memory = format!("{}K", (takes * 1000.0).ceil() + 300.0);
    }
    panic!("{model}: refused again and again, last with {memory}");
}

/// Asserts that the model in `path` continues all prompts as it should.
fn goes_on(model: &str, further: &[&str]) {
    for text in texts() {
        assert_eq!(continued(model, &text, further), text["greedy"], "{model} {}", text["prompt"]);
    }
}

#[test]
fn uqff_of_both_generations_goes_on_as_gguf_does() {
    let forms = Forms::new();
    for (name, generation) in [("new", "uqff-1.2"), ("old", "uqff-0.2")] {
        let folder = forms.uqff(name, generation);
        goes_on(&folder, &[]);
        goes_on(&folder, &["--precise"]);
        goes_on(&format!("{folder}/tiny-0.uqff"), &[]);
        let ids = |model: &str| stdout(&["tokenize", "-m", model, "they said <|end|> 12"], "");
        assert_eq!(ids(&folder), ids(&gguf()));
    }
}

#[test]
fn a_folder_of_floats_goes_on_as_gguf_does() {
    let forms = Forms::new();
    let folder = forms.safetensors("floats");
    goes_on(&folder, &[]);
    goes_on(&format!("{folder}/model.safetensors"), &[]);
}

#[test]
fn a_weights_file_holds_a_decoder_with_its_tokenizer() {
    let forms = Forms::new();
    let of_gguf = forms.path("gguf.weights");
    nanoembed(&["convert", &gguf(), &of_gguf]).assert().success();
    let of_folder = forms.path("folder.weights");
    nanoembed(&["convert", &forms.safetensors("floats"), &of_folder]).assert().success();
    let of_uqff = forms.path("uqff.weights");
    nanoembed(&["convert", &forms.uqff("quantised", "uqff-0.2"), &of_uqff]).assert().success();
    for model in [&of_gguf, &of_folder, &of_uqff] {
        goes_on(model, &[]);
        nanoembed(&["verify", "--strict", model]).assert().success();
    }
    let said = failure(&["convert", &of_gguf, &forms.path("x.amb")], b"", 1);
    assert!(said.contains("decoder") && said.contains("GGUF"), "{said}");
    // Type and metadata are those of the file, tokens and merges those of the model.
    let facts = objects(&stdout(&["inspect", "--json", &of_gguf], ""));
    assert_eq!(facts[0]["metadata"]["architecture"], "llama");
    assert_eq!(facts[0]["metadata"]["num_key_value_heads"], "2");
}

#[test]
fn a_weights_file_of_8_bits_says_much_the_same() {
    let forms = Forms::new();
    let model = forms.path("int8.weights");
    nanoembed(&["convert", &gguf(), &model, "--type", "int8"]).assert().success();
    let embed = |model: &str| {
        let output = stdout(&["embed", "they said", "-m", model, "--format", "jsonl"], "");
        numbers(&objects(&output)[0]["embedding"])
    };
    assert!(cosine(&embed(&model), &embed(&gguf())) > 0.999);
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn weights_read_from_storage_say_the_same_as_mapped_ones() {
    let forms = Forms::new();
    let files = ["f32.amb", "int8.amb", "int4block.amb", "f32.weights", "int8.weights"];
    let files = files.map(|name| {
        let (kind, path) = (name.split_once('.').unwrap().0, forms.path(name));
        nanoembed(&["convert", &gguf(), &path, "--type", kind]).assert().success();
        path
    });
    for model in files.iter().chain([&gguf()]) {
        for text in texts() {
            let mapped = continued(model, &text, &[]);
            // The tile is of a megabyte, larger than the file; then of some rows.
            assert_eq!(continued(model, &text, &["--memory", "1G"]), mapped, "{model}");
            assert_eq!(in_little_memory(model, &text), mapped, "{model}");
        }
    }
}

#[test]
fn storage_is_for_models_in_one_file() {
    let forms = Forms::new();
    let said = failure(
        &["generate", "x", "-m", &forms.uqff("folder", "uqff-1.2"), "--memory", "1G"],
        b"",
        2,
    );
    assert!(said.contains("--memory") && said.contains(".amb"), "{said}");
}

#[test]
fn every_type_of_uqff_runs_as_it_is_dequantised() {
    let forms = Forms::new();
    let floats = forms.safetensors("floats");
    let types = [
        "q8_0", "q5_0", "q4_0", "q4_1", "hqq8", "hqq4", "afq8", "afq6", "afq4", "afq3", "afq2",
        "fp8", "f8q8", "mxfp4", "f16", "bf16",
    ];
    for kind in types {
        let file = forms.path(&format!("{kind}-uqff"));
        fs::create_dir(&file).unwrap();
        let file = format!("{file}/m-0.uqff");
        nanoembed(&["quantize", &floats, &file, "--type", kind]).assert().success();
        let folder = forms.folder(kind);
        let dequantized = folder.join("model.safetensors").to_str().unwrap().to_owned();
        nanoembed(&["migrate", &file, &dequantized]).assert().success();
        let embed = |model: &str| {
            let arguments = ["embed", "they said", "-m", model, "--format", "jsonl", "--precise"];
            numbers(&objects(&stdout(&arguments, ""))[0]["embedding"])
        };
        let cosine = cosine(&embed(&file), &embed(folder.to_str().unwrap()));
        assert!((cosine - 1.0).abs() < 1e-6, "{kind} {cosine}");
        let text = &texts()[0];
        let ids = |model: &str| continued(model, text, &["--precise"]);
        assert_eq!(ids(&file), ids(folder.to_str().unwrap()), "{kind}");
    }
}

#[test]
fn search_takes_a_folder_of_uqff() {
    let forms = Forms::new();
    let folder = forms.uqff("folder", "uqff-1.2");
    let output = stdout(&["search", "they said", "-", "-m", &folder, "--json"], "abc\nthey said\n");
    assert_eq!(objects(&output)[0]["text"], "they said");
}

#[test]
fn an_encoder_in_uqff_embeds() {
    let forms = Forms::new();
    let tiny = TinyModel::new();
    let folder = tiny.path().to_str().unwrap();
    let out = forms.path("encoder");
    fs::create_dir(&out).unwrap();
    let file = format!("{out}/f8q8-0.uqff");
    nanoembed(&["quantize", folder, &file, "--type", "f8q8"]).assert().success();
    let embed = |model: &str| {
        numbers(
            &objects(&stdout(&["embed", "hello cat", "-m", model, "--format", "jsonl"], ""))[0]["embedding"],
        )
    };
    for model in [&out, &file] {
        assert!(cosine(&embed(model), &embed(folder)) > 0.99);
    }
}

#[test]
fn what_is_missing_is_named() {
    let forms = Forms::new();
    let folder = forms.uqff("folder", "uqff-1.2");
    let said =
        |status| failure(&["generate", "x", "-m", &format!("{folder}/tiny-0.uqff")], b"", status);
    let take = |name: &str| fs::remove_file(format!("{folder}/{name}")).unwrap();
    take("residual.safetensors");
    assert!(said(1).contains("residual.safetensors"), "{}", said(1));
    take("tokenizer.json");
    assert!(said(3).contains("tokenizer.json"), "{}", said(3));
    let config = fs::read(format!("{folder}/config.json")).unwrap();
    take("config.json");
    assert!(said(1).contains("config.json"), "{}", said(1));
    fs::copy(format!("{folder}/tiny-0.uqff"), format!("{folder}/other-0.uqff")).unwrap();
    fs::write(format!("{folder}/config.json"), config).unwrap();
    let several = failure(&["generate", "x", "-m", &folder], b"", 2);
    assert!(several.contains("other-0.uqff") && several.contains("tiny-0.uqff"), "{several}");
}

#[test]
fn decoders_are_not_requantized() {
    let said = failure(&["embed", "they said", "-m", &gguf(), "--requantize"], b"", 2);
    assert!(said.contains("--requantize is for encoders"), "{said}");
}
