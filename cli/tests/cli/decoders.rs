//! Decoders whose files say how positions turn heads: the ids that transformers generates, from the
//! file itself and from all that it is made into.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{failure, nanoembed, objects, stdout};

const PROMPT: &str =
    "The train to the north leaves in the evening, and the children wave at it from the bridge";

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/cases").join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The ids that transformers generates for the model of a case.
fn expected(name: &str) -> Value {
    let case: Value =
        serde_json::from_slice(&fs::read(case(name).join("case.json")).unwrap()).unwrap();
    let last = case["steps"].as_array().and_then(|steps| steps.last());
    last.unwrap_or(&case)["expect"]["generated"][0].clone()
}

fn generation(model: &str) -> [&str; 10] {
    let settings = ["--temperature", "0", "--json", "--precise", "--max-tokens", "10"];
    let [a, b, c, d, e, f] = settings;
    ["generate", "-m", model, PROMPT, a, b, c, d, e, f]
}

fn generated(model: &Path) -> Value {
    objects(&stdout(&generation(text(model)), ""))[0]["ids"].clone()
}

/// A copy of a case's folder with other members in its `config.json`.
fn folder(name: &str, change: impl FnOnce(&mut Value)) -> TempDir {
    let folder = TempDir::new().unwrap();
    for file in fs::read_dir(case(name).join("model")).unwrap() {
        let file = file.unwrap();
        fs::write(folder.path().join(file.file_name()), fs::read(file.path()).unwrap()).unwrap();
    }
    let path = folder.path().join("config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut config);
    fs::write(path, config.to_string()).unwrap();
    folder
}

/// The GGUF file that a folder's weights become.
fn migrated(folder: &Path) -> (TempDir, PathBuf) {
    let out = TempDir::new().unwrap();
    let gguf = out.path().join("m.gguf");
    let weights = folder.join("model.safetensors");
    nanoembed(&["migrate", text(&weights), text(&gguf), "--quiet"]).assert().success();
    (out, gguf)
}

fn inspected(gguf: &Path) -> Value {
    serde_json::from_str(&stdout(&["inspect", "--json", text(gguf)], "")).unwrap()
}

const MODELS: [(&str, &str); 7] = [
    ("llama-gguf-linear", "model.gguf"),
    ("llama-llama3-scaling", "model"),
    ("phi3-factors", "model.gguf"),
    ("phi3-partial-folder", "model"),
    ("phi3-partial-gguf", "model.gguf"),
    ("rope-none-gguf", "model.gguf"),
    ("rope-yarn-gguf", "model.gguf"),
];

#[test]
fn models_generate_as_in_transformers_and_so_does_what_they_become() {
    for (name, file) in MODELS {
        let model = case(name).join(file);
        let ids = expected(name);
        assert_eq!(ids.as_array().unwrap().len(), 10);
        assert_eq!(generated(&model), ids, "{name}");
        let out = TempDir::new().unwrap();
        for target in ["m.amb", "m.weights"] {
            let path = out.path().join(target);
            nanoembed(&["convert", text(&model), text(&path), "--type", "f32", "--quiet"])
                .assert()
                .success();
            assert_eq!(generated(&path), ids, "{name} {target}");
        }
        if file == "model" {
            // The folder's settings are brought along.
            let path = out.path().join("m.uqff");
            let weights = model.join("model.safetensors");
            nanoembed(&["migrate", text(&weights), text(&path), "--quiet"]).assert().success();
            assert_eq!(generated(&path), ids, "{name} UQFF");
        }
    }
}

#[test]
fn migrated_folders_say_their_rotary_settings_as_llama_cpp_does() {
    let linear = json!({"rope_type": "linear", "factor": 4.0, "rope_theta": 500_000.0});
    let yarn = json!({
        "rope_type": "yarn", "factor": 4.0, "rope_theta": 500_000.0, "beta_fast": 16.0,
        "original_max_position_embeddings": 64, "attention_factor": 1.0,
    });
    let long = json!({
        "rope_type": "longrope", "rope_theta": 10_000.0, "original_max_position_embeddings": 64,
        "factor": 4.0, "short_factor": [1.0, 1.5, 2.0, 2.5], "long_factor": [2.0, 3.0, 4.0, 5.0],
        "attention_factor": 1.25,
    });
    let migrate = |scaling: &Value| {
        let folder = folder("llama-llama3-scaling", |it| it["rope_parameters"] = scaling.clone());
        let (_out, gguf) = migrated(folder.path());
        let found = inspected(&gguf);
        (found["metadata"].clone(), found["tensors"].clone())
    };
    let (found, _) = migrate(&linear);
    assert_eq!(found["llama.rope.scaling.type"], "linear");
    assert_eq!(found["llama.rope.scaling.factor"], 4.0);
    assert_eq!(found["llama.rope.freq_base"], 500_000.0);
    let (found, _) = migrate(&yarn);
    assert_eq!(found["llama.rope.scaling.type"], "yarn");
    assert_eq!(found["llama.rope.scaling.factor"], 4.0);
    assert_eq!(found["llama.rope.scaling.original_context_length"], 64);
    assert_eq!(found["llama.rope.scaling.yarn_beta_fast"], 16.0);
    // Readers multiply with the usual factor of YaRN.
    let factor = found["llama.rope.scaling.attn_factor"].as_f64().unwrap();
    assert!((factor * (1.0 + 0.1 * 4.0_f64.ln()) - 1.0).abs() < 1e-6);
    let (found, tensors) = migrate(&long);
    assert_eq!(found["llama.rope.scaling.type"], "longrope");
    assert_eq!(found["llama.rope.scaling.attn_factor"], 1.25);
    let tensors = tensors.to_string();
    assert!(tensors.contains("rope_factors_long.weight"), "{tensors}");
    assert!(tensors.contains("rope_factors_short.weight"), "{tensors}");
}

#[test]
fn settings_that_are_not_done_are_refused_by_name() {
    for (member, value) in [
        ("lm_head_bias", json!(true)),
        ("num_experts", json!(8)),
        ("hidden_act", json!("gelu")),
        ("attention_of_mine", json!(1)),
        ("rope_parameters", json!({"rope_type": "of_mine", "rope_theta": 1e4})),
        ("rope_parameters", json!({"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0})),
        ("partial_rotary_factor", json!(0.5)),
    ] {
        let folder = folder("llama-llama3-scaling", |it| it[member] = value.clone());
        let named = if member == "rope_parameters" { "rope" } else { member };
        let error = failure(&generation(text(folder.path())), b"", 1);
        assert!(error.contains(named), "{member}: {error}");
        let (weights, out) =
            (folder.path().join("model.safetensors"), folder.path().join("m.gguf"));
        let error = failure(&["migrate", text(&weights), text(&out)], b"", 1);
        assert!(error.contains(named), "{member}: {error}");
        assert!(!out.exists());
    }
    let folder = folder("llama-llama3-scaling", |_| ());
    let generation = json!({"eos_token_id": 0, "temperature": 0.6, "choice_of_mine": 1});
    fs::write(folder.path().join("generation_config.json"), generation.to_string()).unwrap();
    let error = failure(&self::generation(text(folder.path())), b"", 1);
    assert!(error.contains("choice_of_mine"), "{error}");
}

#[test]
fn tokens_are_chosen_as_the_folder_asks_for() {
    let folder = folder("llama-llama3-scaling", |_| ());
    let ids = |more: &[&str]| {
        let form = ["generate", "-m", text(folder.path()), PROMPT, "--json", "-n", "10"];
        let settings = ["--precise", "--seed", "1"];
        objects(&stdout(&[&form[..], &settings, more].concat(), ""))[0]["ids"].clone()
    };
    let asks = |settings: Value| {
        fs::write(folder.path().join("generation_config.json"), settings.to_string()).unwrap();
    };
    let (greedy, warm) = (expected("llama-llama3-scaling"), ids(&["--temperature", "5"]));
    assert_ne!(greedy, warm);
    asks(json!({"do_sample": false, "temperature": 5.0}));
    assert_eq!(ids(&[]), greedy);
    asks(json!({"do_sample": true, "temperature": 5.0}));
    assert_eq!(ids(&[]), warm);
    assert_eq!(ids(&["--temperature", "0"]), greedy);
    assert_eq!(ids(&["--min-p", "1"]), greedy);
    asks(json!({"temperature": 5.0, "top_k": 1}));
    assert_eq!(ids(&[]), greedy);
    assert_ne!(ids(&["--presence-penalty", "-100"]), greedy);
    asks(json!({"num_beams": 4}));
    let form = ["generate", "-m", text(folder.path()), PROMPT];
    let error = failure(&form, b"", 1);
    assert!(error.contains("error[208]") && error.contains("num_beams"), "{error}");
    stdout(&["embed", "-m", text(folder.path()), PROMPT], "");
}

#[test]
fn what_gguf_cannot_say_is_refused() {
    let yarn = json!({"rope_type": "yarn", "factor": 4.0, "truncate": false, "original_max_position_embeddings": 64});
    let folder = folder("llama-llama3-scaling", |it| it["rope_parameters"] = yarn);
    let (weights, out) = (folder.path().join("model.safetensors"), folder.path().join("m.gguf"));
    let error = failure(&["migrate", text(&weights), text(&out)], b"", 1);
    assert!(error.contains("truncate"), "{error}");
}

#[test]
fn keys_of_gguf_that_are_not_known_are_refused_by_name() {
    let bytes = fs::read(case("rope-yarn-gguf").join("model.gguf")).unwrap();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("m.gguf");
    for (from, to) in [
        ("llama.rope.scaling.factor", "llama.rope.scaling.fictor"),
        ("blk.0.attn_output.weight", "blk.0.attn_q_norm.weight"),
    ] {
        let at = bytes.windows(from.len()).position(|it| it == from.as_bytes()).unwrap();
        let mut changed = bytes.clone();
        changed[at..at + to.len()].copy_from_slice(to.as_bytes());
        fs::write(&path, changed).unwrap();
        let error = failure(&generation(text(&path)), b"", 1);
        assert!(error.contains(to), "{error}");
    }
}

#[test]
fn messages_are_refused_for_models_without_the_tokens_around_them() {
    let model = case("llama-llama3-scaling").join("model");
    let settings = ["--chat", "--max-tokens", "1", "-q"];
    let error =
        failure(&[&["generate", "-m", text(&model), "Hello"], &settings[..]].concat(), b"", 2);
    assert!(error.contains("<|im_start|>") && error.contains("--chat"), "{error}");
    let (folder, _) = crate::byte_pairs::folder("smollm", false, json!({}));
    let path = folder.path().join("tokenizer.json");
    let mut tokenizer: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let model = text(folder.path());
    let arguments = [&["generate", "-m", model, "Hello"], &settings[..]].concat();
    stdout(&arguments, "");
    let added = tokenizer["added_tokens"].as_array_mut().unwrap();
    added.iter_mut().find(|it| it["content"] == "<|im_end|>").unwrap()["content"] = json!("<|e|>");
    fs::write(&path, tokenizer.to_string()).unwrap();
    let error = failure(&arguments, b"", 2);
    assert!(error.contains("<|im_end|>"), "{error}");
}

#[test]
fn a_folder_s_template_makes_the_prompt_of_a_chat() {
    let (folder, _) = crate::byte_pairs::folder("smollm", false, json!({}));
    let model = text(folder.path());
    let ids = |arguments: &[&str]| {
        let settings = ["--temperature", "0", "--json", "-n", "8", "-q", "-m", model];
        objects(&stdout(&[&["generate"], arguments, &settings[..]].concat(), ""))[0]["ids"].clone()
    };
    let chat = ["--chat", "--system", "Be brief.", " Hi "];
    let filled = "<|im_start|>Be brief.|Hi<|im_end|>\n";
    let template = "{{ bos_token }}{{ messages[0].content }}|{{ messages[1]['content'].strip() }}{{ eos_token }}\n\n";
    let settings = |template: Value| {
        let settings = json!({
            "tokenizer_class": "GPT2Tokenizer", "bos_token": {"content": "<|im_start|>"},
            "eos_token": "<|im_end|>", "chat_template": template,
        });
        fs::write(folder.path().join("tokenizer_config.json"), settings.to_string()).unwrap();
    };
    settings(json!(template));
    assert_eq!(ids(&chat), ids(&[filled]));
    settings(json!([{"name": "default", "template": template}, {"name": "rag", "template": "x"}]));
    assert_eq!(ids(&chat), ids(&[filled]));
    settings(json!("{{ messages | nothing }}"));
    let arguments = ["generate", "-m", model, "--chat", "Hi"];
    let error = failure(&arguments, b"", 1);
    assert!(error.contains("error[208]") && error.contains("`chat_template`"), "{error}");
    // The file stands above the setting.
    fs::write(folder.path().join("chat_template.jinja"), template).unwrap();
    assert_eq!(ids(&chat), ids(&[filled]));
    fs::write(folder.path().join("chat_template.jinja"), "{% if %}").unwrap();
    let error = failure(&arguments, b"", 1);
    assert!(error.contains("chat_template.jinja: line 1: ") && error.contains("[302]"), "{error}");
}

#[test]
fn decoders_whose_folder_says_how_they_embed_are_not_embedded_otherwise() {
    let folder = folder("llama-llama3-scaling", |_| ());
    let model = text(folder.path());
    let embed = ["embed", "a text", "-m", model];
    stdout(&embed, "");
    fs::write(folder.path().join("modules.json"), "[]").unwrap();
    let error = failure(&embed, b"", 1);
    assert!(error.contains("modules.json") && error.contains("[208]"), "{error}");
    assert_eq!(generated(folder.path()), expected("llama-llama3-scaling"));
}
