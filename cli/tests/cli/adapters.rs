//! LoRA adapters of peft: vectors are those of the merged model by transformers and peft, from the
//! adapter's folder and from files that are made of it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::families::{Expected, TOLERANCE, each_embedding, farthest, models, number_of};
use crate::unknown_settings::copied;
use crate::{failure, stdout};

const CONFIG: &str = "adapter_config.json";
const WEIGHTS: &str = "adapter_model.safetensors";

/// The adapters, the models that they are for, and the names that they give to these.
const ADAPTERS: [[&str; 3]; 2] =
    [["bert", "bert_cased", "lora_bert"], ["qwen3", "qwen3_embedding", "lora_qwen3"]];

fn adapters() -> PathBuf {
    models().join("../adapters")
}

/// Puts the adapter alone into `folder`.
fn put(adapter: &str, folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for name in [CONFIG, WEIGHTS] {
        fs::copy(adapters().join(adapter).join(name), folder.join(name)).unwrap();
    }
}

/// A folder with the base, and the adapter beside it.
fn beside([adapter, base, name]: [&str; 3]) -> (TempDir, PathBuf) {
    let work = TempDir::new().unwrap();
    copied(&models().join(base), &work.path().join(name));
    let folder = work.path().join("adapter");
    put(adapter, &folder);
    (work, folder)
}

fn is_near(adapter: &str, model: &Path) {
    let Expected { rows, numbers, .. } = Expected::read(&adapters().join(adapter));
    each_embedding(model, &["embed", "--precise"], &rows, &mut |row, found| {
        let apart = farthest(found, &numbers[number_of(row)]);
        assert!(apart <= TOLERANCE, "{} {}: {apart:e}", model.display(), row["text"]);
    });
}

fn embedded(model: &Path) -> String {
    stdout(&["embed", "-m", model.to_str().unwrap(), "Bread and butter", "--format", "jsonl"], "")
}

#[test]
fn an_adapter_is_merged_into_a_model_near_it() {
    for all in ADAPTERS {
        let [adapter, base, name] = all;
        let (work, alone) = beside(all);
        is_near(adapter, &alone);
        // Within the model's folder.
        let within = work.path().join(name).join("adapter");
        put(adapter, &within);
        is_near(adapter, &within);
        // Saved with its modules, its tokenizer and no `config.json`.
        let whole = work.path().join("whole");
        copied(&models().join(base), &whole);
        fs::remove_file(whole.join("config.json")).unwrap();
        fs::remove_file(whole.join("model.safetensors")).unwrap();
        put(adapter, &whole);
        is_near(adapter, &whole);
        assert_eq!(embedded(&whole), embedded(&alone));
        // In the folder of a model that is called otherwise.
        let work = TempDir::new().unwrap();
        let both = work.path().join("both");
        copied(&models().join(base), &both);
        put(adapter, &both);
        is_near(adapter, &both);
    }
}

#[test]
fn files_that_are_made_of_an_adapter_have_the_vectors_of_the_merged_model() {
    for all in ADAPTERS {
        let (work, alone) = beside(all);
        for ending in ["weights", "amb"] {
            let file = work.path().join(format!("o.{ending}"));
            let paths = [alone.to_str().unwrap(), file.to_str().unwrap()];
            stdout(&["convert", paths[0], paths[1], "--type", "f32"], "");
            assert_eq!(embedded(&file), embedded(&alone), "{ending}");
        }
        let out = work.path().join("o.gguf");
        let [folder, out] = [&alone, &out].map(|path| path.to_str().unwrap());
        for arguments in
            [&["convert", folder, out][..], &["migrate", folder, out], &["verify", folder]]
        {
            let said = failure(arguments, b"", 1);
            assert!(said.contains("error[208]") && said.contains(CONFIG), "{said}");
        }
        assert!(!Path::new(out).exists());
    }
}

