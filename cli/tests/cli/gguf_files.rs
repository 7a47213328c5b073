//! GGUF files that are unusual: types that are only known by name, other byte orders and versions,
//! parts, other models.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::tiny_model::TinyModel;
use crate::{failure, nanoembed, objects, stdout, tiny_gguf};

/// ggml's types as PyPI's `gguf` 0.17 has them: number, name, elements of a block, its bytes.
/// `q8_1` is that of ggml itself.
const TYPES: [(u32, &str, u64, u64); 34] = [
    (0, "f32", 1, 4),
    (1, "f16", 1, 2),
    (2, "q4_0", 32, 18),
    (3, "q4_1", 32, 20),
    (6, "q5_0", 32, 22),
    (7, "q5_1", 32, 24),
    (8, "q8_0", 32, 34),
    (9, "q8_1", 32, 36),
    (10, "q2_k", 256, 84),
    (11, "q3_k", 256, 110),
    (12, "q4_k", 256, 144),
    (13, "q5_k", 256, 176),
    (14, "q6_k", 256, 210),
    (15, "q8_k", 256, 292),
    (16, "iq2_xxs", 256, 66),
    (17, "iq2_xs", 256, 74),
    (18, "iq3_xxs", 256, 98),
    (19, "iq1_s", 256, 50),
    (20, "iq4_nl", 32, 18),
    (21, "iq3_s", 256, 110),
    (22, "iq2_s", 256, 82),
    (23, "iq4_xs", 256, 136),
    (24, "i8", 1, 1),
    (25, "i16", 1, 2),
    (26, "i32", 1, 4),
    (27, "i64", 1, 8),
    (28, "f64", 1, 8),
    (29, "iq1_m", 256, 56),
    (30, "bf16", 1, 2),
    (34, "tq1_0", 256, 54),
    (35, "tq2_0", 256, 66),
    (39, "mxfp4", 32, 17),
    (40, "nvfp4", 64, 36),
    (41, "q1_0", 128, 18),
];

/// Types whose values are not read.
const OPAQUE: [u32; 10] = [16, 17, 18, 19, 21, 22, 29, 39, 40, 41];

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

/// A file with these pairs of metadata, spelled, and of each of these types a tensor called like it
/// of two rows.
fn file(pairs: &[(&str, Vec<u8>)], types: &[(u32, &str, u64, u64)]) -> Vec<u8> {
    let mut out = b"GGUF\x03\0\0\0".to_vec();
    out.extend((types.len() as u64).to_le_bytes());
    out.extend((pairs.len() as u64).to_le_bytes());
    for (key, value) in pairs {
        text(&mut out, key);
        out.extend(value);
    }
    let mut offset = 0_u64;
    for (number, name, elements, bytes) in types {
        text(&mut out, name);
        out.extend(2_u32.to_le_bytes());
        out.extend([*elements, 2].into_iter().flat_map(u64::to_le_bytes));
        out.extend(number.to_le_bytes());
        out.extend(offset.to_le_bytes());
        offset = (offset + bytes * 2).next_multiple_of(32);
    }
    let data = out.len().next_multiple_of(32);
    out.resize(data + usize::try_from(offset).unwrap(), 0);
    out
}

fn text_value(value: &str) -> Vec<u8> {
    let mut out = 8_u32.to_le_bytes().to_vec();
    text(&mut out, value);
    out
}

fn written(folder: &TempDir, name: &str, bytes: &[u8]) -> String {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn every_type_of_ggml_is_listed_and_verified() {
    let folder = TempDir::new().unwrap();
    let path = written(&folder, "m.gguf", &file(&[], &TYPES));
    assert!(stdout(&["verify", &path], "").contains("34 tensors"));
    assert!(stdout(&["verify", "--strict", &path], "").contains("34 tensors"));
    let inspected = objects(&stdout(&["inspect", "--json", &path], "")).remove(0);
    let tensors = inspected["tensors"].as_array().unwrap();
    for ((_, name, elements, bytes), tensor) in TYPES.iter().zip(tensors) {
        assert_eq!((&tensor["name"], &tensor["dtype"]), (&json!(name), &json!(name)));
        assert_eq!(tensor["shape"], json!([2, elements]));
        assert_eq!(tensor["bytes"], json!(bytes * 2), "{name}");
    }
}

#[test]
fn types_that_are_known_by_name_only_are_refused_by_name_where_values_are_wanted() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.npy");
    for (number, name, elements, bytes) in TYPES {
        let path = written(&folder, "m.gguf", &file(&[], &[(number, name, elements, bytes)]));
        let arguments = ["dequantize", &path, name, "-o", out.to_str().unwrap()];
        let floats = format!("{path}.safetensors");
        if OPAQUE.contains(&number) {
            let said = failure(&arguments, b"", 1);
            assert!(said.contains(&format!("`{name}` is {name}")), "{said}");
            let said = failure(&["migrate", &path, &floats, "--keep-names"], b"", 1);
            assert!(said.contains(&format!("`{name}` is {name}")), "{said}");
            let again = format!("{path}.gguf");
            stdout(&["migrate", &path, &again, "-q"], "");
            assert!(failure(&["diff", &path, &path], b"", 1).contains(name));
            let inspected = objects(&stdout(&["inspect", "--json", &again], "")).remove(0);
            assert_eq!(inspected["tensors"][0]["dtype"], json!(name));
        } else {
            stdout(&arguments, "");
        }
    }
}

