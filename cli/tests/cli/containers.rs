//! `inspect` and `verify` of UQFF, GGUF and safetensors.

use serde_json::json;

use crate::weight_files::{bytes, data};
use crate::{failure, nanoembed, objects, stdout};

#[test]
fn layers_of_uqff_are_described() {
    let file = data("uqff/v1.2.0/mixed-0.uqff");
    let object = objects(&stdout(&["inspect", "--json", &file], "")).remove(0);
    assert_eq!((&object["format"], &object["version"]), (&json!("uqff"), &json!("1.2.0")));
    assert_eq!(object["variant"], "tensors");
    assert_eq!(object["metadata"]["uqff.producer"], "mistral.rs");
    let layers = object["layers"].as_array().unwrap();
    assert_eq!(layers.len(), 20);
    let layer = |name: &str| layers.iter().find(|layer| layer["name"] == name).unwrap();
    let query = layer("model.layers.0.self_attn.q_proj");
    assert_eq!((&query["format"], &query["dtype"]), (&json!("gguf"), &json!("q4_k")));
    assert_eq!((&query["shape"], &query["bits_per_weight"]), (&json!([3, 512]), &json!(4.5)));
    assert_eq!(query["bias"], json!({"dtype": "f32", "shape": [3]}));
    assert_eq!(layer("model.afq6")["parameters"]["group_size"], 128);
    assert_eq!(layer("model.hqq4")["parameters"]["axis"], 0);
    let names: Vec<&str> =
        object["tensors"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"model.unquant.weight") && names.contains(&"model.unquant.bias"));
    let text = stdout(&["inspect", &file], "");
    assert!(text.contains("afq6 g128") && text.contains("unquant bf16"), "{text}");
}

#[test]
fn layers_of_the_older_generation_are_in_the_order_of_their_numbers() {
    let file = data("uqff/containers/all-0.uqff");
    let object = objects(&stdout(&["inspect", "--json", &file], "")).remove(0);
    assert_eq!((&object["variant"], &object["version"]), (&json!("blobs"), &json!("0.2.0")));
    let layers = object["layers"].as_array().unwrap();
    let numbers: Vec<u32> =
        layers.iter().map(|layer| layer["name"].as_str().unwrap().parse().unwrap()).collect();
    assert!(numbers.is_sorted());
    // What is said of places is true: the blocks of layer 4 lie there.
    let blocks = bytes("uqff/legacy_0.2.0/gguf_q8_0.rawblocks");
    let layer = layers.iter().find(|layer| layer["name"] == "4").unwrap();
    let offset = usize::try_from(layer["offset"].as_u64().unwrap()).unwrap();
    assert_eq!(&bytes("uqff/containers/all-0.uqff")[offset..offset + blocks.len()], blocks);
}

#[test]
fn shards_are_opened_together() {
    let (first, second) =
        (data("uqff/containers/split-0.uqff"), data("uqff/containers/split-1.uqff"));
    for arguments in [vec!["inspect", "--json", &first], vec!["inspect", "--json", &first, &second]]
    {
        let inspected = objects(&stdout(&arguments, ""));
        assert_eq!(inspected.len(), 1);
        assert_eq!(inspected[0]["shards"].as_array().unwrap().len(), 2);
        assert_eq!(inspected[0]["layers"].as_array().unwrap().len(), 20);
    }
    assert!(stdout(&["verify", "--strict", &first], "").contains("20 layers in 2 shards"));
    for command in ["inspect", "verify"] {
        let output = nanoembed(&[command, &second]).assert().code(1);
        let output = output.get_output();
        let said =
            String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
        assert!(said.contains("135") && said.contains("`split-0.uqff`"), "{said}");
    }
}

#[test]
fn gguf_and_safetensors_are_described() {
    let object = objects(&stdout(&["inspect", "--json", &data("gguf/small.gguf")], "")).remove(0);
    assert_eq!((&object["format"], &object["version"]), (&json!("gguf"), &json!(3)));
    assert_eq!(object["metadata"]["a"], json!([1, 2]));
    assert_eq!(object["metadata"]["f"], json!(1.5));
    assert_eq!(object["tokenizer"]["tokens"], 2);
    assert_eq!(object["tensors"][1]["dtype"], "q8_0");
    let file = data("safetensors/mixed.safetensors");
    let object = objects(&stdout(&["inspect", "--json", &file], "")).remove(0);
    assert_eq!(object["format"], "safetensors");
    assert_eq!(object["metadata"]["note"], "quoted \"word\"\n");
    assert_eq!(object["tensors"][0]["shape"], json!([2, 3]));
}

