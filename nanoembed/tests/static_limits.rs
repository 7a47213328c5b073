//! How much of a text static models use: what Model2Vec's configuration says, and for
//! sentence-transformers' `StaticEmbedding` what the tokenizer's file says.

use std::path::{Path, PathBuf};

use nanoembed::convert::{Conversion, ModelTarget};
use nanoembed::{Encoder, Silent};
use nanoembed_core::owned::TableFile;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Models with WordPiece and with a Unigram.
const FOLDERS: [&str; 2] = ["model2vec_int8_mapped", "model2vec_unigram_f16"];

/// A copy of a model with other settings.
fn changed(folder: &str, name: &str, change: impl FnOnce(&mut Value)) -> TempDir {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/models");
    let copy = TempDir::new().unwrap();
    for entry in models.join(folder).read_dir().unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    edit(&copy, name, change);
    copy
}

/// Changes a file of settings.
fn edit(folder: &TempDir, name: &str, change: impl FnOnce(&mut Value)) {
    let file = folder.path().join(name);
    let mut settings = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    change(&mut settings);
    std::fs::write(&file, settings.to_string()).unwrap();
}

/// What `tokenizer.json` says if it cuts texts to three tokens.
fn three_tokens() -> Value {
    json!({"max_length": 3, "strategy": "LongestFirst", "stride": 0, "direction": "Right"})
}

/// The folder, and files made of it.
fn forms(folder: &TempDir) -> Vec<PathBuf> {
    let file = |name: &str, target| {
        let file = folder.path().join(name);
        Conversion::new(folder.path(), &file).to(target).run(&Silent).unwrap();
        file
    };
    let weights = file("model.weights", ModelTarget::Weights);
    vec![folder.path().to_owned(), weights, file("model.amb", ModelTarget::Amb)]
}

/// A text of more than 512 tokens, of which no two parts are alike.
fn long() -> String {
    (0..400).map(|number| format!("word {number} ")).collect()
}

/// Asserts that all forms of a model use so many tokens of a text unless they are told otherwise.
fn assert_limit(folder: &TempDir, limit: Option<usize>) {
    for file in forms(folder) {
        let with = |tokens: usize| Encoder::options().max_tokens(tokens).open(&file).unwrap();
        let encoder = Encoder::open(&file).unwrap();
        let found = encoder.embed(&long()).unwrap();
        let expected = with(limit.unwrap_or(1 << 20)).embed(&long()).unwrap();
        assert_eq!(found, expected, "{}", file.display());
        let other = with(limit.map_or(512, |limit| limit + 1)).embed(&long()).unwrap();
        assert_ne!(found, other, "{}", file.display());
        if file.extension().is_some_and(|it| it == "weights")
            && let Ok(table) = TableFile::open(&std::fs::read(&file).unwrap())
        {
            assert_eq!(table.usual_tokens(), limit.unwrap_or(table.positions()));
        }
    }
}

#[test]
fn a_static_embedding_uses_what_its_tokenizer_gives() {
    for name in FOLDERS {
        for (truncation, limit) in [(three_tokens(), Some(3)), (Value::Null, None)] {
            let folder = changed(name, "tokenizer.json", |it| it["truncation"] = truncation);
            std::fs::remove_file(folder.path().join("config.json")).unwrap();
            assert_limit(&folder, limit);
        }
    }
}

#[test]
fn model2vec_goes_by_its_own_configuration() {
    for name in FOLDERS {
        for (length, limit) in [(json!(7), Some(7)), (Value::Null, None)] {
            let folder = changed(name, "config.json", |config| config["max_length"] = length);
            assert_limit(&folder, limit);
        }
        let folder = changed(name, "config.json", |config| {
            config.as_object_mut().unwrap().remove("max_length");
        });
        edit(&folder, "tokenizer.json", |it| it["truncation"] = three_tokens());
        assert_limit(&folder, Some(512));
    }
}
