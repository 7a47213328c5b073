//! `quantize`: every type, and what is refused.

use std::path::Path;

use serde_json::{Value, json};

use super::{diff, read, success, worst};
use crate::weight_files::SmallLlama;
use crate::{failure, nanoembed, objects, stdout};

#[test]
fn options_that_mean_nothing_for_a_type_are_refused() {
    let model = SmallLlama::new();
    let out = model.join("x.out");
    for (to_type, option, value, use_is) in [
        ("pq", "--include", Some("*"), "--include is for weights of models"),
        ("pq", "--keep-names", None, "--keep-names is for weights of models"),
        ("q8_0", "--rotation", Some("opq"), "--rotation is for word vectors"),
        ("q8_0", "--utf8", Some("bytes"), "--utf8 is for word vectors"),
        ("int5", "--seed", Some("7"), "--seed is for word vectors"),
        ("int5", "--report", None, "--report is for other formats than `.amb`"),
    ] {
        let args = ["quantize", &model.model(), &out, "--type", to_type, option];
        let args: Vec<_> = args.into_iter().chain(value).collect();
        let error = failure(&args, b"", 2);
        assert!(error.contains(use_is), "{error}");
        assert!(!Path::new(&out).exists());
    }
}

#[test]
fn every_type_is_written_as_uqff_of_both_generations() {
    let model = SmallLlama::new();
    for (name, bits, bound) in [
        ("f32", 32.0, 0.0),
        ("bf16", 16.0, 1e-5),
        ("q8_0", 8.5, 1e-4),
        ("q5_0", 5.5, 3e-3),
        ("q4_0", 4.5, 1e-2),
        ("q4_1", 5.0, 8e-3),
        ("hqq8", 9.0, 1e-4),
        ("hqq4", 5.0, 1e-2),
        ("afq6", 6.5, 1e-3),
        ("afq4", 4.5, 1e-2),
        ("afq2", 2.5, 0.2),
        ("fp8", 8.0, 2e-3),
        ("f8q8", 8.25, 1e-4),
        ("mxfp4", 4.25, 3e-2),
    ] {
        for (to, out) in [("uqff-1.2", "new-0.uqff"), ("uqff-0.2", "old-0.uqff")] {
            let out = model.join(out);
            let lines = stdout(
                &[
                    "quantize",
                    &model.model(),
                    &out,
                    "--type",
                    name,
                    "--to",
                    to,
                    "--json",
                    "--exclude",
                    "*embed*",
                ],
                "",
            );
            let outcome = objects(&lines);
            let query =
                outcome.iter().find(|o| o["name"] == "model.layers.1.self_attn.q_proj.weight");
            let query = query.unwrap();
            assert_eq!((&query["dtype"], &query["bits"]), (&json!(name), &json!(bits)), "{to}");
            success(&["verify", "--strict", &out]);
            if to == "uqff-1.2" {
                let report = diff(&model.model(), &out, &[]);
                assert!(worst(&report, 15) <= bound, "{name}: {}", worst(&report, 15));
                let norms = report["only_a"].as_array().unwrap();
                assert_eq!(norms.len(), 6, "norms and embeddings are in the other file: {norms:?}");
            }
        }
        // Both generations hold the same values, under numbers and under names.
        let mut names = serde_json::Map::new();
        names.insert("0".into(), "lm_head".into());
        let parts = [
            "self_attn.q_proj",
            "self_attn.k_proj",
            "self_attn.v_proj",
            "self_attn.o_proj",
            "mlp.gate_proj",
            "mlp.up_proj",
            "mlp.down_proj",
        ];
        for (number, (layer, part)) in
            (0..2).flat_map(|layer| parts.map(|part| (layer, part))).enumerate()
        {
            names.insert((number + 1).to_string(), format!("model.layers.{layer}.{part}").into());
        }
        std::fs::write(model.join("names.json"), Value::Object(names).to_string()).unwrap();
        let names = model.join("names.json");
        let report =
            diff(&model.join("new-0.uqff"), &model.join("old-0.uqff"), &["--names", &names]);
        assert_eq!(worst(&report, 15), 0.0, "{name}");
    }
    let residual = stdout(&["inspect", "--json", &model.join("residual.safetensors")], "");
    assert_eq!(objects(&residual)[0]["tensors"].as_array().unwrap().len(), 6);
}