/// Types of ggml that mistral.rs does not have are no types of UQFF.
#[test]
fn types_that_uqff_does_not_hold_are_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let uqff = folder.path().join("m.uqff").to_str().unwrap().to_owned();
    for (number, name, elements, bytes) in TYPES {
        let tensors = [(number, "blk.0.ffn_up.weight", elements, bytes)];
        let path = written(&folder, "m.gguf", &file(&[], &tensors));
        let is_held = number <= 15 || number == 30 || (24..=28).contains(&number);
        if !is_held {
            let said = failure(&["migrate", &path, &uqff, "--keep-names"], b"", 1);
            assert!(said.contains(&format!("is {name}, which UQFF files do not hold")), "{said}");
            assert!(!Path::new(&uqff).exists());
        }
    }
    for name in ["tq1_0", "tq2_0"] {
        let path = written(&folder, "m.gguf", &file(&[], &[(0, "w", 256, 1024)]));
        let said = failure(&["quantize", &path, &uqff, "-t", name], b"", 2);
        assert!(said.contains(&format!("UQFF files do not hold `{name}`")), "{said}");
        assert!(said.contains("`.gguf` files hold this type"), "{said}");
    }
}

/// Values far enough apart from each other that ternary digits have them exactly.
#[test]
fn ternary_types_are_written_and_read() {
    let folder = TempDir::new().unwrap();
    let mut floats = file(&[], &[(0, "w", 256, 1024)]);
    let start = floats.len() - 2048;
    let value = |at: usize| [-0.5_f32, 0.0, 0.5, 0.1][at * 5 % 7 % 4];
    for (at, bytes) in floats[start..].chunks_exact_mut(4).enumerate() {
        bytes.copy_from_slice(&value(at).to_le_bytes());
    }
    let path = written(&folder, "f32.gguf", &floats);
    for (name, bits) in [("tq1_0", 1.6875), ("tq2_0", 2.0625)] {
        let quantized = folder.path().join(format!("{name}.gguf")).to_str().unwrap().to_owned();
        let report = stdout(&["quantize", &path, &quantized, "-t", name, "--json"], "");
        let tensor = objects(&report).remove(0);
        assert_eq!(tensor["dtype"], name, "{report}");
        assert!((tensor["bits"].as_f64().unwrap() - bits).abs() < 1e-3, "{report}");
        let raw = folder.path().join("w.npy").to_str().unwrap().to_owned();
        stdout(&["dequantize", &quantized, "w", "-o", &raw], "");
        let array = fs::read(&raw).unwrap();
        let values = array[array.len() - 2048..].as_chunks::<4>().0;
        for (at, bytes) in values.iter().enumerate() {
            let expected = if value(at) == 0.1 { 0.0 } else { value(at) };
            assert_eq!(f32::from_le_bytes(*bytes), expected, "{name} {at}");
        }
    }
}

/// A model with a matrix of ternary digits in every layer embeds as the same values in f32 do.
#[test]
fn models_with_ternary_weights_run() {
    let folder = TempDir::new().unwrap();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/all-MiniLM-L6-v2.int8.weights");
    let embed = |path: &str| {
        let line = stdout(&["embed", "-m", path, "a ternary model", "--format", "jsonl"], "");
        let vector = objects(&line).remove(0)["embedding"].clone();
        serde_json::from_value::<Vec<f64>>(vector).unwrap()
    };
    let original = embed(model);
    for name in ["tq1_0", "tq2_0"] {
        let path = |ending: &str| {
            folder.path().join(format!("{name}.{ending}.gguf")).to_str().unwrap().to_owned()
        };
        let (ternary, floats) = (path("ternary"), path("f32"));
        // Six layers have rows of 1536; all other rows are of 384, and would become another type.
        let layers = "encoder.layer.?.output.dense.weight";
        stdout(&["quantize", model, &ternary, "-t", name, "--include", layers, "-q"], "");
        let inspected = objects(&stdout(&["inspect", "--json", &ternary], "")).remove(0);
        let tensors = inspected["tensors"].as_array().unwrap();
        assert_eq!(tensors.iter().filter(|tensor| tensor["dtype"] == name).count(), 6);
        stdout(&["quantize", &ternary, &floats, "-t", "f32", "-q"], "");
        let (ternary, floats) = (embed(&ternary), embed(&floats));
        let dot: f64 = ternary.iter().zip(&floats).map(|(a, b)| a * b).sum();
        assert!(dot > 0.999_999, "{name}: {dot}");
        let other: f64 = ternary.iter().zip(&original).map(|(a, b)| a * b).sum();
        println!("{name}: cosine {other} with the original");
        assert!(other < 0.999, "{name}: the weights are not in use");
    }
}