#[test]
fn an_adapter_is_merged_into_the_model_that_is_named_with_it() {
    for all in ADAPTERS {
        let [adapter, base, _] = all;
        let (work, near) = beside(all);
        let far = work.path().join("elsewhere");
        put(adapter, &far);
        let base = models().join(base);
        let file = work.path().join("o.weights");
        let [base, far, file] = [&base, &far, &file].map(|path| path.to_str().unwrap());
        let both = ["-m", base, "--adapter", far];
        let named =
            stdout(&[&["embed", "Bread and butter", "--format", "jsonl"], &both[..]].concat(), "");
        assert_eq!(named, embedded(&near));
        assert_ne!(named, embedded(Path::new(base)));
        stdout(&[&["tokenize", "Bread and butter"], &both[..]].concat(), "");
        stdout(&["convert", base, file, "--adapter", far], "");
        assert_eq!(embedded(Path::new(file)), named);
        let out = &format!("{file}.amb");
        for (arguments, status, named) in [
            (&["embed", "a", "--adapter", far][..], 2, "--model"),
            (&["embed", "a", "-m", file, "--adapter", far], 2, "models in folders"),
            (&["convert", file, out, "--adapter", far], 2, "models in folders"),
            (&["convert", base, "o.gguf", "--adapter", far], 2, "GGUF"),
            (&["embed", "a", "-m", base, "--adapter", base], 3, CONFIG),
        ] {
            let said = failure(arguments, b"", status);
            assert!(said.contains(named), "{arguments:?}: {said}");
        }
    }
}

/// The names of tensors and their shapes are changed without a change of the header's length.
fn with_weights(folder: &Path, from: &str, to: &str) {
    let path = folder.join(WEIGHTS);
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.windows(from.len()).position(|it| it == from.as_bytes()).unwrap();
    bytes[place..place + from.len()].copy_from_slice(to.as_bytes());
    fs::write(path, bytes).unwrap();
}

#[test]
fn other_adapters_are_refused_by_name() {
    let refused = |change: &dyn Fn(&Path), code: u32, named: &[&str]| {
        let (_work, folder) = beside(ADAPTERS[1]);
        change(&folder);
        let said = failure(&["embed", "-m", folder.to_str().unwrap(), "a"], b"", 1);
        assert!(said.contains(&format!("error[{code}]")), "{said}");
        assert!(named.iter().all(|it| said.contains(it)), "{named:?}: {said}");
    };
    let set = |name: &'static str, value: Value| {
        move |folder: &Path| {
            let path = folder.join(CONFIG);
            let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            config[name] = value.clone();
            fs::write(path, config.to_string()).unwrap();
        }
    };
    for (name, value) in [
        ("peft_type", json!("IA3")),
        ("use_dora", json!(true)),
        ("lora_bias", json!(true)),
        ("bias", json!("all")),
        ("fan_in_fan_out", json!(true)),
        ("modules_to_save", json!(["score"])),
        ("layer_replication", json!([[0, 2]])),
        ("init_lora_weights", json!("pissa")),
        ("loftq_config", json!({"loftq_bits": 4})),
        ("of_next_year", json!(1)),
    ] {
        refused(&set(name, value), 208, &[CONFIG, name]);
    }
    for (name, value) in [
        ("r", json!(0)),
        ("lora_alpha", json!("8")),
        ("rank_pattern", json!({"down_proj": "3"})),
        ("alpha_pattern", json!([])),
    ] {
        refused(&set(name, value), 302, &[CONFIG, name]);
    }
    refused(&set("rank_pattern", json!({"(": 3})), 208, &[CONFIG, "`(`"]);
    // The product of this rank has another.
    refused(&set("rank_pattern", json!({})), 304, &["down_proj", "rank 3", "6"]);
    refused(&set("base_model_name_or_path", json!("org/elsewhere")), 208, &["elsewhere"]);
    refused(&set("base_model_name_or_path", json!("/etc/..")), 208, &["/etc/.."]);
    refused(&set("base_model_name_or_path", Value::Null), 208, &["base_model_name_or_path"]);
    let renamed =
        |from: &'static str, to: &'static str| move |folder: &Path| with_weights(folder, from, to);
    refused(&renamed("lora_A.weight", "lora_C.weight"), 208, &["lora_C"]);
    refused(&renamed("layers.0.mlp.down", "layers.7.mlp.down"), 303, &["layers.", "down"]);
    let pickled = |folder: &Path| {
        fs::rename(folder.join(WEIGHTS), folder.join("adapter_model.bin")).unwrap();
    };
    refused(&pickled, 206, &["adapter_model.bin", "pickle"]);
    let adapted = |folder: &Path| put("qwen3", &folder.with_file_name("lora_qwen3"));
    refused(&adapted, 208, &[CONFIG, "has an adapter itself"]);
}
