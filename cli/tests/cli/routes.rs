//! Models with a Router: each text takes the route of its role.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::unknown_settings::copied;
use crate::{failure, objects, stdout};

const SETTINGS: &str = "router_config.json";

fn model() -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/cases/router-module/model");
    path.to_str().unwrap().to_owned()
}

/// A copy of the model with changed settings.
fn changed(work: &TempDir, changes: &[(&str, &str)]) -> String {
    let folder = work.path().join("model");
    copied(Path::new(&model()), &folder);
    let path = folder.join(SETTINGS);
    let settings = changes.iter().fold(fs::read_to_string(&path).unwrap(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    fs::write(path, settings).unwrap();
    folder.to_str().unwrap().to_owned()
}

#[test]
fn a_query_is_searched_for_among_documents() {
    let (model, texts) = (model(), "hello password\nworld\n");
    let embed = |role: &str, text: &str| -> Vec<f64> {
        let line = stdout(&["embed", "-m", &model, "--json", "--as", role], text);
        let numbers = objects(&line)[0]["embedding"].as_array().unwrap().clone();
        numbers.iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let (query, document) = (embed("query", "world"), embed("document", "hello password"));
    let expected: f64 = query.iter().zip(&document).map(|(a, b)| a * b).sum();
    let found = stdout(&["search", "-m", &model, "--json", "world", "-"], texts);
    let found = objects(&found);
    let line = found.iter().find(|line| line["text"] == "hello password").unwrap();
    // Vectors of passages are compared in bytes.
    assert!((line["similarity"].as_f64().unwrap() - expected).abs() < 5e-3, "{line} {expected}");
}

#[test]
fn a_route_with_unknown_modules_is_refused_when_it_is_taken() {
    let work = TempDir::new().unwrap();
    let folder = changed(&work, &[("modules.static_embedding.StaticEmbedding", "modules.cnn.CNN")]);
    let class = "sentence_transformers.sentence_transformer.modules.cnn.CNN";
    stdout(&["embed", "-m", &folder], "hello");
    for command in [
        &["embed", "-m", &folder, "--as", "query"][..],
        &["convert", &folder, "x.weights", "--as", "query"],
        &["search", "-m", &folder, "hello", "-"],
    ] {
        let said = failure(command, b"hello\n", 1);
        assert!(said.contains("[208]") && said.contains(class), "{command:?}: {said}");
    }
    let said = crate::nanoembed(&["verify", &folder]).assert().code(1);
    let said = String::from_utf8_lossy(&said.get_output().stdout).into_owned();
    assert!(said.contains(class), "{said}");
}

#[test]
fn a_model_without_a_default_route_says_which_there_are() {
    let work = TempDir::new().unwrap();
    let default = r#""default_route": "document""#;
    let changes = [(default, r#""default_route": null"#), ("_key\": true", "_key\": false")];
    let folder = changed(&work, &changes);
    for command in ["embed", "tokenize"] {
        let said = failure(&[command, "-m", &folder], b"hello", 1);
        let routes = "its routes are query, document; `--as query` and `--as document` choose one";
        assert!(said.contains("[208]") && said.contains(routes), "{said}");
        stdout(&[command, "-m", &folder, "--as", "query"], "hello");
    }
}

#[test]
fn prompts_are_not_needed_where_there_are_routes() {
    let work = TempDir::new().unwrap();
    let folder = changed(&work, &[]);
    let prompts = Path::new(&folder).join("config_sentence_transformers.json");
    fs::remove_file(prompts).unwrap();
    let plain = stdout(&["embed", "-m", &model(), "--as", "query"], "hello");
    assert_eq!(stdout(&["embed", "-m", &folder, "--as", "query"], "hello"), plain);
    let tokens = stdout(&["tokenize", "-m", &folder, "--as", "query"], "hello");
    assert_eq!(tokens.trim(), "28");
}
