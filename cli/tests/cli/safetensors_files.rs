//! safetensors files that are unusual: types that are only known by name, parts, very many tensors.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tiny_model::TinyModel;
use crate::{failure, objects, stdout};

/// The types of crate `safetensors` 0.8 whose values are not read, and their bits.
const OPAQUE: [(&str, usize); 6] = [
    ("C64", 64),
    ("F8_E4M3FNUZ", 8),
    ("F8_E5M2FNUZ", 8),
    ("F6_E2M3", 6),
    ("F6_E3M2", 6),
    ("F4", 4),
];

/// A file with one tensor `w`.
fn file(dtype: &str, shape: &[usize], bytes: usize) -> Vec<u8> {
    with_header(&json!({"w": {"dtype": dtype, "shape": shape, "data_offsets": [0, bytes]}}), bytes)
}

fn with_header(header: &Value, bytes: usize) -> Vec<u8> {
    let header = header.to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.resize(file.len() + bytes, 0);
    file
}

fn written(folder: &TempDir, name: &str, bytes: &[u8]) -> String {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn every_type_of_safetensors_is_listed_and_refused_by_name_where_values_are_wanted() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.npy");
    for (dtype, bits) in OPAQUE {
        // Rows of three elements do not end with a byte.
        for shape in [vec![8, 3], vec![8], vec![2, 4], vec![0, 3]] {
            let bytes = shape.iter().product::<usize>() * bits / 8;
            let path = written(&folder, "m.safetensors", &file(dtype, &shape, bytes));
            assert!(stdout(&["verify", &path], "").contains("1 tensors"));
            stdout(&["verify", "--strict", &path], "");
            let inspected = objects(&stdout(&["inspect", "--json", &path], "")).remove(0);
            let tensor = &inspected["tensors"][0];
            assert_eq!(tensor["dtype"], json!(dtype.to_lowercase()));
            assert_eq!((&tensor["shape"], &tensor["bytes"]), (&json!(shape), &json!(bytes)));
        }
        let path = written(&folder, "m.safetensors", &file(dtype, &[8], bits));
        let said = failure(&["dequantize", &path, "w", "-o", out.to_str().unwrap()], b"", 1);
        assert!(said.contains(&format!("`w` is {}", dtype.to_lowercase())), "{said}");
    }
}

#[test]
fn tensors_that_end_inside_a_byte_are_refused() {
    let folder = TempDir::new().unwrap();
    for (dtype, elements, bytes) in [("F4", 3, 1), ("F4", 3, 2), ("F6_E2M3", 6, 4)] {
        let path = written(&folder, "m.safetensors", &file(dtype, &[elements], bytes));
        assert!(failure(&["inspect", &path], b"", 1).contains("[108]"));
    }
}

#[test]
fn weights_of_a_type_that_is_not_read_are_refused_by_name() {
    let model = TinyModel::new();
    let path = model.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap());
    let end = 8 + usize::try_from(length).unwrap();
    let mut header: Value = serde_json::from_slice(&bytes[8..end]).unwrap();
    let tensor = &mut header["embeddings.word_embeddings.weight"];
    // The bytes stay the same.
    tensor["dtype"] = json!("C64");
    tensor["shape"] = json!([14, 4]);
    let data = bytes.split_off(end);
    let header = header.to_string();
    let mut changed = (header.len() as u64).to_le_bytes().to_vec();
    changed.extend(header.as_bytes());
    changed.extend(data);
    fs::write(&path, changed).unwrap();
    let folder = model.path().to_str().unwrap();
    let said = failure(&["embed", "-m", folder, "hello"], b"", 1);
    assert!(said.contains("embeddings.word_embeddings.weight") && said.contains("c64"), "{said}");
}

/// A folder whose weights lie in two files of these names, as an index says.
fn in_parts(names: [&str; 2]) -> TinyModel {
    let model = TinyModel::new();
    let whole = model.path().join("model.safetensors");
    let bytes = fs::read(&whole).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut map = serde_json::Map::new();
    for (at, name) in names.iter().enumerate() {
        let half = file.iter().enumerate().filter(|(index, _)| index % 2 == at).map(|(_, it)| it);
        let half: Vec<_> = half.collect();
        map.extend(half.iter().map(|(tensor, _)| ((*tensor).to_owned(), json!(name))));
        safetensors::serialize_to_file(half, None, &model.path().join(name)).unwrap();
    }
    fs::remove_file(&whole).unwrap();
    let index = json!({"metadata": {}, "weight_map": map});
    fs::write(model.path().join("model.safetensors.index.json"), index.to_string()).unwrap();
    model
}

#[test]
fn parts_are_those_of_the_index_whatever_they_are_called() {
    let whole = TinyModel::new();
    let embed = |path: &Path| stdout(&["embed", "-m", path.to_str().unwrap(), "hello world"], "");
    for names in [
        ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"],
        ["weights.safetensors", "further"],
    ] {
        let model = in_parts(names);
        assert_eq!(embed(model.path()), embed(whole.path()));
        let out = model.join("out.safetensors");
        stdout(&["migrate", model.path().to_str().unwrap(), &out], "");
        let diff = ["diff", "--json", &out, &whole.join("model.safetensors")];
        let diff = objects(&stdout(&diff, "")).remove(0);
        assert_eq!((&diff["only_a"], &diff["only_b"]), (&json!([]), &json!([])));
    }
}