#[test]
fn numbers_that_are_no_type_or_none_any_more_are_named() {
    let folder = TempDir::new().unwrap();
    for (number, words) in [(31, "the type 31, which ggml has removed"), (200, "the type 200")] {
        let path = written(&folder, "m.gguf", &file(&[], &[(number, "w", 32, 18)]));
        let said = failure(&["inspect", &path], b"", 1);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn other_byte_orders_and_versions_are_called_what_they_are() {
    let folder = TempDir::new().unwrap();
    for (version, code, words) in [
        ([0, 0, 0, 3], 212, "big-endian"),
        ([0, 0, 0, 2], 212, "big-endian"),
        ([1, 0, 0, 0], 201, "version 1 of GGUF"),
        ([4, 0, 0, 0], 201, "version 4 of GGUF"),
    ] {
        let mut bytes = file(&[], &[(0, "w", 4, 16)]);
        bytes[4..8].copy_from_slice(&version);
        let path = written(&folder, "m.gguf", &bytes);
        for arguments in [
            &["inspect", &path][..],
            &["embed", "-m", &path, "hello"],
            &["generate", "-m", &path, "hello"],
            &["tokenize", "-m", &path, "hello"],
            &["convert", &path, "out.amb"],
        ] {
            let said = failure(arguments, b"", 1);
            assert!(said.contains(words) && said.contains(&format!("[{code}]")), "{said}");
        }
    }
}

#[test]
fn arrays_of_arrays_are_called_what_they_are() {
    let folder = TempDir::new().unwrap();
    let mut nested = 9_u32.to_le_bytes().to_vec();
    nested.extend(9_u32.to_le_bytes());
    nested.extend(0_u64.to_le_bytes());
    let path = written(&folder, "m.gguf", &file(&[("a", nested)], &[]));
    assert!(failure(&["inspect", &path], b"", 1).contains("array of arrays"));
}

#[test]
fn architectures_that_are_not_known_are_named() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.amb").to_str().unwrap().to_owned();
    for architecture in ["nomic-bert-moe-2", "qwen3moe", "gemma2"] {
        let pairs = [("general.architecture", text_value(architecture))];
        let path = written(&folder, "m.gguf", &file(&pairs, &[(0, "w", 4, 16)]));
        for arguments in [
            &["embed", "-m", &path, "hello"][..],
            &["generate", "-m", &path, "hello"],
            &["generate", "-m", &path, "hello", "--memory", "64M"],
            &["convert", &path, &out],
        ] {
            let said = failure(arguments, b"", 1);
            assert!(said.contains(&format!("`{architecture}`")), "{arguments:?}: {said}");
            assert!(said.contains("[213]"), "{said}");
        }
    }
}

/// The tiny model in `count` parts, as `gguf-split` makes them, of `count_said` parts with
/// `tensors_said` tensors.
fn split(folder: &Path, count: u16, count_said: u16, tensors_said: i32) -> Vec<String> {
    tiny_gguf::parts(count.into())
        .into_iter()
        .enumerate()
        .map(|(number, part)| {
            let path = folder.join(format!("m-{:05}-of-{count:05}.gguf", number + 1));
            let number = u16::try_from(number).unwrap();
            fs::write(&path, part(number, count_said, tensors_said)).unwrap();
            path.to_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn parts_of_a_split_model_are_read_together() {
    let folder = TempDir::new().unwrap();
    let whole = written(&folder, "whole.gguf", &tiny_gguf::file());
    let tensors = tiny_gguf::TENSORS;
    let parts = split(folder.path(), 3, 3, i32::try_from(tensors).unwrap());
    let embed = |path: &str| stdout(&["embed", "-m", path, "hello world"], "");
    let inspected = |path: &str| objects(&stdout(&["inspect", "--json", path], "")).remove(0);
    for part in &parts {
        assert_eq!(embed(part), embed(&whole));
        let inspected = inspected(part);
        assert_eq!(inspected["tensors"].as_array().unwrap().len(), tensors);
        assert_eq!(inspected["parts"].as_array().unwrap().len(), 3);
        let verified = stdout(&["verify", part], "");
        assert!(verified.contains(&format!("{tensors} tensors in 3 parts")), "{verified}");
        let diff = objects(&stdout(&["diff", "--json", &whole, part], "")).remove(0);
        assert_eq!((&diff["only_a"], &diff["only_b"]), (&json!([]), &json!([])));
    }
    assert_eq!(stdout(&["verify", &parts[0], &parts[1], &parts[2]], "").lines().count(), 1);
    let merged = folder.path().join("merged.gguf").to_str().unwrap().to_owned();
    stdout(&["migrate", &parts[0], &merged], "");
    assert_eq!(embed(&merged), embed(&whole));
    assert_eq!(inspected(&merged)["metadata"].get("split.count"), None);
    stdout(&["quantize", &parts[0], &merged, "--type", "f32"], "");
    assert_eq!(embed(&merged), embed(&whole));
}

#[test]
fn parts_that_are_not_all_of_one_model_are_refused() {
    let tensors = i32::try_from(tiny_gguf::TENSORS).unwrap();
    let commands = |path: &str, status: i32, words: &str| {
        let out = format!("{path}.out.gguf");
        for arguments in [
            &["embed", "-m", path, "hello"][..],
            &["tokenize", "-m", path, "hello"],
            &["inspect", path],
            &["verify", path],
            &["migrate", path, &out],
            &["quantize", path, &out, "--type", "f16"],
            &["diff", path, path],
        ] {
            let output = nanoembed(arguments).assert().code(status).get_output().clone();
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            assert!(said.contains(words), "{arguments:?}: {said}");
        }
        assert!(!Path::new(&out).exists());
    };
    // One is missing.
    let folder = TempDir::new().unwrap();
    let parts = split(folder.path(), 2, 2, tensors);
    fs::remove_file(&parts[1]).unwrap();
    commands(&parts[0], 1, "m-00002-of-00002.gguf");
    let said = failure(&["generate", "-m", &parts[0], "hello", "--memory", "64M"], b"", 1);
    assert!(said.contains("llama-gguf-split"), "{said}");
    // A part has another name.
    let folder = TempDir::new().unwrap();
    let parts = split(folder.path(), 2, 2, tensors);
    let renamed = folder.path().join("model.gguf");
    fs::rename(&parts[0], &renamed).unwrap();
    commands(renamed.to_str().unwrap(), 1, "part 1 of 2");
    // The number of tensors is another, or that of parts.
    let folder = TempDir::new().unwrap();
    commands(&split(folder.path(), 2, 2, tensors + 1)[0], 1, "tensors together");
    let folder = TempDir::new().unwrap();
    commands(&split(folder.path(), 2, 3, tensors)[0], 1, "of 3");
    // A part is one of another model.
    let folder = TempDir::new().unwrap();
    let parts = split(folder.path(), 2, 2, tensors);
    fs::copy(&parts[0], &parts[1]).unwrap();
    commands(&parts[0], 1, "part 2 of 2");
}

#[test]
fn a_file_that_is_cut_short_is_called_so_by_every_command() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out").to_str().unwrap().to_owned();
    let whole = tiny_gguf::file();
    for length in [20, 100, whole.len() / 2, whole.len() - 40] {
        let path = written(&folder, "m.gguf", &whole[..length]);
        for arguments in [
            &["generate", "-m", &path, "hello"][..],
            &["embed", "-m", &path, "hello"],
            &["tokenize", "-m", &path, "hello"],
            &["search", "hello", &path, "-m", &path],
            &["inspect", &path],
            &["verify", &path],
            &["convert", &path, &format!("{out}.amb")],
            &["quantize", &path, &format!("{out}.gguf"), "--type", "f16"],
            &["migrate", &path, &format!("{out}.gguf")],
            &["dequantize", &path, "-o", &format!("{out}.safetensors")],
            &["diff", &path, &path],
        ] {
            let output = nanoembed(arguments).assert().code(1).get_output().clone();
            let said =
                String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(said.contains("cut short"), "{arguments:?} of {length}: {said}");
        }
    }
}

/// What a file says of itself is no setting, and unknown settings are refused.
#[test]
fn what_a_weights_file_says_of_itself_goes_along_and_changes_nothing() {
    let model = TinyModel::new();
    let file = model.converted("m.weights", &["--metadata", "source=a test"]);
    let migrated = format!("{file}.gguf");
    stdout(&["migrate", &file, &migrated, "-q"], "");
    let inspected = objects(&stdout(&["inspect", "--json", &migrated], "")).remove(0);
    assert_eq!(inspected["metadata"]["nanoembed.metadata.source"], "a test");
    let of = |model: &str| stdout(&["embed", "-m", model, "a b"], "");
    assert_eq!(of(&migrated), of(&file));
}
