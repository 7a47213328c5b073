//! `quantize`, `dequantize`, `diff`, `histogram`, `migrate`.

use std::path::Path;

use serde_json::{Value, json};

use crate::weight_files::{SmallLlama, bytes, data, npy, safetensors};
use crate::{failure, nanoembed, objects, stdout};

fn success(arguments: &[&str]) {
    nanoembed(arguments).assert().success();
}

fn read(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// What `diff --json` says.
fn diff(a: &str, b: &str, more: &[&str]) -> Value {
    let arguments = [&["diff", "--json", a, b], more].concat();
    objects(&stdout(&arguments, "")).remove(0)
}

/// The largest share of squared error of all shared tensors, of which there must be so many.
fn worst(report: &Value, count: usize) -> f64 {
    let tensors = report["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), count, "{report}");
    tensors.iter().map(|tensor| tensor["nmse"].as_f64().unwrap()).fold(0.0, f64::max)
}

#[test]
fn a_tensor_is_dequantised_as_the_reference_does() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.npy").to_str().unwrap().to_owned();
    for (file, tensor, shape, expected) in [
        ("uqff/v1.2.0/mixed-0.uqff", "model.afq3", "3, 256", "uqff/v1.2.0/model.afq3.expected.f32"),
        (
            "uqff/v1.2.0/mixed-0.uqff",
            "model.hqq4.weight",
            "6, 64",
            "uqff/v1.2.0/model.hqq4.expected.f32",
        ),
        ("uqff/containers/all-0.uqff", "8", "3, 512", "uqff/legacy_0.2.0/gguf_q4k.expected.f32"),
        (
            "uqff/containers/split-0.uqff",
            "model.mxfp4",
            "3, 64",
            "uqff/v1.2.0/model.mxfp4.expected.f32",
        ),
        ("gguf/blocks.gguf", "q6_k", "", "quant/q6_k.expected.f32"),
    ] {
        success(&["dequantize", &data(file), tensor, "-o", &out]);
        let (own, values) = npy(&read(&out));
        assert!(shape.is_empty() || own == shape, "{own}");
        assert_eq!(values, bytes(expected), "{tensor}");
    }
}

#[test]
fn blocks_of_amb_are_read_too_and_requantised() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let amb = data("amb/adaptive.amb");
    let out = path("x.npy");
    success(&["dequantize", &amb, "adaptive.4.8.0", "-o", &out]);
    let (_, values) = npy(&read(&out));
    assert!(!values.is_empty() && bytes("amb/adaptive.expected.f32").starts_with(&values));
    let floats = path("x.safetensors");
    success(&["dequantize", &amb, "-o", &floats]);
    let report = diff(&amb, &floats, &[]);
    let count = report["tensors"].as_array().unwrap().len();
    assert_eq!((worst(&report, count), &report["only_a"]), (0.0, &json!([])));
    let error = failure(&["migrate", &amb, &path("x.gguf")], b"", 1);
    assert!(error.contains("nanoembed quantize"), "{error}");
}

#[test]
fn all_tensors_become_a_safetensors_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("all.safetensors").to_str().unwrap().to_owned();
    let file = data("uqff/v1.2.0/mixed-0.uqff");
    success(&["dequantize", &file, "-o", &out]);
    let report = diff(&file, &out, &[]);
    assert_eq!((worst(&report, 24), &report["only_a"]), (0.0, &json!([])));
    success(&["verify", "--strict", &out]);
    // Half as many bits are nearly as good.
    let half = folder.path().join("half.safetensors").to_str().unwrap().to_owned();
    success(&["dequantize", &file, "-o", &half, "--type", "f16"]);
    assert!(worst(&diff(&out, &half, &[]), 24) < 1e-6);
}

