//! AMB files: from a model and back, looked into, checked, and used.

use std::fs;

use crate::tiny_model::{TinyModel, tensors};
use crate::{failure, nanoembed, numbers, objects, stdout};

const TEXTS: &str = "hello world\nthe cats sing.\ncat\n";

fn embeddings(model: &str) -> Vec<Vec<f64>> {
    let lines = stdout(&["embed", "-m", model, "--format", "jsonl", "--precise"], TEXTS);
    objects(&lines).iter().map(|line| numbers(&line["embedding"])).collect()
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn every_type_embeds_nearly_what_the_model_embeds() {
    let tiny = TinyModel::new();
    let exact = embeddings(&tiny.converted("m.weights", &[]));
    // The tiny model's weights are noise, so few bits move its embeddings far.
    for (arguments, least) in [
        (&["--type", "f32"][..], 0.999_999),
        (&["--type", "f16"], 0.9999),
        (&["--type", "bf16"], 0.999),
        (&["--type", "int8"], 0.999),
        (&["--type", "int8", "--block", "3"], 0.999),
        (&["--type", "int5"], 0.95),
        (&["--type", "int5block", "--block", "8"], 0.95),
        (&["--type", "int4", "--block", "5"], 0.85),
        (&["--type", "int4block", "--block", "8"], 0.85),
        (&["--type", "adaptive", "--bits", "9", "--block", "8"], 0.95),
        (&["--type", "adaptive", "--bits", "16", "--block", "8"], 0.999),
    ] {
        let model = tiny.converted("m.amb", arguments);
        for (ours, exact) in embeddings(&model).iter().zip(&exact) {
            let near = cosine(ours, exact);
            assert!(near > least, "{arguments:?}: {near}");
        }
        assert!(stdout(&["verify", "--strict", &model], "").contains("the checksum matches"));
    }
    assert!(tiny.unfinished().is_empty());
}

#[test]
fn it_becomes_a_weights_file_again() {
    let tiny = TinyModel::new();
    let amb = tiny.converted("m.amb", &["--type", "f32"]);
    let (back, direct) = (tiny.join("back.weights"), tiny.converted("direct.weights", &[]));
    nanoembed(&["convert", &amb, &back, "-q"]).assert().success();
    assert_eq!(embeddings(&back), embeddings(&direct));
    let tokenizer = |file: &str| {
        objects(&stdout(&["inspect", "--json", file], "")).remove(0)["tokenizer"].clone()
    };
    assert_eq!(tokenizer(&back), tokenizer(&direct));
}

#[test]
fn inspect_tells_sections_types_and_sizes() {
    let tiny = TinyModel::new();
    let model = tiny
        .converted("m.amb", &["--type", "int5block", "--block", "8", "--metadata", "source=here"]);
    let object = objects(&stdout(&["inspect", "--json", &model], "")).remove(0);
    assert_eq!(object["format"], "amb");
    assert_eq!(object["checksum"], true);
    assert_eq!(object["metadata"]["source"], "here");
    assert_eq!(object["config"]["n_embd"], 8);
    assert_eq!(object["config"]["quant"]["type"], "int5_block");
    assert_eq!(
        (&object["tokenizer"]["kind"], &object["tokenizer"]["tokens"]),
        (&"wordpiece".into(), &14.into())
    );
    let tensors = object["tensors"].as_array().unwrap();
    let words = tensors.iter().find(|t| t["name"] == "embeddings.word_embeddings.weight").unwrap();
    assert_eq!((&words["dtype"], &words["bytes"]), (&"int5block".into(), &(14 * 7).into()));
    let text = stdout(&["inspect", &model], "");
    assert!(text.contains("wordpiece with 14 tokens") && text.contains("n_embd"), "{text}");
}

#[test]
fn scales_of_columns_are_there_for_weights_that_are_requantised() {
    let tiny = TinyModel::new();
    let exact = embeddings(&tiny.converted("m.weights", &[]));
    let scales = |model: &str| {
        let object = objects(&stdout(&["inspect", "--json", model], "")).remove(0);
        let tensors = object["tensors"].as_array().unwrap().clone();
        tensors.into_iter().find(|tensor| tensor["name"] == "requantize.column_scale")
    };
    assert_eq!(scales(&tiny.converted("f32.amb", &["--type", "f32"])), None);
    let model = tiny.converted("m.amb", &["--type", "int5block", "--block", "8"]);
    let found = scales(&model).unwrap();
    assert_eq!((&found["dtype"], found["shape"].as_array().unwrap().len()), (&"f16".into(), 1));
    let requantized = stdout(&["embed", "-m", &model, "--format", "jsonl", "--requantize"], TEXTS);
    for (line, exact) in objects(&requantized).iter().zip(&exact) {
        let near = cosine(&numbers(&line["embedding"]), exact);
        assert!(near > 0.95, "{near}");
    }
    // They belong to the file, not to the model.
    let said = stdout(&["convert", &model, &tiny.join("back.weights")], "");
    assert!(!said.contains("requantize"), "{said}");
}

#[test]
fn verify_names_what_is_wrong() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.amb", &["--type", "int8"]);
    let good = fs::read(&model).unwrap();
    let finding = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        fs::write(&model, bytes).unwrap();
        let output = nanoembed(&["verify", "--json", "--strict", &model]).assert().code(1);
        let lines = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        objects(&lines)[0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(finding(&|bytes| bytes[5] = 2), "unsupported_version");
    assert_eq!(finding(&|bytes| bytes[6] = 1), "unknown_flags");
    assert_eq!(finding(&|bytes| bytes.push(0)), "trailing_bytes");
    assert_eq!(finding(&|bytes| bytes.truncate(bytes.len() - 9)), "unexpected_end");
    let last = good.len() - 100;
    assert_eq!(finding(&|bytes| bytes[last] ^= 1), "file_checksum");
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let tiny = TinyModel::new();
    let (folder, amb, weights) =
        (tiny.path().to_str().unwrap(), tiny.join("m.amb"), tiny.join("m.weights"));
    for arguments in [
        &["convert", folder, &amb, "--bits", "5"][..],
        &["convert", folder, &amb, "--type", "int4block", "--block", "12"],
        &["convert", folder, &amb, "--type", "int4", "--block", "0"],
        &["convert", folder, &amb, "--type", "adaptive", "--bits", "4"],
        &["convert", folder, &weights, "--type", "int4block"],
        &["convert", folder, &amb, "--type", "adaptive", "--bits", "nan"],
    ] {
        failure(arguments, b"", 2);
    }
    let model = tiny.converted("m.amb", &[]);
    failure(&["generate", "x", "--model", &model], b"", 1);
}

#[test]
fn quantize_writes_what_convert_writes_and_says_what_became_of_each_tensor() {
    let tiny = TinyModel::new();
    let folder = tiny.path().to_str().unwrap().to_owned();
    let converted = tiny.converted("c.amb", &["--type", "int5block", "--block", "8"]);
    let quantized = tiny.join("q.amb");
    let lines = stdout(
        &["quantize", &folder, &quantized, "--type", "int5block", "--block", "8", "--json"],
        "",
    );
    assert!(fs::read(&quantized).unwrap() == fs::read(&converted).unwrap());
    let lines = objects(&lines);
    // Without the pooler.
    assert_eq!(lines.len(), tensors().len() - 2);
    let words =
        lines.iter().find(|it| it["tensor"] == "embeddings.word_embeddings.weight").unwrap();
    assert_eq!((&words["dtype"], &words["bits"]), (&"int5block".into(), &7.0.into()));
    let nmse = words["nmse"].as_f64().unwrap();
    assert!(nmse > 0.0 && nmse < 1e-2, "{nmse}");
    let refused = |arguments: &[&str], hint: &str| {
        let said = failure(&[&["quantize", &folder], arguments].concat(), b"", 2);
        assert!(said.contains(hint), "{said}");
    };
    refused(&["x.uqff", "--type", "int5block"], "`.amb`");
    refused(&["x.amb", "--type", "q8_0"], "int5block");
    refused(&["x.uqff", "--type", "q8_0", "--bits", "5"], "`.amb` files");
}
