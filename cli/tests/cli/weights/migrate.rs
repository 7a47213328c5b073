//! `migrate`: the generations of UQFF, GGUF and safetensors.

use std::path::Path;

use serde_json::json;

use super::{diff, read, success, worst};
use crate::weight_files::{SmallLlama, npy};
use crate::{failure, nanoembed, objects, stdout};

#[test]
fn the_older_generation_migrates_by_config_or_names_and_not_by_guessing() {
    let model = SmallLlama::new();
    let old = model.join("old-0.uqff");
    let base = [
        "quantize",
        &model.model(),
        &old,
        "-t",
        "q8_0",
        "--to",
        "uqff-0.2",
        "--exclude",
        "*embed*",
    ];
    success(&base);
    let new = model.join("new-0.uqff");
    success(&["migrate", &old, &new]);
    let direct = model.join("direct-0.uqff");
    success(&["quantize", &model.model(), &direct, "-t", "q8_0", "--exclude", "*embed*"]);
    assert_eq!(read(&new), read(&direct));
    // And back, byte for byte.
    let again = model.join("again-0.uqff");
    success(&["migrate", &new, &again, "--to", "uqff-0.2"]);
    assert_eq!(read(&again), read(&old));
    // Without a config nobody knows.
    let elsewhere = tempfile::tempdir().unwrap();
    let alone = elsewhere.path().join("old-0.uqff").to_str().unwrap().to_owned();
    std::fs::copy(&old, &alone).unwrap();
    let out = elsewhere.path().join("new-0.uqff").to_str().unwrap().to_owned();
    let error = failure(&["migrate", &alone, &out], b"", 1);
    assert!(error.contains("--names") && error.contains("--config"), "{error}");
    // A config of another model is found out by the shapes.
    let config = std::fs::read_to_string(model.join("config.json")).unwrap();
    let other = model.join("other.json");
    std::fs::write(&other, config.replace("\"intermediate_size\":128", "\"intermediate_size\":96"))
        .unwrap();
    let error = failure(&["migrate", &alone, &out, "--config", &other], b"", 1);
    assert!(error.contains("[128, 64]") && error.contains("mlp.gate_proj"), "{error}");
    std::fs::write(&other, config.replace("\"num_hidden_layers\":2", "\"num_hidden_layers\":3"))
        .unwrap();
    let error = failure(&["migrate", &alone, &out, "--config", &other], b"", 1);
    assert!(error.contains("15 layers") && error.contains("22"), "{error}");
    std::fs::write(&other, config.replace("\"llama\"", "\"t5\"")).unwrap();
    let error = failure(&["migrate", &alone, &out, "--config", &other], b"", 1);
    assert!(error.contains("`t5`"), "{error}");
    assert!(!Path::new(&out).exists());
}

#[test]
fn gguf_has_the_names_and_rows_of_ggml_and_comes_back() {
    let model = SmallLlama::new();
    let uqff = model.join("q8-0.uqff");
    success(&["quantize", &model.model(), &uqff, "-t", "q8_0"]);
    let gguf = model.join("model.gguf");
    success(&["migrate", &uqff, &gguf]);
    let object = objects(&stdout(&["inspect", "--json", &gguf], "")).remove(0);
    assert_eq!(object["metadata"]["general.architecture"], "llama");
    assert_eq!(object["metadata"]["llama.attention.head_count_kv"], 2);
    let names: Vec<&str> =
        object["tensors"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    for name in
        ["token_embd.weight", "output_norm.weight", "blk.1.attn_q.weight", "blk.0.ffn_norm.weight"]
    {
        assert!(names.contains(&name), "{names:?}");
    }
    // The second row of a head is the first of its second half.
    let out = model.join("q.npy");
    success(&["dequantize", &gguf, "blk.0.attn_q.weight", "-o", &out]);
    let (_, ggml) = npy(&read(&out));
    success(&["dequantize", &uqff, "model.layers.0.self_attn.q_proj", "-o", &out]);
    let (_, own) = npy(&read(&out));
    let row = |values: &[u8], row: usize| values[row * 256..][..256].to_vec();
    assert_eq!((row(&ggml, 0), row(&ggml, 1)), (row(&own, 0), row(&own, 8)));
    assert_ne!(ggml, own);
    // Compared under one kind of names all is equal.
    let report = diff(&uqff, &gguf, &[]);
    assert_eq!(worst(&report, 16), 0.0);
    // Back again all is as it was.
    let elsewhere = tempfile::tempdir().unwrap();
    let back = elsewhere.path().join("q8-0.uqff").to_str().unwrap().to_owned();
    success(&["migrate", &gguf, &back]);
    assert_eq!(read(&back), read(&uqff));
    let again = elsewhere.path().join("again.gguf").to_str().unwrap().to_owned();
    success(&["migrate", &back, &again, "--like", &gguf]);
    assert_eq!(read(&again), read(&gguf));
}

#[test]
fn what_ggml_does_not_have_becomes_floats_of_the_same_value() {
    let model = SmallLlama::new();
    let uqff = model.join("afq-0.uqff");
    success(&["quantize", &model.model(), &uqff, "-t", "afq4"]);
    for (ending, more) in [("gguf", None), ("gguf", Some("--keep-names")), ("safetensors", None)] {
        let out = model.join(&format!("afq.{ending}"));
        let arguments = ["migrate", &uqff, &out];
        let done = nanoembed(&arguments).args(more).assert().success();
        let said = String::from_utf8_lossy(&done.get_output().stderr);
        assert_eq!(said.contains("no program runs it"), more.is_some(), "{said}");
        assert_eq!(worst(&diff(&uqff, &out, &[]), 16), 0.0, "{ending}");
        // All is there, what was not quantised too.
        let report = diff(&model.model(), &out, &[]);
        assert_eq!((&report["only_a"], &report["only_b"]), (&json!([]), &json!([])), "{ending}");
    }
}

/// What is said of a file of another format than the one that is written.
#[test]
fn options_that_would_change_nothing_are_refused() {
    let model = SmallLlama::new();
    let (gguf, again) = (model.join("x.gguf"), model.join("y.gguf"));
    for option in [
        &["--report"][..],
        &["--shard-size", "1M"],
        &["--residual", "r.safetensors"],
        &["--names", "none.txt"],
    ] {
        let said = failure(&[&["migrate", &model.model(), &gguf], option].concat(), b"", 2);
        assert!(said.contains(option[0]), "{said}");
        assert!(!Path::new(&gguf).exists());
    }
    success(&["migrate", &model.model(), &gguf]);
    let said = failure(&["migrate", &gguf, &again, "--config", "none.json"], b"", 2);
    assert!(said.contains("--config"), "{said}");
}
