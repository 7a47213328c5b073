//! `diff` and `histogram`.

use serde_json::json;

use super::{diff, success};
use crate::weight_files::{bytes, data, safetensors};
use crate::{failure, objects, stdout};

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
fn files_without_a_tensor_in_common_are_told_by_the_status() {
    let (words, llama) = (data("gguf/small.gguf"), data("models/eurobert"));
    let assert = crate::nanoembed(&["diff", &words, &llama]).assert().code(1);
    let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    assert!(text.contains("no tensor of one name and shape is in both files"), "{text}");
}

/// Encoders of several families with all names that GGUF has for them.
#[test]
fn encoders_in_gguf_have_the_names_of_their_folder() {
    let out = tempfile::tempdir().unwrap();
    for (model, most_left) in
        [("distilbert", 0), ("nomic_bert", 0), ("eurobert", 0), ("jina_v3", 2)]
    {
        let folder = data(&format!("models/{model}"));
        let file = out.path().join(format!("{model}.gguf")).to_str().unwrap().to_owned();
        success(&["convert", &folder, &file]);
        for (a, b) in [(&folder, &file), (&file, &folder)] {
            let report = diff(a, b, &[]);
            let count = |name: &str| report[name].as_array().unwrap().len();
            assert!(count("only_a") + count("only_b") <= most_left, "{model}: {report}");
            assert!(count("tensors") > 10, "{model}: {report}");
            for tensor in report["tensors"].as_array().unwrap() {
                assert_eq!(tensor["max_abs"], 0.0, "{model}: {tensor}");
            }
        }
    }
}