#[test]
fn one_file_with_all_weights_counts_before_an_index() {
    let whole = TinyModel::new();
    let embed = |path: &Path| stdout(&["embed", "-m", path.to_str().unwrap(), "hello world"], "");
    let model = in_parts(["a.safetensors", "b.safetensors"]);
    fs::write(model.join("a.safetensors"), b"nothing that is read").unwrap();
    fs::copy(whole.join("model.safetensors"), model.join("model.safetensors")).unwrap();
    assert_eq!(embed(model.path()), embed(whole.path()));
}

#[test]
fn an_adapter_beside_the_weights_is_merged_or_refused_by_name() {
    let model = TinyModel::new();
    let (folder, out) = (model.path().to_str().unwrap(), |name: &str| model.join(name));
    let adapter = json!({"peft_type": "LORA", "r": 8, "target_modules": ["query"]});
    fs::write(model.join("adapter_config.json"), adapter.to_string()).unwrap();
    for arguments in [
        &["quantize", folder, &out("o.gguf"), "--type", "q8_0"][..],
        &["migrate", folder, &out("o.safetensors")],
        &["migrate", folder, &out("o.gguf")],
    ] {
        let said = failure(arguments, b"", 1);
        assert!(said.contains("error[208]") && said.contains("adapter_config.json"), "{said}");
    }
    for arguments in
        [&["embed", "-m", folder, "hello"][..], &["convert", folder, &out("o.weights")]]
    {
        let said = failure(arguments, b"", 3);
        assert!(said.contains("adapter_model.safetensors: no such file"), "{said}");
    }
}

#[test]
fn an_index_that_leads_out_of_the_folder_or_nowhere_is_refused() {
    let commands = |model: &TinyModel, words: &str| {
        let (folder, out) = (model.path().to_str().unwrap(), model.join("o.weights"));
        for arguments in [
            &["embed", "-m", folder, "hello"][..],
            &["convert", folder, &out],
            &["quantize", folder, &model.join("o.gguf"), "--type", "q8_0"],
            &["migrate", folder, &model.join("o.safetensors")],
        ] {
            let said = failure(arguments, b"", 1);
            assert!(said.contains(words), "{arguments:?}: {said}");
        }
    };
    let index = "model.safetensors.index.json";
    for part in ["/dev/zero", "../secret.safetensors", "a/../../b", "..", "", "C:\\x"] {
        let model = in_parts(["a.safetensors", "b.safetensors"]);
        let text = fs::read_to_string(model.path().join(index)).unwrap();
        let text = text.replace("\"b.safetensors\"", &json!(part).to_string());
        fs::write(model.path().join(index), text).unwrap();
        commands(&model, "no name of a file in this folder");
    }
    let model = in_parts(["a.safetensors", "b.safetensors"]);
    fs::remove_file(model.path().join("b.safetensors")).unwrap();
    commands(&model, "`b.safetensors` is not in this folder");
    fs::create_dir(model.path().join("b.safetensors")).unwrap();
    commands(&model, "`b.safetensors` is no regular file");
    let model = in_parts(["a.safetensors", "b.safetensors"]);
    fs::write(model.path().join(index), "{\"weight_map\": {}}").unwrap();
    commands(&model, "`weight_map`");
}

#[cfg(unix)]
#[test]
fn weights_that_have_no_end_are_not_read() {
    for name in ["b.safetensors", "model.safetensors"] {
        let model = in_parts(["a.safetensors", "b.safetensors"]);
        let _ = fs::remove_file(model.path().join(name));
        std::os::unix::fs::symlink("/dev/zero", model.path().join(name)).unwrap();
        let said = failure(&["embed", "-m", model.path().to_str().unwrap(), "hello"], b"", 1);
        assert!(said.contains("no regular file"), "{said}");
    }
    // A link to a regular file is what caches of Hugging Face are made of.
    let (model, elsewhere) = (TinyModel::new(), TempDir::new().unwrap());
    let (path, blob) = (model.path().join("model.safetensors"), elsewhere.path().join("blob"));
    fs::rename(&path, &blob).unwrap();
    std::os::unix::fs::symlink(&blob, &path).unwrap();
    stdout(&["embed", "-m", model.path().to_str().unwrap(), "hello"], "");
}

/// So many one-byte tensors.
fn many(folder: &TempDir, count: usize) -> String {
    let tensor = |i: usize| {
        (format!("t{i}"), json!({"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]}))
    };
    let header = Value::Object((0..count).map(tensor).collect());
    written(folder, &format!("{count}.safetensors"), &with_header(&header, count))
}

#[test]
fn very_many_tensors_are_looked_up_by_their_names() {
    let folder = TempDir::new().unwrap();
    let path = many(&folder, 20_000);
    let out = folder.path().join("out.safetensors").to_str().unwrap().to_owned();
    assert!(stdout(&["diff", "-q", &path, &path], "").contains("20000 shared tensors"));
    stdout(&["dequantize", "-q", &path, "-o", &out], "");
    assert!(stdout(&["verify", &out], "").contains("20000 tensors"));
    stdout(&["quantize", "-q", &path, &out, "--type", "f16"], "");
    stdout(&["migrate", "-q", &path, &out], "");
}
