//! The front page of core and its README.md against the features of Cargo.toml and the families
//! that are read.

use std::collections::BTreeSet;
use std::fs;

use nanoembed_core::ErrorKind;
use nanoembed_core::model::{DecoderFamily, read_config};
use nanoembed_core::text::json::Value;
use nanoembed_tests::supply::root;

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The cells of the rows of the first table after a heading, without its head.
fn table<'t>(document: &'t str, heading: &str) -> Vec<Vec<&'t str>> {
    let (_, rest) = document.split_once(&format!("{heading}\n")).expect("the heading");
    let lines = rest.lines().map(|line| line.trim_start_matches("//!").trim());
    let rows = lines.skip_while(|line| !line.starts_with('|')).take_while(|it| it.starts_with('|'));
    rows.skip(2).map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// What is written as code in a cell.
fn codes(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The features of Cargo.toml in their order, and those that are on by default.
fn features() -> (Vec<String>, Vec<String>) {
    let manifest = text("core/Cargo.toml");
    let (_, rest) = manifest.split_once("[features]\n").unwrap();
    let lines = rest.lines().take_while(|line| !line.starts_with('['));
    let all =
        lines.filter_map(|line| line.split_once(" = ")).filter(|(name, _)| !name.starts_with('#'));
    let (mut names, mut defaults) = (Vec::new(), Vec::new());
    for (name, needs) in all {
        match name {
            "default" => {
                defaults = needs.split('"').skip(1).step_by(2).map(str::to_owned).collect();
            }
            _ => names.push(name.to_owned()),
        }
    }
    (names, defaults)
}

#[test]
fn both_documents_list_every_feature_and_say_which_are_on() {
    let (names, defaults) = features();
    assert!(names.len() > 10 && defaults.len() > 5);
    for (path, heading) in
        [("core/README.md", "## Features"), ("core/src/lib.rs", "//! # Features")]
    {
        let document = text(path);
        let rows = table(&document, heading);
        let listed: Vec<_> = rows.iter().flat_map(|row| codes(row[0])).collect();
        let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        assert_eq!(sorted(&listed), sorted(&names), "{path}");
        assert!(document.contains("all but the last four are on by default"), "{path}");
        assert_eq!(sorted(&listed[..listed.len() - 4]), sorted(&defaults), "{path}");
    }
}

/// The `model_type`s in a table of families.
fn families(path: &str, heading: &str, column: usize) -> BTreeSet<String> {
    let document = text(path);
    table(&document, heading).iter().flat_map(|row| codes(row[column])).collect()
}

#[test]
fn families_are_those_of_the_documentation_of_models_and_of_the_reader() {
    let encoders = families("docs/models.md", "## Families", 0);
    let named = families("core/README.md", "## What it runs", 1);
    assert!(encoders.len() > 20 && encoders.is_subset(&named), "{encoders:?} {named:?}");
    for name in &named {
        let is_decoder = DecoderFamily::from_model_type(name).is_some();
        assert!(is_decoder || encoders.contains(name), "{name}");
        if encoders.contains(name) && name != "model2vec" {
            let config = format!(r#"{{"model_type": "{name}"}}"#);
            let refused = read_config(Value::parse(&config, 0).unwrap()).unwrap_err();
            // What else such a file lacks is said then.
            assert_ne!(refused.error.kind(), ErrorKind::UnsupportedArchitecture, "{name}");
        }
    }
    for name in ["llama", "mistral", "phi3", "qwen2", "qwen3", "gemma3_text"] {
        assert!(DecoderFamily::from_model_type(name).is_some() && named.contains(name), "{name}");
    }
}

#[test]
fn families_are_those_of_the_models_that_tests_run() {
    let named = families("core/README.md", "## What it runs", 1);
    for entry in fs::read_dir(root().join("tests/data/models")).unwrap() {
        let Ok(config) = fs::read_to_string(entry.unwrap().path().join("config.json")) else {
            continue;
        };
        let config: serde_json::Value = serde_json::from_str(&config).unwrap();
        if let Some(name) = config["model_type"].as_str() {
            assert!(named.contains(name), "{name}");
        }
    }
}