#[test]
fn layers_are_chosen_by_patterns_and_unsuited_ones_stay() {
    let model = SmallLlama::new();
    let out = model.join("some.gguf");
    let lines = stdout(
        &[
            "quantize",
            &model.model(),
            &out,
            "-t",
            "q4_0",
            "--include",
            "*mlp*",
            "--exclude",
            "*down*",
            "--json",
        ],
        "",
    );
    let outcomes = objects(&lines);
    let quantised: Vec<_> = outcomes.iter().filter(|o| o["dtype"] == "q4_0").collect();
    assert_eq!(quantised.len(), 4);
    let reason = |name: &str| {
        outcomes.iter().find(|o| o["name"].as_str().unwrap().contains(name)).unwrap()["reason"]
            .clone()
    };
    assert_eq!((reason("down"), reason("norm")), (json!("not selected"), json!("a vector")));
    // A pattern without a tensor is a slip.
    let typo =
        ["quantize", &model.model(), &model.join("no.gguf"), "-t", "q4_0", "--include", "nope*"];
    assert!(failure(&typo, b"", 1).contains("--include 'nope*' matches no tensor"));
    // Rows of 64 are no blocks of 256.
    let lines =
        stdout(&["quantize", &model.model(), &model.join("k.uqff"), "-t", "q4k", "--json"], "");
    let kept = objects(&lines)
        .iter()
        .filter(|o| o["reason"].as_str().is_some_and(|r| r.contains("256")))
        .count();
    assert_eq!(kept, 16);
    let object = objects(&stdout(&["inspect", "--json", &model.join("k.uqff")], "")).remove(0);
    assert_eq!(object["formats"], json!({"f32": 16}));
}

fn stderr(arguments: &[&str]) -> String {
    let assert = nanoembed(arguments).assert().success();
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

/// As llama.cpp has it: `llama_tensor_get_type` in its `llama-quant.cpp`.
#[test]
fn rows_that_are_no_whole_blocks_take_another_type_in_gguf() {
    let model = SmallLlama::new();
    for (wanted, instead) in [("q4k", "q5_0"), ("q6k", "q8_0"), ("tq1_0", "q4_0")] {
        let out = model.join(&format!("{wanted}.gguf"));
        let quantize = ["quantize", &model.model(), &out, "-t", wanted, "-q"];
        let told = stderr(&quantize);
        let expected = format!("tensors that are not {wanted}: 14 became {instead} (rows of 64 ");
        assert!(told.contains(&expected) && told.lines().count() == 1, "{told}");
        let file = objects(&stdout(&["inspect", "--json", &out], "")).remove(0);
        let tensors = file["tensors"].as_array().unwrap();
        assert_eq!(tensors.iter().filter(|tensor| tensor["dtype"] == instead).count(), 16);
        success(&["verify", "--strict", &out]);
    }
    let out = model.join("loud.gguf");
    let told = stderr(&["quantize", &model.model(), &out, "-t", "q4k"]);
    assert!(told.contains("become q5_0: rows of 64 elements are no whole blocks of 256"), "{told}");
}

#[test]
fn types_that_a_format_does_not_hold_are_refused_before_work() {
    let model = SmallLlama::new();
    let error = failure(&["quantize", &model.model(), &model.join("x.gguf"), "-t", "afq4"], b"", 2);
    assert!(error.contains("GGUF files do not hold `afq4`"), "{error}");
    failure(&["quantize", &model.model(), &model.join("x.safetensors"), "-t", "q8_0"], b"", 2);
    let error =
        failure(&["quantize", &model.model(), &model.join("x.weights"), "-t", "q8_0"], b"", 2);
    assert!(error.contains("convert"), "{error}");
}

#[test]
fn a_file_does_not_overwrite_itself() {
    let model = SmallLlama::new();
    let before = read(&model.model());
    failure(&["migrate", &model.model(), &model.model()], b"", 2);
    assert_eq!(read(&model.model()), before);
    assert!(model.path().exists());
}