#[test]
fn files_of_the_references_have_no_findings() {
    for file in [
        "uqff/v1.2.0/mixed-0.uqff",
        "uqff/containers/all-0.uqff",
        "gguf/blocks.gguf",
        "gguf/small.gguf",
        "safetensors/mixed.safetensors",
    ] {
        let strict = stdout(&["verify", &data(file)], "");
        assert!(strict.contains(": ok ("), "{strict}");
        assert_eq!(stdout(&["verify", "--json", &data(file)], ""), "");
    }
}

/// What `verify` says of a file, which must be wrong.
fn finding(file: Vec<u8>, strict: bool) -> serde_json::Value {
    let mut arguments = vec!["verify", "--json", "-"];
    arguments.extend(strict.then_some("--strict"));
    let output = nanoembed(&arguments).write_stdin(file).assert().code(1);
    let lines = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    objects(&lines).remove(0)
}

#[test]
fn a_wrong_byte_of_a_blob_is_named() {
    let good = bytes("uqff/containers/all-0.uqff");
    let blob = bytes("uqff/legacy_0.2.0/gguf_q4k.uqfftensor");
    let start = good.windows(blob.len()).position(|window| window == blob).unwrap();
    for (at, byte, code, words) in [
        (1, 9, 201, "layer 8, byte 0 of its blob, version of the header"),
        (4, 7, 134, "layer 8, byte 4 of its blob, type of the header"),
        (10, 77, 110, "layer 8, byte 10 of its blob, ggml dtype of the weight"),
        (5, 1, 108, "layer 8, byte 5 of its blob, data length of the weight"),
    ] {
        let mut bad = good.clone();
        bad[start + at] = byte;
        let found = finding(bad, false);
        assert_eq!(found["code"], code, "{found}");
        assert!(found["message"].as_str().unwrap().starts_with(words), "{found}");
        let offset = found["offset"].as_u64().unwrap();
        assert!(offset.abs_diff((start + at) as u64) < 4, "{found}");
    }
}

#[test]
fn a_wrong_member_of_a_header_is_named() {
    let mut bad = bytes("safetensors/mixed.safetensors");
    let at = bad.windows(3).position(|window| window == b"F16").unwrap();
    bad[at..at + 3].copy_from_slice(b"F17");
    let found = finding(bad, false);
    assert_eq!((&found["code"], &found["offset"]), (&json!(110), &json!(at)));
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("header, `dtype` of `scalar`: "), "{message}");
}

#[test]
fn a_wrong_field_of_gguf_is_named() {
    let good = bytes("gguf/small.gguf");
    let mut bad = good.clone();
    bad[4] = 9;
    let found = finding(bad, false);
    assert!(found["message"].as_str().unwrap().starts_with("version: "), "{found}");
    // The type of the first tensor.
    let mut bad = good;
    let name = bad.windows(9).rposition(|window| window == b"\x01\0\0\0\0\0\0\0w").unwrap();
    bad[name + 9 + 4 + 8] = 99;
    let found = finding(bad, false);
    assert!(found["message"].as_str().unwrap().contains("metadata after"), "{found}");
}

#[test]
fn values_that_are_no_numbers_are_findings_in_strict_mode() {
    let mut bad = bytes("uqff/v1.2.0/mixed-0.uqff");
    let object =
        objects(&stdout(&["inspect", "--json", &data("uqff/v1.2.0/mixed-0.uqff")], "")).remove(0);
    let layers = object["layers"].as_array().unwrap();
    let layer = layers.iter().find(|layer| layer["dtype"] == "q8_0").unwrap();
    let offset = usize::try_from(layer["offset"].as_u64().unwrap()).unwrap();
    // The scale of the second block.
    bad[offset + 34..offset + 36].copy_from_slice(&[0, 0x7E]);
    let found = finding(bad.clone(), true);
    assert_eq!((&found["code"], &found["offset"]), (&json!(308), &json!(offset)));
    assert!(found["message"].as_str().unwrap().starts_with("element 32 of"), "{found}");
    nanoembed(&["verify", "-"]).write_stdin(bad).assert().success();
}

#[test]
fn what_cannot_be_opened_is_told_with_its_place() {
    let error = failure(&["inspect", &data("safetensors/bad/overlap.safetensors")], b"", 1);
    assert!(error.starts_with("error[106]: "), "{error}");
    failure(&["verify", &data("uqff/bad_index.uqff")], b"", 1);
}
