//! `dequantize`: values as the reference has them.

use std::path::Path;

use serde_json::json;

use super::{diff, read, success, worst};
use crate::failure;
use crate::weight_files::{bytes, data, npy};

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
