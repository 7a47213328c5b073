//! `prune-vocabulary`: what it writes, says and refuses. What it computes is the library's to test.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::families::models;
use crate::{failure, nanoembed, objects, stdout};

const TEXT: &str = "How do I reset my password?";

struct Files {
    folder: TempDir,
    model: String,
}

impl Files {
    fn new() -> Self {
        let model = models().join("roberta").to_str().unwrap().to_owned();
        Self { folder: TempDir::new().unwrap(), model }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn names(&self) -> usize {
        self.folder.path().read_dir().unwrap().count()
    }
}

#[test]
fn texts_of_arguments_stdin_and_files_give_the_same_folder() {
    let files = Files::new();
    let lines = files.path("texts.jsonl");
    std::fs::write(&lines, format!("{{\"body\": \"{TEXT}\"}}\n")).unwrap();
    let given = ["prune-vocabulary", "-m", &files.model, "--json", "-o"];
    let run = |name: &str, further: &[&str], stdin: &str| {
        let out = files.path(name);
        let said = stdout(&[&given[..], &[&out], further].concat(), stdin);
        (objects(&said).remove(0), std::fs::read(Path::new(&out).join("tokenizer.json")).unwrap())
    };
    let first = run("a", &[TEXT], "");
    assert_eq!(first, run("b", &[], &format!("{TEXT}\n")));
    assert_eq!(first, run("c", &["-f", &lines, "-i", "jsonl", "--field", "body"], ""));
    let members: Vec<&String> = first.0.as_object().unwrap().keys().collect();
    let named = ["texts", "pieces", "pieces_before", "rare", "weight_bytes"];
    assert_eq!(members, [&named[..], &["weight_bytes_before", "left_out"]].concat());
    let number = |name: &str| first.0[name].as_u64().unwrap();
    assert!(number("texts") == 1 && number("pieces") < number("pieces_before"));
    assert!(number("weight_bytes") < number("weight_bytes_before"));
    let embedded = |model: &str| stdout(&["embed", "-m", model, "--format", "jsonl", TEXT], "");
    assert_eq!(embedded(&files.path("a")), embedded(&files.model));
    let pieces = |model: &str| stdout(&["tokenize", "-m", model, "--pieces", TEXT], "");
    assert_eq!(pieces(&files.path("a")), pieces(&files.model));
    let said = nanoembed(&["prune-vocabulary", "-m", &files.model, "-o", &files.path("d"), TEXT]);
    let said = { said }.assert().success().get_output().clone();
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains(" pieces, weights of ") && said.contains("left out: expected"), "{said}");
}

#[test]
fn a_dry_run_says_the_same_and_writes_nothing() {
    let files = Files::new();
    let run = |further: &[&str]| -> Value {
        let given =
            [&["prune-vocabulary", "-m", &files.model, "--json", TEXT][..], further].concat();
        objects(&stdout(&given, "")).remove(0)
    };
    let said = run(&["--dry-run"]);
    assert_eq!(files.names(), 0);
    assert_eq!(said, run(&["-o", &files.path("a")]));
    let rarer = run(&["--dry-run", "--min-count", "2"]);
    assert!(rarer["rare"].as_u64() > Some(0) && rarer["pieces"].as_u64() < said["pieces"].as_u64());
    assert_eq!(files.names(), 1);
}

#[test]
fn what_cannot_be_done_is_refused_before_texts_are_read() {
    let files = Files::new();
    let out = files.path("a");
    std::fs::write(&out, "mine").unwrap();
    // Nothing is there to be read: stdin would be.
    let run = |model: &str, further: &[&str], status| {
        failure(&[&["prune-vocabulary", "-m", model][..], further].concat(), b"", status)
    };
    let said = run(&files.model, &["-o", &out], 3);
    assert!(said.contains("a folder is not replaced"), "{said}");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "mine");
    let weights = files.path("m.weights");
    stdout(&["convert", "-q", &files.model, &weights], "");
    let said = run(&weights, &["--dry-run", TEXT], 1);
    assert!(said.contains("a folder as on Hugging Face") && said.contains("convert"), "{said}");
    run(&files.path("none"), &["--dry-run", TEXT], 3);
    run(&files.model, &[TEXT], 2);
    run(&files.model, &["--dry-run", "-o", "x", TEXT], 2);
    run(&files.model, &["--dry-run", "--keep", "id", TEXT], 2);
    run(&files.model, &["--dry-run", "--on-error", "null", TEXT], 2);
    run(&files.model, &["--dry-run", "--min-count", "0", TEXT], 2);
    let said = run(&files.model, &["--dry-run"], 2);
    assert!(said.contains("there are no texts"), "{said}");
    assert_eq!(files.names(), 2);
}
