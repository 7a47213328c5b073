//! Fingerprints of models: equal where vectors are, and different where something counts.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use nanoembed::inspect::inspect;
use nanoembed::{Encoder, EncoderOptions, Prefix};
use tempfile::TempDir;

const FILE: &str = "../ffi/tests/data/small_bert.weights";
const FOLDER: &str = "../tests/data/models/bert_cased_st6";

fn of(options: &EncoderOptions, path: impl AsRef<Path>) -> String {
    options.open(path).unwrap().fingerprint().unwrap().to_string()
}

/// Pinned, as stored indices and tables have it: no machine's kernels change it, only `VERSION` does.
#[test]
fn it_is_the_same_on_every_machine_and_in_every_release() {
    let usual = Encoder::options();
    assert_eq!(of(&usual, FILE), "1f6859dbe3c9ab37618cf25a74fddeab");
    let bytes = fs::read(FILE).unwrap();
    let in_memory = Encoder::from_bytes(bytes).unwrap().fingerprint().unwrap();
    assert_eq!(in_memory.to_string(), of(&usual, FILE));
    assert_eq!(of(&usual.threads(1), FILE), in_memory.to_string());
}

#[test]
fn options_that_change_vectors_count() {
    let usual = || Encoder::options();
    let mut seen = HashSet::from([of(&usual(), FILE)]);
    for options in [
        usual().max_tokens(16),
        usual().truncate_dim(8),
        usual().precise(true),
        usual().normalize(true),
        usual().prompt(Prefix::Text("query: ".into())),
    ] {
        assert!(seen.insert(of(&options, FILE)), "{options:?}");
    }
    let encoder = Encoder::open(FILE).unwrap();
    let prompted = encoder.with_prompt(Prefix::Text("query: ".into())).unwrap();
    assert!(seen.contains(&prompted.fingerprint().unwrap().to_string()));
}

fn copied(folder: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        match from.is_dir() {
            true => copied(&from, &to),
            false => drop(fs::copy(from, to).unwrap()),
        }
    }
}

#[test]
fn weights_settings_and_tokenizers_of_a_folder_count_and_its_name_and_readme_do_not() {
    let place = TempDir::new().unwrap();
    let folder = place.path().join("model");
    copied(Path::new(FOLDER), &folder);
    let own = || of(&Encoder::options(), &folder);
    let first = own();
    assert_eq!(first, of(&Encoder::options(), FOLDER));
    fs::write(folder.join("README.md"), "Other words").unwrap();
    assert_eq!(first, own());
    let mut seen = HashSet::from([first]);
    let pooling: Vec<PathBuf> =
        ["1_Pooling/config.json", "tokenizer.json", "config.json"].map(|it| folder.join(it)).into();
    for path in pooling.into_iter().filter(|path| path.exists()) {
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text + "\n").unwrap();
        assert!(seen.insert(own()), "{}", path.display());
    }
    let prompts = r#"{"prompts": {"query": "q: "}}"#;
    fs::write(folder.join("config_sentence_transformers.json"), prompts).unwrap();
    assert!(seen.insert(own()));
    let weights = folder.join("model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&weights, bytes).unwrap();
    assert!(seen.insert(own()));
    assert!(seen.len() > 4, "{seen:?}");
}

#[test]
fn files_say_what_encoders_say_and_others_have_none() {
    for path in [FILE, FOLDER] {
        let told = inspect(path).unwrap().fingerprint().unwrap().to_string();
        assert_eq!(told, of(&Encoder::options(), path));
        let json: serde_json::Value =
            serde_json::from_str(&inspect(path).unwrap().to_json()).unwrap();
        assert_eq!(json["fingerprint"], told);
    }
    for path in ["../ffi/tests/data/words.fifu", "../tests/data/llama/tiny.gguf"] {
        let inspection = inspect(path).unwrap();
        assert!(inspection.fingerprint().is_none(), "{path}");
        assert!(!inspection.to_json().contains("fingerprint"));
    }
}
