//! `--allow-unknown`: settings that nobody knows are passed over with a warning each time, by every
//! command that opens a folder, or a file that keeps the texts of one.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::families::models;
use crate::{byte_pairs, failure, nanoembed, stdout};

const NAME: &str = "is_matryoshka";

/// Adds the setting to the `config.json` of a folder.
fn add_unknown(folder: &Path) {
    let path = folder.join("config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config[NAME] = json!(true);
    fs::write(path, config.to_string()).unwrap();
}

/// Copies a folder with all that is in it.
pub(crate) fn copied(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// What the command says with [`NAME`] ignored; without, it refuses by its name.
fn passed_over(arguments: &[&str]) -> String {
    ignored(NAME, arguments)
}

/// What the command says with the setting `name` ignored; without, it refuses by its name.
fn ignored(name: &str, arguments: &[&str]) -> String {
    let said = failure(arguments, b"", 1);
    assert!(said.contains("[208]") && said.contains(name), "{arguments:?}: {said}");
    let mut allowing = arguments.to_vec();
    allowing.splice(1..1, ["--allow-unknown", name]);
    let assert = nanoembed(&allowing).assert().success();
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert_eq!(said.matches("is passed over").count(), 1, "{arguments:?}: {said}");
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

#[test]
fn encoders_are_run_and_converted_without_an_unknown_setting() {
    let work = TempDir::new().unwrap();
    for (name, targets) in [
        ("bert_cased", &["weights", "amb"][..]),
        ("bert_max_pool", &["weights", "amb"]),
        ("qwen3_embedding", &["weights", "amb", "gguf"]),
        ("model2vec_int8_mapped", &["weights", "amb"]),
    ] {
        let (whole, folder) = (models().join(name), work.path().join(name));
        copied(&whole, &folder);
        add_unknown(&folder);
        let (whole, folder) = (whole.to_str().unwrap(), folder.to_str().unwrap());
        for command in ["embed", "tokenize"] {
            let expected = stdout(&[command, "-m", whole, "--format", "jsonl", "hello"], "");
            let found = passed_over(&[command, "-m", folder, "--format", "jsonl", "hello"]);
            assert_eq!(found, expected, "{name}");
        }
        for target in targets {
            let out = format!("{folder}.{target}");
            passed_over(&["convert", folder, &out]);
            let embed = |model: &str| stdout(&["embed", "-m", model, "--format", "jsonl", "a"], "");
            // The file that was written opens without a word.
            let expected = work.path().join(format!("whole.{target}"));
            stdout(&["convert", whole, expected.to_str().unwrap()], "");
            assert_eq!(embed(&out), embed(expected.to_str().unwrap()), "{name} {target}");
        }
    }
}

#[test]
fn files_that_keep_the_texts_of_a_folder_are_run_without_an_unknown_setting() {
    const KNOWN: &[u8] = b"use_cache";
    let work = TempDir::new().unwrap();
    for (name, target) in [
        ("bert_max_pool", "weights"),
        ("bert_max_pool", "amb"),
        ("qwen3_embedding", "weights"),
        ("qwen3_embedding", "amb"),
    ] {
        let whole = work.path().join(format!("{name}.{target}"));
        stdout(&["convert", models().join(name).to_str().unwrap(), whole.to_str().unwrap()], "");
        // A name of the same length, so that the file keeps its layout.
        let mut bytes = fs::read(&whole).unwrap();
        let at = place(&bytes, KNOWN);
        bytes[at..at + KNOWN.len()].copy_from_slice(b"use_cachf");
        let changed = work.path().join(format!("changed.{target}"));
        fs::write(&changed, bytes).unwrap();
        let (whole, changed) = (whole.to_str().unwrap(), changed.to_str().unwrap());
        for command in ["embed", "tokenize"] {
            let expected = stdout(&[command, "-m", whole, "--format", "jsonl", "hello"], "");
            let arguments = [command, "-m", changed, "--format", "jsonl", "hello"];
            assert_eq!(ignored("use_cachf", &arguments), expected, "{name} {target}");
        }
    }
}

/// Where `part` begins in `whole`.
fn place(whole: &[u8], part: &[u8]) -> usize {
    whole.windows(part.len()).position(|window| window == part).expect("the part")
}

#[test]
fn cross_encoders_compare_without_an_unknown_setting() {
    let work = TempDir::new().unwrap();
    let folder = work.path().join("reranker");
    copied(&models().join("cross_encoder"), &folder);
    add_unknown(&folder);
    let whole = models().join("cross_encoder");
    let rerank = |model: &Path| {
        ["rerank", "-m", model.to_str().unwrap(), "question", "a", "b"].map(str::to_owned)
    };
    let (whole, folder) = (rerank(&whole), rerank(&folder));
    let expected = stdout(&whole.each_ref().map(String::as_str), "");
    assert_eq!(passed_over(&folder.each_ref().map(String::as_str)), expected);
}

#[test]
fn decoders_continue_and_are_converted_without_an_unknown_setting() {
    let (whole, _) = byte_pairs::folder("smollm", true, json!({}));
    let (folder, _) = byte_pairs::folder("smollm", true, json!({NAME: true}));
    let (whole, folder) = (whole.path(), folder.path());
    let unknown = json!({"eos_token_id": 0, "odd_setting": 1}).to_string();
    fs::write(folder.join("generation_config.json"), unknown).unwrap();
    fs::write(whole.join("generation_config.json"), r#"{"eos_token_id": 0}"#).unwrap();
    let generate = |model: &Path| {
        let model = model.to_str().unwrap().to_owned();
        ["generate", "-m", &model, "--max-tokens", "4", "--temperature", "0", "the"]
            .map(str::to_owned)
    };
    let (whole_arguments, arguments) = (generate(whole), generate(folder));
    let expected = stdout(&whole_arguments.each_ref().map(String::as_str), "");
    let mut arguments = arguments.each_ref().map(String::as_str).to_vec();
    // Both are needed, and each is told.
    arguments.splice(1..1, ["--allow-unknown", NAME]);
    let said = failure(&arguments, b"", 1);
    assert!(said.contains("odd_setting"), "{said}");
    arguments.splice(1..3, ["--allow-unknown", "is_matryoshka,odd_setting"]);
    let assert = nanoembed(&arguments).assert().success();
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert_eq!(said.matches("is passed over").count(), 2, "{said}");
    assert_eq!(String::from_utf8_lossy(&assert.get_output().stdout), expected);
    let out = folder.join("m.amb");
    let arguments = [
        "convert",
        "--allow-unknown",
        "is_matryoshka,odd_setting",
        folder.to_str().unwrap(),
        out.to_str().unwrap(),
    ];
    nanoembed(&arguments).assert().success();
    let from_file = generate(&out);
    assert_eq!(stdout(&from_file.each_ref().map(String::as_str), ""), expected);
}