#[test]
fn wrong_use_of_dequantize_is_told() {
    let file = data("uqff/v1.2.0/mixed-0.uqff");
    let error = failure(&["dequantize", &file, "model.afq33", "-o", "x.npy"], b"", 1);
    assert!(error.contains("no tensor `model.afq33`") && error.contains("hint"), "{error}");
    failure(&["dequantize", &file, "-o", "x.npy"], b"", 2);
    assert!(!Path::new("x.npy").exists());
}

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
fn large_files_are_cut_in_shards_that_open_together() {
    let model = SmallLlama::new();
    let out = model.join("q8-0.uqff");
    success(&["quantize", &model.model(), &out, "-t", "q8_0", "--shard-size", "20K", "--report"]);
    assert!(Path::new(&model.join("q8-2.uqff")).exists());
    let object = objects(&stdout(&["inspect", "--json", &out], "")).remove(0);
    assert!(object["shards"].as_array().unwrap().len() > 2);
    assert_eq!(object["layers"].as_array().unwrap().len(), 16);
    let report: Value = serde_json::from_slice(&read(&model.join("uqff_report.json"))).unwrap();
    assert_eq!((&report["schema"], &report["uqff_version"]), (&json!(1), &json!("1.2.0")));
    let output = &report["outputs"][0];
    assert_eq!((&output["quant"], &output["layers"]), (&json!("q8"), &json!(16)));
    assert_eq!(output["actual_counts"], json!({"q8_0": 16}));
    assert_eq!(output["shards"][1], "q8-1.uqff");
    success(&["verify", "--strict", &out]);
    assert!(worst(&diff(&model.model(), &out, &[]), 16) < 1e-4);

    // Fewer shards would leave some of these behind them, and a shard that is read is not replaced.
    let said = failure(&["quantize", &model.model(), &out, "-t", "q8_0"], b"", 2);
    assert!(said.contains("q8-1.uqff would be taken for one of these shards"), "{said}");
    let said = failure(&["migrate", &out, &model.join("q8-2.uqff")], b"", 2);
    assert!(said.contains("q8-2.uqff is read, and would be overwritten"), "{said}");
    success(&["verify", "--strict", &out]);
}

#[test]
fn the_residual_of_another_model_is_not_replaced() {
    let model = SmallLlama::new();
    let (source, a, b) = (model.model(), model.join("a-0.uqff"), model.join("b-0.uqff"));
    let quantize = |out| ["quantize", &source, out, "-t", "q8_0"];
    success(&quantize(&a));
    // The same again is the same.
    success(&quantize(&a));
    let residual = model.join("residual.safetensors");
    let own = read(&residual);
    std::fs::write(&residual, [&own[..], b" "].concat()).unwrap();
    let said = failure(&quantize(&b), b"", 2);
    assert!(said.contains("residual.safetensors belongs to another model"), "{said}");
    assert!(!Path::new(&b).exists());
    assert_eq!(read(&residual).len(), own.len() + 1);
    success(&[&quantize(&b)[..], &["--residual", &residual]].concat());
    assert_eq!(read(&residual), own);
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

#[test]
fn a_file_does_not_overwrite_itself() {
    let model = SmallLlama::new();
    let before = read(&model.model());
    failure(&["migrate", &model.model(), &model.model()], b"", 2);
    assert_eq!(read(&model.model()), before);
    assert!(model.path().exists());
}

#[test]
fn differences_are_those_of_the_definition() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, tensors: &[(&str, Vec<u64>, Vec<f32>)]| {
        let path = folder.path().join(name).to_str().unwrap().to_owned();
        let tensors: Vec<_> = tensors
            .iter()
            .map(|(name, shape, values)| ((*name).to_owned(), shape.clone(), values.clone()))
            .collect();
        std::fs::write(&path, safetensors(&tensors)).unwrap();
        path
    };
    let a = write(
        "a.safetensors",
        &[
            ("same", vec![2], vec![1.0, -2.0]),
            ("far", vec![2], vec![3.0, 4.0]),
            ("shape", vec![2], vec![0.0, 0.0]),
            ("here", vec![1], vec![0.0]),
        ],
    );
    let b = write(
        "b.safetensors",
        &[
            ("same", vec![2], vec![1.0, -2.0]),
            ("far", vec![2], vec![4.0, -3.0]),
            ("shape", vec![1, 2], vec![0.0, 0.0]),
            ("there", vec![1], vec![0.0]),
        ],
    );
    let report = diff(&a, &b, &[]);
    assert_eq!((&report["only_a"], &report["only_b"]), (&json!(["here"]), &json!(["there"])));
    assert_eq!(report["shapes"], json!([{"name": "shape", "a": [2], "b": [1, 2]}]));
    let tensor = |name: &str| {
        let tensors = report["tensors"].as_array().unwrap();
        tensors.iter().find(|tensor| tensor["name"] == name).unwrap().clone()
    };
    let far = tensor("far");
    assert_eq!(
        (&far["max_abs"], &far["nmse"], &far["cosine"]),
        (&json!(7.0), &json!(2.0), &json!(0.0))
    );
    let same = tensor("same");
    assert_eq!(
        (&same["max_abs"], &same["nmse"], &same["cosine"]),
        (&json!(0.0), &json!(0.0), &json!(1.0))
    );
    let text = stdout(&["diff", &a, &b], "");
    assert!(text.contains("2 shared tensors, 1 with equal values"), "{text}");
}

#[test]
fn histograms_count_every_value() {
    let file = data("uqff/v1.2.0/mixed-0.uqff");
    let lines = stdout(&["histogram", &file, "model.afq4", "--json", "--bins", "10"], "");
    let object = objects(&lines).remove(0);
    let counts: Vec<u64> =
        object["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
    assert_eq!((counts.len(), counts.iter().sum::<u64>()), (10, 768));
    let expected = bytes("uqff/v1.2.0/model.afq4.expected.f32");
    let values: Vec<f32> =
        expected.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let max = values.iter().copied().fold(f32::MIN, f32::max);
    assert_eq!(object["max"].as_f64().unwrap() as f32, max);
    let mean = values.iter().map(|x| f64::from(*x)).sum::<f64>() / 768.0;
    assert!((object["mean"].as_f64().unwrap() - mean).abs() < 1e-12);
    assert_eq!(stdout(&["histogram", &file, "model.afq4", "--bins", "10"], "").lines().count(), 13);
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("x.svg").to_str().unwrap().to_owned();
    success(&["histogram", &file, "model.afq4", "-o", &picture]);
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("model.afq4.weight"), "{svg}");
    failure(&["histogram", &file, "model.afq4", "-o", "x.bmp"], b"", 2);
}

#[test]
fn shards_of_two_sets_are_not_taken_for_one() {
    for to in ["uqff-1.2", "uqff-0.2"] {
        let model = SmallLlama::new();
        let shards = |name: &str, to_type: &str| {
            let folder = Path::new(&model.join(name)).to_owned();
            std::fs::create_dir(&folder).unwrap();
            let first = folder.join("m-0.uqff").to_str().unwrap().to_owned();
            let arguments = ["quantize", &model.model(), &first, "-t", to_type, "--to", to];
            success(&[&arguments[..], &["--shard-size", "20K"]].concat());
            first
        };
        let (old, new) = (shards("old", "q8_0"), shards("new", "q5_0"));
        let later = |first: &str| first.replace("m-0", "m-1");
        let out = model.join("o.safetensors");
        let refused = |first: &str| {
            for arguments in [
                &["verify", first][..],
                &["inspect", first],
                &["migrate", first, &out, "--keep-names"],
                &["dequantize", first, "-o", &out],
            ] {
                let output = nanoembed(arguments).assert().code(1).get_output().clone();
                let said = [output.stdout, output.stderr].concat();
                let said = String::from_utf8_lossy(&said).into_owned();
                assert!(said.contains("309"), "{arguments:?}: {said}");
            }
        };
        success(&["verify", &old]);
        // As a process that was killed between two shards leaves them: either may be the new one.
        let kept = std::fs::read(later(&old)).unwrap();
        std::fs::copy(later(&new), later(&old)).unwrap();
        refused(&old);
        std::fs::write(later(&old), kept).unwrap();
        success(&["verify", &old]);
        // The last one is missing.
        let last = (1..).map(|k| old.replace("m-0", &format!("m-{k}")));
        let last = last.take_while(|path| Path::new(path).exists()).last().unwrap();
        std::fs::remove_file(last).unwrap();
        refused(&old);
        // Another set takes the place of the first.
        std::fs::remove_file(Path::new(&new).with_file_name("residual.safetensors")).unwrap();
        let arguments = ["quantize", &model.model(), &new, "-t", "q8_0", "--to", to];
        success(&[&arguments[..], &["--shard-size", "20K"]].concat());
        success(&["verify", &new]);
    }
}
